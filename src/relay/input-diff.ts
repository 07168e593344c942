import type { InputDelta, KindState, LiveObject } from '../model/agent.ts';
import type { Digest } from '../model/ids.ts';
import { canonicalJson, compareText } from '../model/json.ts';
import { type ObjectKey, objectRefOf } from '../model/object-key.ts';
import { createHeldInput, type HeldInput } from './held-input.ts';
import type { InputSnapshot } from './session.ts';

/** What the server is known to hold of the input. Changes step by step. */
export interface AcknowledgedInput {
  readonly held: HeldInput;
  /** Canonical text of the kinds; undefined when the server's are not known. */
  kinds: string | undefined;
}

/** An input at the server of which these are known. */
export function acknowledgedInput(objects: Iterable<readonly [string, Digest]>): AcknowledgedInput {
  return { held: createHeldInput(objects), kinds: undefined };
}

/** A step from what the server holds; `kinds` is their canonical text after it. */
export interface InputStep {
  readonly delta: InputDelta;
  readonly kinds: string;
}

/**
 * The step from what the server holds to the snapshot, where only these keys may differ (`all`: any); undefined if
 * nothing does. `tooLarge` maps keys to the digests of contents that the server does not take: they are left out, and
 * their kinds become unknown, so that nobody takes their absence for a removal.
 */
export function diffInput(
  { held, kinds: before }: AcknowledgedInput,
  snapshot: InputSnapshot,
  keys: Iterable<string> | 'all',
  tooLarge: ReadonlyMap<string, Digest>,
): InputStep | undefined {
  const upserts: LiveObject[] = [];
  const removals: ObjectKey[] = [];
  for (const key of keys === 'all' ? new Set([...snapshot.objects.keys(), ...held.keys()]) : keys) {
    const object = snapshot.objects.get(key);
    const now = object === undefined || tooLarge.get(key) === object.digest ? undefined : object;
    const known = held.get(key);
    if (now !== undefined && now.digest !== known) upserts.push(now);
    else if (now === undefined && known !== undefined) removals.push(key as ObjectKey);
  }
  const kinds = withoutTooLarge(snapshot, tooLarge);
  const text = canonicalJson(kinds.map(({ kind, state, message, scope }) => ({ kind, state, message, scope })));
  if (upserts.length === 0 && removals.length === 0 && text === before) return undefined;
  upserts.sort((a, b) => compareText(a.key, b.key));
  removals.sort(compareText);
  const from = held.digest();
  return { delta: { from, to: held.digestAfter({ upserts, removals }), upserts, removals, kinds }, kinds: text };
}

function withoutTooLarge(
  { objects, kinds }: InputSnapshot,
  tooLarge: ReadonlyMap<string, Digest>,
): readonly KindState[] {
  const unknown = new Map<string, string>();
  for (const [key, digest] of tooLarge) {
    const object = objects.get(key);
    if (object === undefined || object.digest !== digest) continue;
    const { group, kind, namespace, name } = objectRefOf(object.key);
    unknown.set(
      `${group}/${kind}`,
      `${namespace === '' ? name : `${namespace}/${name}`} is larger or deeper than the server takes`,
    );
  }
  if (unknown.size === 0) return kinds;
  return kinds.map((kind): KindState => {
    const message = unknown.get(kind.kind);
    return message === undefined ? kind : { ...kind, state: 'unknown', message };
  });
}
