import type { InputHead, KindRecord } from '../../../generated/relay_pb.ts';
import {
  type InputDelta,
  type KindState,
  type LiveObject,
  MOST_UNLISTED,
  type ObjectResult,
  TAKES_SUSPENDED,
} from '../../model/agent/agent.ts';
import { short } from '../../model/fleet/drift.ts';
import { type Digest, quote } from '../../model/fleet/ids.ts';
import { type Excess, excessOf } from '../../model/limits/quotas.ts';
import { liveObjectOf, packedObjectOf } from '../../model/objects/live-object.ts';
import { healthStates } from '../../model/objects/object-health/health.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import { bucketOf } from '../../model/text/digest.ts';
import { compareText } from '../../model/text/json.ts';
import { createTextPacker } from '../../model/values/packed-texts.ts';
import type { RelayLimits } from '../limits.ts';
import {
  type Assembler,
  batches,
  createAssembler,
  objectRecords,
  type ReadObject,
  type RecordInit,
} from './records.ts';
import {
  clipText,
  digestBytes,
  ProtocolError,
  readDigest,
  readKey,
  readOutputKey,
  readReason,
  readText,
  readWord,
  sendableReason,
} from './scalars.ts';

const KIND = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?\/[A-Za-z][A-Za-z0-9]{0,62}$/;

/**
 * In bytes. From this size of a step on, the texts that arrive are packed. The server commits a large step in parts, one bucket after
 * the other, so each part reads a few blocks. The open blocks of all buckets take as much memory as this.
 */
const PACKED_FROM = 8 * 1024 * 1024;

const NAMESPACE = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

const KIND_STATES = ['complete', 'unknown', 'offered'] as const;
const KIND_SCOPES = ['Namespaced', 'Cluster'] as const;
const RESULT_STATES = ['applied', 'failed', 'conflict', 'paused', 'removing', 'removed'] as const;

/** The head of an input delta. */
export function inputHead({ from, to, kinds }: InputDelta) {
  const value = { from: digestBytes(from), to: digestBytes(to), kindsKept: kinds === undefined };
  return { case: 'input' as const, value };
}

/** The records of an input delta, generated on demand; an object above `objectBytes` throws an `ObjectTooLargeError`. */
export function* inputRecords(delta: InputDelta, objectBytes: number): Generator<RecordInit, void, void> {
  for (const object of delta.upserts) yield* objectRecords(object, objectBytes);
  for (const key of delta.removals) yield { case: 'removal', value: { key } };
  for (const kind of delta.kinds ?? []) yield* kindRecords(kind);
}

/** The record of a kind, and further ones for the Namespaces that do not fit in it. */
function* kindRecords({ kind, state, message, scope, unlisted = {} }: KindState): Generator<RecordInit, void, void> {
  const named = Object.entries(unlisted)
    .sort(([a], [b]) => compareText(a, b))
    .map(([namespace, why]) => ({ namespace, message: clipText(why) }));
  const [first = [], ...rest] = batches(named, (one) => one.namespace.length + 3 * one.message.length);
  yield { case: 'kind', value: { kind, state, message: clipText(message), scope: scope ?? '', unlisted: first } };
  for (const more of rest) yield { case: 'kind', value: { kind, unlisted: more } };
}

/**
 * Reads an input delta. Its lists must be in key order, and a key in at most one of them. `above` is called instead of `done`
 * for a delta that is larger than the largest snapshot: its content is dropped as it arrives.
 */
export function createInputAssembler(
  head: InputHead,
  { objectBytes, quotas }: Pick<RelayLimits, 'objectBytes' | 'quotas'>,
  done: (delta: InputDelta) => void,
  above: (excess: Excess) => void,
): Assembler {
  const { kindsKept } = head;
  const digests = { from: readDigest(head.from), to: readDigest(head.to) };
  const upserts = new Map<ObjectKey, LiveObject>();
  const removals: ObjectKey[] = [];
  const kinds = createKindReader();
  const packer = createTextPacker();
  let size = { objects: 0, bytes: 0, kinds: 0 };
  const liveObject = ({ key, digest, text, value, bytes }: ReadObject): LiveObject =>
    size.bytes <= PACKED_FROM
      ? liveObjectOf(key, digest, text, value)
      : packedObjectOf(key, digest, packer.place(bytes, bucketOf(key)));
  const grow = (more: Partial<typeof size>): boolean => {
    const { objects = 0, bytes = 0, kinds: listed = 0 } = more;
    size = { objects: size.objects + objects, bytes: size.bytes + bytes, kinds: size.kinds + listed };
    if (excessOf(size, quotas) === undefined) return true;
    upserts.clear();
    kinds.clear();
    packer.drop();
    return false;
  };
  const assembler = createAssembler(
    'an input',
    ({ more, nextKey, object }) => ({
      more,
      object(record) {
        const key = nextKey('object', record.key);
        const bytes = key.length + Number(record.size);
        object(key, record, objectBytes, (read) => {
          if (grow({ objects: 1, bytes })) upserts.set(key, liveObject(read));
        });
      },
      removal: ({ key }) => void removals.push(nextKey('removal', key)),
      ...(kindsKept
        ? {}
        : {
            kind(record) {
              const text =
                record.message.length + record.unlisted.reduce((sum, { message }) => sum + message.length, 0);
              if (grow({ kinds: record.state === '' ? 0 : 1, bytes: record.kind.length + text })) kinds.take(record);
            },
          }),
    }),
    () => {
      const excess = excessOf(size, quotas);
      if (excess !== undefined) return above(excess);
      packer.finish();
      if (removals.some((key) => upserts.has(key))) {
        throw new ProtocolError('OutOfTurn', 'a key is in both upserts and removals');
      }
      const step = { ...digests, upserts: [...upserts.values()], removals };
      done(kindsKept ? step : { ...step, kinds: kinds.all() });
    },
  );
  return { ...assembler, isDropped: () => excessOf(size, quotas) !== undefined };
}

