import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bucketOf, snapshotDigest } from '../../../../src/model/text/digest.ts';
import { type BucketedMap, createBucketedMap } from '../../../../src/model/values/bucketed-map.ts';

const keys = fc.array(fc.nat(600), { maxLength: 40 });
const steps = fc.array(fc.record({ put: keys, drop: keys, text: fc.constantFrom('', 'a', 'b', 'c') }), {
  maxLength: 8,
});

interface Value {
  readonly text: string;
}

/** Values with an empty text are no part of the digest. */
function textOf({ text }: Value): string | undefined {
  return text === '' ? undefined : text;
}

function createMap(entries: Iterable<readonly [string, Value]> = []): BucketedMap<string, Value> {
  return createBucketedMap(entries, textOf);
}

test('after any steps the map and its digest are equal to a new map of its entries, and earlier maps stay', () => {
  fc.assert(
    fc.property(steps, (history) => {
      let map = createMap();
      const complete = new Map<string, Value>();
      const earlier: { map: typeof map; entries: Map<string, Value>; digest: string }[] = [];
      for (const { put, drop, text } of history) {
        earlier.push({ map, entries: new Map(complete), digest: map.digest() });
        const entries = put.map((number) => [`k${number}`, { text }] as const);
        const dropped = drop.map((number) => `k${number}`);
        map = map.with(entries, dropped);
        for (const key of dropped) complete.delete(key);
        for (const [key, value] of entries) complete.set(key, value);
        expect(new Map(map)).toEqual(complete);
        expect(map.size).toBe(complete.size);
        const covered = [...complete].filter(([, value]) => value.text !== '');
        expect(map.digest()).toBe(snapshotDigest(covered.map(([key, value]) => [key, value.text])));
        expect(map.digest()).toBe(createMap(complete).digest());
      }
      for (const before of earlier) {
        expect(new Map(before.map)).toEqual(before.entries);
        expect(before.map.digest()).toBe(before.digest);
        const differs = [...new Set([...complete.keys(), ...before.entries.keys()])].filter(
          (key) => complete.get(key) !== before.entries.get(key),
        );
        expect(new Set(map.changedSince(before.map))).toEqual(new Set(differs));
      }
    }),
  );
});

test('a change of one value reads the values of one bucket for the digest, however large the map is', () => {
  const read: string[] = [];
  const entries = Array.from({ length: 50_000 }, (_, number) => [`k${number}`, { text: `k${number}` }] as const);
  const map = createBucketedMap(entries, (value) => {
    read.push(value.text);
    return value.text;
  });
  map.digest();
  expect(read).toHaveLength(50_000);
  read.length = 0;
  const next = map.with([['k7', { text: 'k7' }]]);
  expect(next.digest()).toBe(map.digest());
  const bucket = entries.filter(([key]) => bucketOf(key) === bucketOf('k7'));
  expect(read.toSorted()).toEqual(bucket.map(([key]) => key).toSorted());
  expect(read.length).toBeLessThan(400);
  expect([...next.changedSince(map)]).toEqual(['k7']);
});

test('different snapshots have different digests, and the order does not matter', () => {
  const [one, two] = [{ text: '1' }, { text: '2' }];
  const maps = [
    [],
    [['a', one]],
    [['a', two]],
    [['b', one]],
    [
      ['a', one],
      ['b', one],
    ],
  ] as [string, Value][][];
  const digests = maps.map((entries) => createMap(entries).digest());
  expect(new Set(digests).size).toBe(digests.length);
  expect(createMap(maps[4]?.toReversed()).digest()).toBe(digests[4]);
});
