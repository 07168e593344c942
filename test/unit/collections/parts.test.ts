import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Bag, bagSize, itemsOf, withItem, withoutItem } from '../../../src/engine/collections/bag.ts';
import { createScopeTable, isWithin } from '../../../src/engine/collections/scopes.ts';
import { structurallyEqual } from '../../../src/engine/collections/values.ts';
import { type JsonValue, jsonEquals } from '../../../src/model/text/json.ts';

test('a bag is a set', async () => {
  const items = Array.from({ length: 20 }, (_none, at) => ({ at }));
  await fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat({ max: 19 })), { maxLength: 60 }), (steps) => {
      const expected = new Set<{ at: number }>();
      let bag: Bag<{ at: number }>;
      for (const [add, at] of steps) {
        const item = items[at] as { at: number };
        if (!add) bag = withoutItem(bag, item);
        else if (!expected.has(item)) bag = withItem(bag, item);
        if (add) expected.add(item);
        else expected.delete(item);
        expect(bagSize(bag)).toBe(expected.size);
        expect(new Set(itemsOf(bag))).toEqual(expected);
      }
      for (const item of expected) bag = withoutItem(bag, item);
      expect(bag).toBeUndefined();
    }),
  );
});

test('structural equality of JSON is equality of JSON', async () => {
  const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as JsonValue);
  await fc.assert(
    fc.property(json, json, (a, b) => {
      expect(structurallyEqual(a, b)).toBe(jsonEquals(a, b));
      expect(structurallyEqual(a, JSON.parse(JSON.stringify(a)))).toBe(true);
    }),
  );
});

test.each([
  [{ a: 1, b: undefined }, { a: 1 }, true],
  [{ a: undefined }, { b: 1 }, false],
  [{ a: 1 }, { b: undefined, a: 1 }, true],
  [[1, 2], [2, 1], false],
  [[], {}, false],
  [null, {}, false],
  [Number.NaN, Number.NaN, true],
  [new Map([['a', [1]]]), new Map([['a', [1]]]), true],
  [new Map([['a', 1]]), new Map([['a', 2]]), false],
  [new Set(['a', 'b']), new Set(['b', 'a']), true],
  [new Set(['a']), new Set(['b']), false],
  [new Uint8Array([1, 2]), new Uint8Array([1, 2]), true],
  [new Uint8Array([1, 2]), new Uint8Array([1, 3]), false],
  [new Date(0), new Date(0), false],
])('structural equality: %j and %j', (a, b, equal) => {
  expect(structurallyEqual(a, b)).toBe(equal);
});

test('scopes are interned by value and counted', async () => {
  const clusters = fc.array(fc.constantFrom('a', 'b', 'c', 'aa', 'bb', 'ab', 'ba', 'abc', 'd', 'e', 'f', 'g'), {
    maxLength: 14,
  });
  await fc.assert(
    fc.property(fc.array(clusters, { minLength: 1, maxLength: 12 }), (lists) => {
      const table = createScopeTable();
      const held = lists.map((list) => table.hold(list));
      const texts = held.map((scope) => scope.clusters.join());
      expect(texts).toEqual(lists.map((list) => [...new Set(list)].sort().join()));
      held.forEach((scope, at) => {
        held.forEach((other, place) => {
          expect(scope === other).toBe(texts[at] === texts[place]);
          expect(isWithin(scope, other)).toBe(new Set(lists[at]).isSubsetOf(new Set(lists[place])));
        });
      });
      const joined = table.holdJoined(held);
      expect(joined.clusters).toEqual([...new Set(lists.flat())].sort());
      expect(table.size()).toBe(new Set([...held, joined].filter((scope) => scope.clusters.length > 0)).size);
      for (const scope of [...held, joined]) table.release(scope);
      expect(table.hold(joined.clusters)).toBe(joined);
      table.release(joined);
      [...table.sweep(() => false)];
      expect(table.size()).toBe(0);
    }),
  );
});

test('two sets of one hash are two scopes', () => {
  const table = createScopeTable();
  const [one, other] = [table.hold(['cluster-47035']), table.hold(['cluster-219868'])];
  expect(one).not.toBe(other);
  expect(table.hold(['cluster-47035'])).toBe(one);
  table.release(other);
  [...table.sweep(() => false)];
  expect(table.size()).toBe(1);
  expect(table.hold(['cluster-47035'])).toBe(one);
});
