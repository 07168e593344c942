import type { MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import type { MoreRecord, ObjectRecord, RecordSchema, ScopeRecord } from '../../../generated/relay_pb.ts';
import type { LiveObject } from '../../model/agent/agent.ts';
import { DRIFT_MODES } from '../../model/fleet/drift.ts';
import { type ClusterName, type Digest, quote } from '../../model/fleet/ids.ts';
import type { ObjectMeta, Origin } from '../../model/fleet/output.ts';
import { displayKey, type ObjectKey } from '../../model/objects/object-key.ts';
import { SCOPE_CLUSTERS } from '../../model/objects/object-size.ts';
import { canonicalJson } from '../../model/text/json.ts';
import { OBJECT_ORIGINS } from '../limits.ts';
import { type Content, createContentReader } from './content.ts';
import {
  digestBytes,
  ProtocolError,
  readClusters,
  readCount,
  readDigest,
  readKey,
  readOrigins,
  readWord,
} from './scalars.ts';

/** A record as it is read. */
export type WireRecord = Exclude<MessageShape<typeof RecordSchema>['record'], { case: undefined }>;
/** A record as it is written. */
export type RecordInit = Exclude<NonNullable<MessageInitShape<typeof RecordSchema>['record']>, { case?: undefined }>;

/** Content bytes in one record: two such records fit in one chunk. */
const PIECE_BYTES = 120 * 1024;
/** Bytes of the origins or cluster names in one record. */
const BATCH_BYTES = 24 * 1024;

/** The peer does not accept an object. The sender finds out while it sends, so the stream has to end. */
export class ObjectTooLargeError extends Error {
  override readonly name = 'ObjectTooLargeError';
  readonly key: ObjectKey;

  constructor(key: ObjectKey, message: string) {
    super(message);
    this.key = key;
  }
}

/**
 * The records of one object: the first with its metadata and the first piece of its content, further ones with the rest.
 * The caller has left out what readers refuse. Throws an {@link ObjectTooLargeError} above `limit` bytes of content.
 *
 * @param meta for objects of outputs
 */
export function* objectRecords(
  object: Pick<LiveObject, 'key' | 'digest' | 'value' | 'content'>,
  limit: number,
  meta: Pick<ObjectMeta, 'origins' | Mark> & { readonly scope: number } = {
    origins: [],
    scope: 0,
  },
): Generator<RecordInit, void, void> {
  const { key, digest } = object;
  // Reading the value may parse the content.
  const bytes = object.content ?? new TextEncoder().encode(canonicalJson(object.value));
  if (bytes.length > limit) {
    const message = `${displayKey(key)} has ${bytes.length} bytes; the other end takes ${limit}`;
    throw new ObjectTooLargeError(key, message);
  }
  const content = bytes.subarray(0, PIECE_BYTES);
  const head = {
    key,
    digest: digestBytes(digest),
    size: BigInt(bytes.length),
    scope: meta.scope,
    content,
    ...marksInit(meta),
  };
  yield* withOrigins(meta.origins, (origins) => ({ case: 'object', value: { ...head, origins } }));
  for (let start = PIECE_BYTES; start < bytes.length; start += PIECE_BYTES) {
    yield { case: 'more', value: { content: bytes.subarray(start, start + PIECE_BYTES) } };
  }
}

/** What the metadata says besides where the object comes from. */
type Mark = 'stopped' | 'attempt' | 'driftMode';

/** The marks of an object on the wire. */
export function marksInit({ stopped, attempt = 0, driftMode }: Pick<ObjectMeta, Mark>) {
  return { stopped: stopped === true, attempt: BigInt(attempt), driftMode: driftMode ?? '' };
}

/** Reads the marks of an object. */
export function readMarks({ stopped, attempt, driftMode }: Pick<ObjectRecord, Mark>): Pick<ObjectMeta, Mark> {
  const asked = readCount(attempt, 'an attempt');
  return {
    ...(stopped ? { stopped } : {}),
    ...(asked === 0 ? {} : { attempt: asked }),
    ...(driftMode === '' ? {} : { driftMode: readWord(driftMode, DRIFT_MODES) }),
  };
}

/** A record with its origins, and further records for the origins that do not fit in it. */
export function* withOrigins(
  origins: readonly Origin[],
  record: (origins: Origin[]) => RecordInit,
): Generator<RecordInit, void, void> {
  const [first = [], ...rest] = batches(origins, ({ source, path }) => source.length + 3 * path.length);
  yield record(first);
  for (const more of rest) yield { case: 'more', value: { origins: more } };
}

/**
 * Numbers the sets of clusters of one transfer. The returned generator yields the records that define a set when the set is
 * new, and returns its number.
 */
export function createScopeNumbers(): (scope: readonly ClusterName[]) => Generator<RecordInit, number, void> {
  const byText = new Map<string, number>();
  // Scopes are interned, so the same list is seldom joined twice.
  const byIdentity = new WeakMap<readonly ClusterName[], number>();
  return function* numberOf(scope) {
    if (scope.length === 0) return 0;
    const seen = byIdentity.get(scope);
    if (seen !== undefined) return seen;
    const text = scope.join(',');
    const number = byText.get(text) ?? byText.size + 1;
    byIdentity.set(scope, number);
    if (byText.has(text)) return number;
    byText.set(text, number);
    for (const clusters of batches(scope, (name) => name.length)) yield { case: 'scope', value: { number, clusters } };
    return number;
  };
}

/** Divides items into lists that each fit in one record; `sizeOf` in bytes. */
export function* batches<Item>(items: readonly Item[], sizeOf: (item: Item) => number): Generator<Item[], void, void> {
  let batch: Item[] = [];
  let size = 0;
  for (const item of items) {
    if (size > BATCH_BYTES) {
      yield batch;
      batch = [];
      size = 0;
    }
    batch.push(item);
    size += sizeOf(item) + 8;
  }
  if (batch.length > 0) yield batch;
}

/** Takes the records of one transfer in order. Both methods throw a {@link ProtocolError}. */
export interface Assembler {
  take(record: WireRecord): void;
  /** True: what has arrived was dropped, because the transfer will be refused. Absent: never. */
  isDropped?(): boolean;
  /** Checks the complete transfer and delivers it. */
  finish(): void;
}

/** One function per kind of record that a transfer may contain. */
type Readers = {
  readonly [Case in WireRecord['case']]?: (record: Extract<WireRecord, { case: Case }>['value']) => void;
};

/** An object whose content matches its digest. */
export interface ReadObject extends Content {
  readonly key: ObjectKey;
  readonly digest: Digest;
  readonly origins: Origin[];
}

/** The object, touch or entry that further records may continue. */
interface Draft {
  readonly origins: Origin[];
  /** Bytes of content that have not arrived. */
  missing: number;
  readonly pieces: Uint8Array[];
  readonly done: () => void;
}

/** Readers of records that several kinds of transfers contain, with the state of one transfer. */
function commonReaders() {
  const scopes: ClusterName[][] = [[]];
  const lastKeys = new Map<string, string>();
  const readContent = createContentReader();
  let draft: Draft | undefined;
  return {
    scope: (record: ScopeRecord): void => defineScope(scopes, record),
    more(record: MoreRecord): void {
      if (draft === undefined) throw new ProtocolError('OutOfTurn', 'a continuation of nothing');
      addOrigins(draft, readOrigins(record.origins));
      if (record.content.length > 0) addContent(draft, record.content);
    },
    /** The clusters of a scope that the transfer has defined. */
    scopeOf(number: number): readonly ClusterName[] {
      const scope = scopes[number];
      if (scope === undefined) throw new ProtocolError('UnknownScope', `scope ${number} was not defined`);
      return scope;
    },
    /** Reads a key, which must come after the last one of this kind of record. */
    nextKey(kind: string, text: string, parse = readKey): ObjectKey {
      const last = lastKeys.get(kind);
      if (last !== undefined && text <= last) {
        throw new ProtocolError('OutOfTurn', `${kind} ${quote(text)} does not come after ${quote(last)}`);
      }
      lastKeys.set(kind, text);
      return parse(text);
    },
    /** Begins a touch or an entry; `done` receives its origins, also from later records. */
    origins(records: ObjectRecord['origins'], done: (origins: Origin[]) => void): void {
      const origins = readOrigins(records);
      draft = { origins, missing: 0, pieces: [], done: () => done(origins) };
    },
    /** Begins an object of at most `limit` bytes; `done` receives it after all its content. */
    object(key: ObjectKey, record: ObjectRecord, limit: number, done: (object: ReadObject) => void): void {
      draft = beginObject(key, record, limit, (digest, pieces, origins) =>
        done({ key, digest, ...readContent(key, digest, pieces), origins }),
      );
    },
    /** Ends the draft, if there is one. */
    close(): void {
      const closed = draft;
      draft = undefined;
      if (closed === undefined) return;
      const { missing } = closed;
      if (missing > 0) throw new ProtocolError('OutOfTurn', `an object lacks ${missing} bytes of its content`);
      closed.done();
    },
  };
}

/** An assembler. `subject` names the transfer in errors; `finish` runs after the last record. */
export function createAssembler(
  subject: string,
  readersOf: (common: ReturnType<typeof commonReaders>) => Readers,
  finish: () => void,
): Assembler {
  const common = commonReaders();
  const readers = readersOf(common);
  return {
    take(record) {
      if (record.case !== 'more') common.close();
      const read = readers[record.case] as ((value: WireRecord['value']) => void) | undefined;
      if (read === undefined) {
        throw new ProtocolError('OutOfTurn', `a record "${record.case}" in a transfer of ${subject}`);
      }
      read(record.value);
    },
    finish() {
      common.close();
      finish();
    },
  };
}

function defineScope(scopes: ClusterName[][], { number, clusters }: ScopeRecord): void {
  if (number === scopes.length) scopes.push([]);
  const scope = number > 0 && number === scopes.length - 1 ? scopes[number] : undefined;
  if (scope === undefined) throw new ProtocolError('OutOfTurn', `scope ${number} after ${scopes.length - 1}`);
  if (scope.length + clusters.length > SCOPE_CLUSTERS) {
    throw new ProtocolError('TransferTooLarge', `a scope of more than ${SCOPE_CLUSTERS} clusters`, 'exhausted');
  }
  for (const cluster of readClusters(clusters)) scope.push(cluster);
}

function beginObject(
  key: ObjectKey,
  record: ObjectRecord,
  limit: number,
  done: (digest: Digest, pieces: readonly Uint8Array[], origins: Origin[]) => void,
): Draft {
  const digest = readDigest(record.digest);
  const origins = readOrigins(record.origins);
  const missing = readCount(record.size, 'the size of an object');
  if (missing > limit) {
    const message = `${quote(key)} has ${missing} bytes, at most ${limit} are allowed`;
    throw new ProtocolError('ObjectTooLarge', message, 'exhausted');
  }
  const pieces: Uint8Array[] = [];
  const draft: Draft = { origins, missing, pieces, done: () => done(digest, pieces, origins) };
  addContent(draft, record.content);
  return draft;
}

function addOrigins({ origins }: Draft, more: readonly Origin[]): void {
  if (origins.length + more.length > OBJECT_ORIGINS) {
    throw new ProtocolError('TransferTooLarge', `an object of more than ${OBJECT_ORIGINS} origins`, 'exhausted');
  }
  for (const origin of more) origins.push(origin);
}

function addContent(draft: Draft, content: Uint8Array): void {
  if (content.length > draft.missing) throw new ProtocolError('OutOfTurn', 'more content than was announced');
  draft.missing -= content.length;
  draft.pieces.push(content);
}
