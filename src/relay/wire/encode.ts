import type { LiveObject } from '../../model/agent.ts';
import type { ClusterName } from '../../model/ids.ts';
import { displayKey, type ObjectKey } from '../../model/object-key.ts';
import type { ObjectMeta, Origin, RevisionRef } from '../../model/output.ts';
import type { RecordInit } from './chunks.ts';
import { contentPieces, unfitShape } from './content.ts';
import { digestBytes } from './scalars.ts';

/** Text bytes of origins or cluster names in one record. */
const BATCH_BYTES = 24 * 1024;

/** Gives each set of clusters a number, and its records before the number is first used. One per transfer. */
export interface ScopeNumbers {
  /** The number of a set, after the records (if any) that define it. */
  number(scope: readonly ClusterName[]): Generator<RecordInit, number, void>;
}

/** Starts with no sets. */
export function createScopeNumbers(): ScopeNumbers {
  const byText = new Map<string, number>();
  // Scopes are interned by those who make them: the same list is seldom joined twice.
  const byIdentity = new WeakMap<readonly ClusterName[], number>();
  return {
    *number(scope) {
      if (scope.length === 0) return 0;
      const text = byIdentity.has(scope) ? undefined : scope.join(',');
      const known = byIdentity.get(scope) ?? byText.get(text ?? '');
      if (known !== undefined) return known;
      const number = byText.size + 1;
      byText.set(text ?? '', number);
      byIdentity.set(scope, number);
      for (const clusters of batches(scope, (name) => name.length)) {
        yield { case: 'scope', value: { number, clusters } };
      }
      return number;
    },
  };
}

/** An object that the peer does not take, found while it was being sent: what has begun cannot go on. */
export class ObjectTooLargeError extends Error {
  override readonly name = 'ObjectTooLargeError';
  readonly key: ObjectKey;

  constructor(key: ObjectKey, message: string) {
    super(message);
    this.key = key;
  }
}

/** The records of one object; `meta` for outputs. Throws an {@link ObjectTooLargeError} above `limit` bytes or depth. */
export function* objectRecords(
  object: Pick<LiveObject, 'key' | 'digest' | 'value' | 'content'>,
  limit: number,
  meta?: { readonly origins: readonly Origin[]; readonly scope: number },
): Generator<RecordInit, void, void> {
  // It may be worked out at each reading.
  const { value } = object;
  const { size, pieces } = contentPieces(value, object.content);
  if (size > limit) {
    throw new ObjectTooLargeError(
      object.key,
      `${displayKey(object.key)} has ${size} bytes; the other end takes ${limit}`,
    );
  }
  const unfit = unfitShape(object.key, value);
  if (unfit !== undefined) throw new ObjectTooLargeError(object.key, unfit);
  const [content = new Uint8Array(0), ...rest] = pieces;
  const [origins = [], ...moreOrigins] = originBatches(meta?.origins ?? []);
  const scope = meta?.scope ?? 0;
  const head = { key: object.key, digest: digestBytes(object.digest), size: BigInt(size), origins, scope, content };
  yield { case: 'object', value: head };
  yield* moreOriginRecords(moreOrigins);
  for (const piece of rest) yield { case: 'more', value: { content: piece } };
}

/** The records of an object's meta alone. */
export function* touchRecords(
  touch: ObjectMeta & { readonly key: ObjectKey },
  scope: number,
): Generator<RecordInit, void, void> {
  const [origins = [], ...more] = originBatches(touch.origins);
  yield { case: 'touch', value: { key: touch.key, origins, scope } };
  yield* moreOriginRecords(more);
}

/** The records that go on with an object's origins. */
export function* moreOriginRecords(batchesOfOrigins: readonly Origin[][]): Generator<RecordInit, void, void> {
  for (const origins of batchesOfOrigins) yield { case: 'more', value: { origins } };
}

/** Origins in lists that fit in one record each; none for no origins. */
export function originBatches(origins: readonly Origin[]): Origin[][] {
  return [...batches(origins, ({ source, path }) => source.length + 3 * path.length)];
}

/** One record per revision. */
export function* revisionRecords(revisions: readonly RevisionRef[]): Generator<RecordInit, void, void> {
  for (const { source, revision } of revisions) yield { case: 'revision', value: { source, revision } };
}

function* batches<Item>(items: readonly Item[], sizeOf: (item: Item) => number): Generator<Item[], void, void> {
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
