import type { InputDelta, KindState, LiveObject } from '../../model/agent.ts';
import { type Digest, quote } from '../../model/ids.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { RelayLimits } from '../limits.ts';
import { type Assembler, createDrafts, createOrderCheck, misplaced } from './assembly.ts';
import type { RecordInit } from './chunks.ts';
import { objectRecords } from './encode.ts';
import { ProtocolError } from './protocol-error.ts';
import { clipText, digestBytes, readDigest, readKey, readText, readWord } from './scalars.ts';

const KIND = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?\/[A-Za-z][A-Za-z0-9]{0,62}$/;

const KIND_STATES = ['complete', 'unknown', 'offered'] as const;
const KIND_SCOPES = ['Namespaced', 'Cluster'] as const;

/** The head of an input delta. */
export function inputHead(delta: InputDelta) {
  const { from, to, kinds } = delta;
  const value = { from: digestBytes(from), to: digestBytes(to), kindsKept: kinds === undefined };
  return { case: 'input' as const, value };
}

/** The records of an input delta, made as they are asked for; throws when an object is larger than `objectBytes`. */
export function* inputRecords(delta: InputDelta, objectBytes: number): Generator<RecordInit, void, void> {
  for (const object of delta.upserts) yield* objectRecords(object, objectBytes);
  for (const key of delta.removals) yield { case: 'removal', value: { key } };
  for (const { kind, state, message, scope = '' } of delta.kinds ?? []) {
    yield { case: 'kind', value: { kind, state, message: clipText(message), scope } };
  }
}

/** Reads an input delta; lists must be in key order, and a key in at most one of them. */
export function createInputAssembler(
  head: { readonly from: Uint8Array; readonly to: Uint8Array; readonly kindsKept: boolean },
  limits: RelayLimits,
  done: (delta: InputDelta) => void,
): Assembler {
  const from = readDigest(head.from);
  const to = readDigest(head.to);
  const upserts = new Map<ObjectKey, LiveObject>();
  const removals: ObjectKey[] = [];
  const kinds = new Map<string, KindState>();
  const drafts = createDrafts(limits);
  const orders = { object: createOrderCheck('object'), removal: createOrderCheck('removal') };
  return {
    take(record) {
      if (record.case !== 'more') drafts.close();
      if (record.case === 'more') drafts.more(record.value);
      else if (record.case === 'object') {
        orders.object(record.value.key);
        drafts.object(record.value, ({ key, value, digest }) => upserts.set(key, { key, value, digest }));
      } else if (record.case === 'removal') {
        orders.removal(record.value.key);
        removals.push(readKey(record.value.key));
      } else if (record.case === 'kind' && !head.kindsKept) readKind(record.value, kinds);
      else misplaced(record, 'an input');
    },
    finish() {
      drafts.close();
      if (removals.some((key) => upserts.has(key)))
        throw new ProtocolError('OutOfTurn', 'a key comes and goes at once');
      const step = { from, to, upserts: [...upserts.values()], removals };
      done(head.kindsKept ? step : { ...step, kinds: [...kinds.values()] });
    },
  };
}

function readKind(
  record: { kind: string; state: string; message: string; scope: string },
  into: Map<string, KindState>,
): void {
  const { kind } = record;
  if (!KIND.test(kind)) throw new ProtocolError('BadKind', `${quote(kind)} is not group/Kind`);
  if (into.has(kind)) throw new ProtocolError('OutOfTurn', `kind ${quote(kind)} comes twice`);
  into.set(kind, {
    kind,
    state: readWord(record.state, KIND_STATES),
    message: readText(record.message),
    ...(record.scope === '' ? {} : { scope: readWord(record.scope, KIND_SCOPES) }),
  });
}

/** The records of what is held of an input snapshot. */
export function* heldInputRecords(held: Iterable<readonly [string, Digest]>): Generator<RecordInit, void, void> {
  for (const [key, digest] of held) yield { case: 'held', value: { key, digest: digestBytes(digest) } };
}

/** Reads what is held of an input snapshot. */
export function createHeldInputAssembler(done: (held: Map<string, Digest>) => void): Assembler {
  const held = new Map<string, Digest>();
  return {
    take(record) {
      if (record.case !== 'held') misplaced(record, 'held input');
      const key = readKey(record.value.key);
      if (held.has(key)) throw new ProtocolError('OutOfTurn', `${quote(key)} comes twice`);
      held.set(key, readDigest(record.value.digest));
    },
    finish() {
      done(held);
    },
  };
}
