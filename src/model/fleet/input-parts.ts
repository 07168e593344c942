import type { InputDelta } from '../agent/agent.ts';
import { contentLength } from '../objects/live-object.ts';
import { BUCKETS, bucketOf } from '../text/digest.ts';

/** Most records of a part, and the length of contents after which it ends. */
export const PART_RECORDS = 500;
const PART_LENGTH = 1024 * 1024;
/** Keys that are sorted at once. Hashing them takes about five milliseconds. */
const SORTED_AT_ONCE = 5_000;

type InputPart = Pick<InputDelta, 'upserts' | 'removals'>;

/** Whether a step is one part. */
export function isOnePart({ upserts, removals }: InputPart, most = PART_RECORDS): boolean {
  if (upserts.length + removals.length > most) return false;
  return upserts.reduce((length, object) => length + contentLength(object), 0) <= PART_LENGTH;
}

/** Divides a step into parts, so that work on it can stop between them: first all upserts, then all removals. */
export function* inputParts(step: InputPart, most = PART_RECORDS): Generator<InputPart, void> {
  if (isOnePart(step, most)) {
    yield step;
    return;
  }
  for (const upserts of bucketParts(step.upserts, ({ key }) => key, { most, lengthOf: contentLength }))
    yield { upserts, removals: [] };
  for (const removals of bucketParts(step.removals, (key) => key, { most })) yield { upserts: [], removals };
}

/**
 * Divides keyed items into parts, bucket by bucket: a structure in buckets has few of them changed by one part. The first parts of
 * many items are empty: sorting them into buckets yields too.
 */
export function* bucketParts<Item>(
  items: Iterable<Item>,
  keyOf: (item: Item) => string,
  { most = PART_RECORDS, lengthOf }: { readonly most?: number; readonly lengthOf?: (item: Item) => number } = {},
): Generator<readonly Item[], void> {
  const buckets: Item[][] = Array.from({ length: BUCKETS }, () => []);
  let sorted = 0;
  for (const item of items) {
    buckets[bucketOf(keyOf(item))]?.push(item);
    sorted += 1;
    if (sorted % SORTED_AT_ONCE === 0) yield [];
  }
  let part: Item[] = [];
  let length = 0;
  for (const bucket of buckets) {
    for (const item of bucket) {
      part.push(item);
      length += lengthOf?.(item) ?? 0;
      if (part.length < most && length < PART_LENGTH) continue;
      yield part;
      [part, length] = [[], 0];
    }
  }
  if (part.length > 0) yield part;
}
