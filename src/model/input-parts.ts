import type { InputDelta } from './agent.ts';
import { BUCKETS, bucketOf } from './digest.ts';

/** A part of a step has at most so many records, and only its last one goes beyond this length of contents. */
const PART_RECORDS = 500;
const PART_LENGTH = 1024 * 1024;

type InputPart = Pick<InputDelta, 'upserts' | 'removals'>;

/** Whether a step is one part. */
export function isOnePart({ upserts, removals }: InputPart): boolean {
  if (upserts.length + removals.length > PART_RECORDS) return false;
  return upserts.reduce((length, { text }) => length + (text?.length ?? 0), 0) <= PART_LENGTH;
}

/**
 * Divides a step into parts, so that work on it can stop between them. First all upserts, then all removals, each bucket by
 * bucket: a structure in buckets has few of them changed by one part.
 */
export function* inputParts({ upserts, removals }: InputPart): Generator<InputPart, void> {
  for (const part of parts(
    upserts,
    ({ key }) => key,
    ({ text }) => text?.length ?? 0,
  )) {
    yield { upserts: part, removals: [] };
  }
  for (const part of parts(
    removals,
    (key) => key,
    () => 0,
  ))
    yield { upserts: [], removals: part };
}

function* parts<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  lengthOf: (item: Item) => number,
): Generator<readonly Item[], void> {
  const buckets: Item[][] = Array.from({ length: BUCKETS }, () => []);
  for (const item of items) buckets[bucketOf(keyOf(item))]?.push(item);
  let part: Item[] = [];
  let length = 0;
  for (const item of buckets.values().flatMap((bucket) => bucket.values())) {
    part.push(item);
    length += lengthOf(item);
    if (part.length < PART_RECORDS && length < PART_LENGTH) continue;
    yield part;
    [part, length] = [[], 0];
  }
  if (part.length > 0) yield part;
}
