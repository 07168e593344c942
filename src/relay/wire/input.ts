import type { InputHead, KindRecord } from '../../../generated/relay_pb.ts';
import type { InputDelta, KindState, LiveObject, ObjectResult } from '../../model/agent.ts';
import { type Digest, quote } from '../../model/ids.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { RelayLimits } from '../limits.ts';
import { type Assembler, createAssembler, objectRecords, type RecordInit } from './records.ts';
import {
  clipText,
  digestBytes,
  ProtocolError,
  readDigest,
  readKey,
  readReason,
  readText,
  readWord,
  sendableReason,
} from './scalars.ts';

const KIND = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?\/[A-Za-z][A-Za-z0-9]{0,62}$/;

const KIND_STATES = ['complete', 'unknown', 'offered'] as const;
const KIND_SCOPES = ['Namespaced', 'Cluster'] as const;
const RESULT_STATES = ['applied', 'failed', 'conflict', 'paused', 'removing', 'removed'] as const;
const HEALTH_STATES = ['current', 'inProgress', 'failed', 'terminating', 'unknown'] as const;

/** The head of an input delta. */
export function inputHead({ from, to, kinds }: InputDelta) {
  const value = { from: digestBytes(from), to: digestBytes(to), kindsKept: kinds === undefined };
  return { case: 'input' as const, value };
}

/** The records of an input delta, generated on demand; an object above `objectBytes` throws an `ObjectTooLargeError`. */
export function* inputRecords(delta: InputDelta, objectBytes: number): Generator<RecordInit, void, void> {
  for (const object of delta.upserts) yield* objectRecords(object, objectBytes);
  for (const key of delta.removals) yield { case: 'removal', value: { key } };
  for (const { kind, state, message, scope = '' } of delta.kinds ?? []) {
    yield { case: 'kind', value: { kind, state, message: clipText(message), scope } };
  }
}

/** Reads an input delta. Its lists must be in key order, and a key in at most one of them. */
export function createInputAssembler(
  head: InputHead,
  { objectBytes }: Pick<RelayLimits, 'objectBytes'>,
  done: (delta: InputDelta) => void,
): Assembler {
  const { kindsKept } = head;
  const digests = { from: readDigest(head.from), to: readDigest(head.to) };
  const upserts = new Map<ObjectKey, LiveObject>();
  const removals: ObjectKey[] = [];
  const kinds = new Map<string, KindState>();
  return createAssembler(
    'an input',
    ({ more, nextKey, object }) => ({
      more,
      object(record) {
        const key = nextKey('object', record.key);
        object(key, record, objectBytes, ({ value, digest }) => upserts.set(key, { key, value, digest }));
      },
      removal: ({ key }) => void removals.push(nextKey('removal', key)),
      ...(kindsKept ? {} : { kind: (record: KindRecord) => readKind(record, kinds) }),
    }),
    () => {
      if (removals.some((key) => upserts.has(key))) {
        throw new ProtocolError('OutOfTurn', 'a key is in both upserts and removals');
      }
      const step = { ...digests, upserts: [...upserts.values()], removals };
      done(kindsKept ? step : { ...step, kinds: [...kinds.values()] });
    },
  );
}

function readKind(record: KindRecord, into: Map<string, KindState>): void {
  const { kind } = record;
  if (!KIND.test(kind)) throw new ProtocolError('BadKind', `${quote(kind)} is not group/Kind`);
  if (into.has(kind)) throw new ProtocolError('OutOfTurn', `kind ${quote(kind)} is in an input twice`);
  into.set(kind, {
    kind,
    state: readWord(record.state, KIND_STATES),
    message: readText(record.message),
    ...(record.scope === '' ? {} : { scope: readWord(record.scope, KIND_SCOPES) }),
  });
}

/** The records of keys and digests of an input snapshot. */
export function* digestRecords(digests: Iterable<readonly [string, Digest]>): Generator<RecordInit, void, void> {
  for (const [key, digest] of digests) yield { case: 'digest', value: { key, digest: digestBytes(digest) } };
}

/** Reads keys and digests of an input snapshot. */
export function createDigestsAssembler(done: (digests: Map<string, Digest>) => void): Assembler {
  const digests = new Map<string, Digest>();
  return createAssembler(
    'input digests',
    () => ({
      digest(record) {
        const key = readKey(record.key);
        if (digests.has(key)) throw new ProtocolError('OutOfTurn', `${quote(key)} is in the input digests twice`);
        digests.set(key, readDigest(record.digest));
      },
    }),
    () => done(digests),
  );
}

/** The records of a batch of results. */
export function* resultRecords(results: readonly ObjectResult[]): Generator<RecordInit, void, void> {
  for (const { key, digest, state, reason, message, health } of results) {
    const texts = { reason: sendableReason(reason), message: clipText(message) };
    const healthTexts = health === undefined ? {} : { health: health.state, healthMessage: clipText(health.message) };
    yield { case: 'result', value: { key, digest: digestBytes(digest), state, ...texts, ...healthTexts } };
  }
}

/** Reads a batch of results. */
export function createResultsAssembler(done: (results: ObjectResult[]) => void): Assembler {
  const results: ObjectResult[] = [];
  return createAssembler(
    'results',
    () => ({
      result({ key, digest, state, reason, message, health, healthMessage }) {
        results.push({
          key: readKey(key),
          digest: readDigest(digest),
          state: readWord(state, RESULT_STATES),
          reason: readReason(reason),
          message: readText(message),
          ...(health === ''
            ? {}
            : { health: { state: readWord(health, HEALTH_STATES), message: readText(healthMessage) } }),
        });
      },
    }),
    () => done(results),
  );
}
