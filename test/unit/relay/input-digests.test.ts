import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sha256 } from '../../../src/model/digest.ts';
import { createInputDigests, inputDigest } from '../../../src/relay/input-digests.ts';

const keys = fc.array(fc.nat(600), { maxLength: 40 });

test('steps lead to the digest of the complete input, which digestAfter computes in advance', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ put: keys, drop: keys, text: fc.nat(3) }), { maxLength: 8 }), (steps) => {
      const held = createInputDigests([]);
      const complete = new Map<string, ReturnType<typeof sha256>>();
      for (const { put, drop, text } of steps) {
        const upserts = [...new Set(put)].map((number) => ({ key: `k${number}`, digest: sha256(String(text)) }));
        const named = new Set(upserts.map(({ key }) => key));
        const removals = [...new Set(drop)].map((number) => `k${number}`).filter((key) => !named.has(key));
        const foretold = held.digestAfter({ upserts, removals });
        held.take({ upserts, removals });
        for (const { key, digest } of upserts) complete.set(key, digest);
        for (const key of removals) complete.delete(key);
        expect(held.digest()).toBe(foretold);
        expect(held.digest()).toBe(inputDigest(complete));
        expect(new Map(held.entries())).toEqual(complete);
      }
    }),
  );
});

test('different inputs have different digests, and the order does not matter', () => {
  const [one, two] = [sha256('1'), sha256('2')];
  const digests = [
    inputDigest([]),
    inputDigest([['a', one]]),
    inputDigest([['a', two]]),
    inputDigest([['b', one]]),
    inputDigest([
      ['a', one],
      ['b', one],
    ]),
  ];
  expect(new Set(digests).size).toBe(digests.length);
  expect(
    inputDigest([
      ['b', one],
      ['a', one],
    ]),
  ).toBe(digests[4]);
});