/** Reads the kinds of a transfer in order. */
function createKindReader() {
  const kinds = new Map<string, KindState>();
  /** The last kind and its Namespaces. The next record may add Namespaces. */
  let last: { readonly kind: string; readonly unlisted: Map<string, string> } | undefined;
  const unlisted = new Map<string, ReadonlyMap<string, string>>();
  return {
    all: (): KindState[] =>
      [...kinds.values()].map((state) => {
        const refused = unlisted.get(state.kind);
        return refused === undefined ? state : { ...state, unlisted: Object.fromEntries(refused) };
      }),
    clear: (): void => {
      kinds.clear();
      unlisted.clear();
      last = undefined;
    },
    take(record: KindRecord): void {
      const { kind } = record;
      if (last?.kind !== kind) {
        if (kinds.has(kind)) throw new ProtocolError('OutOfTurn', `kind ${quote(kind)} is in an input twice`);
        last = { kind, unlisted: new Map() };
        kinds.set(kind, readKind(record));
      } else if (record.state !== '' || record.unlisted.length === 0) {
        throw new ProtocolError('OutOfTurn', `kind ${quote(kind)} is in an input twice`);
      }
      const before = kinds.get(kind);
      if (before === undefined || record.unlisted.length === 0) return;
      readUnlisted(record, before.state, last.unlisted);
      unlisted.set(kind, last.unlisted);
    },
  };
}

function readKind({ kind, state, message, scope }: KindRecord): KindState {
  if (!KIND.test(kind)) throw new ProtocolError('BadKind', `${quote(kind)} is not group/Kind`);
  return {
    kind,
    state: readWord(state, KIND_STATES),
    message: readText(message),
    ...(scope === '' ? {} : { scope: readWord(scope, KIND_SCOPES) }),
  };
}

function readUnlisted({ kind, unlisted }: KindRecord, state: KindState['state'], into: Map<string, string>): void {
  if (state !== 'complete') throw new ProtocolError('BadKind', `kind ${quote(kind)} is ${state} in every Namespace`);
  for (const { namespace, message } of unlisted) {
    if (!NAMESPACE.test(namespace)) throw new ProtocolError('BadKind', `${quote(namespace)} is no Namespace`);
    if (into.has(namespace)) throw new ProtocolError('OutOfTurn', `Namespace ${quote(namespace)} is unlisted twice`);
    into.set(namespace, readText(message));
  }
  if (into.size > MOST_UNLISTED) {
    throw new ProtocolError('BadKind', `kind ${quote(kind)} is unlisted in more than ${MOST_UNLISTED} Namespaces`);
  }
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

/** The records of a batch of results for a server with these capabilities. */
export function* resultRecords(
  results: readonly ObjectResult[],
  capabilities: readonly string[],
): Generator<RecordInit, void, void> {
  const takesSuspended = capabilities.includes(TAKES_SUSPENDED);

  for (const { key, digest, state, reason, message, health, drift } of results) {
    const texts = { reason: sendableReason(reason), message: clipText(message) };
    yield {
      case: 'result',
      value: {
        key,
        digest: digestBytes(digest),
        state,
        ...texts,
        ...healthTexts(health, takesSuspended),
        ...driftTexts(drift),
      },
    };
  }
}

/** A server that does not know `suspended` would end the stream: it gets the other state that is well, with the message. */
function healthTexts(health: ObjectResult['health'], takesSuspended: boolean) {
  if (health === undefined) return {};
  const state = health.state === 'suspended' && !takesSuspended ? 'current' : health.state;
  return { health: state, healthMessage: clipText(health.message) };
}

function driftTexts(found: ObjectResult['drift']) {
  if (found === undefined) return {};
  const { drift, fields, managers } = found;
  return { drift, driftFields: [...short(fields)], driftManagers: [...short(managers)] };
}

function readDrift(drift: string, fields: readonly string[], managers: readonly string[]): Pick<ObjectResult, 'drift'> {
  if (drift === '') return {};
  return {
    drift: { drift: readWord(drift, ['changed', 'removed']), fields: short(fields), managers: short(managers) },
  };
}

/** Reads a batch of results. */
export function createResultsAssembler(done: (results: ObjectResult[]) => void): Assembler {
  const results: ObjectResult[] = [];
  return createAssembler(
    'results',
    () => ({
      result({ key, digest, state, reason, message, health, healthMessage, drift, driftFields, driftManagers }) {
        results.push({
          key: readOutputKey(key),
          digest: readDigest(digest),
          state: readWord(state, RESULT_STATES),
          reason: readReason(reason),
          message: readText(message),
          ...(health === ''
            ? {}
            : { health: { state: readWord(health, healthStates), message: readText(healthMessage) } }),
          ...readDrift(drift, driftFields, driftManagers),
        });
      },
    }),
    () => done(results),
  );
}
