import { expect, test } from 'vitest';
import { merged } from '../../../../src/model/values/merged.ts';

test('the members of all tables are in one, in their order', () => {
  const all = merged('colour', [
    ['red', { b: 1, a: 2 }],
    ['blue', undefined],
    ['green', { c: 3 }],
  ]);
  expect(Object.entries(all)).toEqual([
    ['b', 1],
    ['a', 2],
    ['c', 3],
  ]);
});

test('a name that two tables have is an error with the name and both owners', () => {
  const tables = [
    ['red', { a: 1 }],
    ['blue', { a: 1 }],
  ] as const;
  expect(() => merged('colour', tables)).toThrow('red and blue both have the colour a');
});

test('a name of an object of JavaScript is a name like any other', () => {
  expect(Object.keys(merged('colour', [['red', { constructor: 1 }]]))).toEqual(['constructor']);
});
