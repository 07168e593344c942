import type { InputDelta, KindState, LiveObject } from '../model/agent.ts';
import { snapshotDigest } from '../model/digest.ts';
import type { Digest } from '../model/ids.ts';
import { canonicalJson, compareText } from '../model/json.ts';
import { type ObjectKey, objectRefOf } from '../model/object-key.ts';
import type { InputSnapshot } from './session.ts';

/** What the server is known to hold of the input. */
export interface AcknowledgedInput {
  readonly digest: Digest;
  readonly objects: ReadonlyMap<string, Digest>;
  /** Canonical text of the kinds; undefined when the server's are not known. */
  readonly kinds: string | undefined;
}

/** The step from what the server holds to the snapshot, and what it will hold then; `delta` undefined if nothing differs. */
export function diffInput(
  acknowledged: AcknowledgedInput,
  snapshot: InputSnapshot,
): { readonly delta: InputDelta | undefined; readonly after: AcknowledgedInput } {
  const objects = new Map<string, Digest>();
  const upserts: LiveObject[] = [];
  for (const [key, object] of snapshot.objects) {
    objects.set(key, object.digest);
    if (acknowledged.objects.get(key) !== object.digest) upserts.push(object);
  }
  const removals: ObjectKey[] = [];
  for (const key of acknowledged.objects.keys()) if (!objects.has(key)) removals.push(key as ObjectKey);
  const kinds = kindsText(snapshot.kinds);
  if (upserts.length === 0 && removals.length === 0 && kinds === acknowledged.kinds) {
    return { delta: undefined, after: acknowledged };
  }
  upserts.sort((a, b) => compareText(a.key, b.key));
  removals.sort(compareText);
  const digest = snapshotDigest(objects);
  const delta = { from: acknowledged.digest, to: digest, upserts, removals, kinds: snapshot.kinds };
  return { delta, after: { digest, objects, kinds } };
}

function kindsText(kinds: readonly KindState[]): string {
  return canonicalJson(kinds.map(({ kind, state, message, scope }) => ({ kind, state, message, scope })));
}

/**
 * The snapshot without the objects that the server does not take. Their kinds become unknown, so that nobody takes
 * their absence for a removal. `tooLarge` maps keys to the digest of the content that was too large.
 */
export function withoutTooLarge(snapshot: InputSnapshot, tooLarge: ReadonlyMap<string, Digest>): InputSnapshot {
  const left = new Map(snapshot.objects);
  const unknown = new Map<string, string>();
  for (const [key, digest] of tooLarge) {
    const object = snapshot.objects.get(key);
    if (object === undefined || object.digest !== digest) continue;
    left.delete(key);
    const { group, kind, namespace, name } = objectRefOf(object.key);
    unknown.set(
      `${group}/${kind}`,
      `${namespace === '' ? name : `${namespace}/${name}`} is larger than the server takes`,
    );
  }
  if (unknown.size === 0) return snapshot;
  const kinds = snapshot.kinds.map((kind): KindState => {
    const message = unknown.get(kind.kind);
    return message === undefined ? kind : { ...kind, state: 'unknown', message };
  });
  return { objects: left, kinds };
}
