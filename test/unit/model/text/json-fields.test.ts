import { expect, test } from 'vitest';
import { objectOf, objectsOf, textOf, textsOf } from '../../../../src/model/text/json.ts';

const OTHERS = [undefined, null, true, 0, 1] as const;

test('a text is read as it is, and what is none as the empty text', () => {
  expect(textOf('a')).toBe('a');
  expect(textOf('')).toBe('');
  for (const value of [...OTHERS, ['a'], { a: 'a' }]) expect(textOf(value)).toBe('');
});

test('an object is read as it is, and what is none as an empty one', () => {
  const value = { a: 1 };
  expect(objectOf(value)).toBe(value);
  for (const other of [...OTHERS, 'a', [value]]) expect(objectOf(other)).toEqual({});
});

test('of a list the texts are read in their order, and of what is none nothing', () => {
  expect(textsOf(['b', 1, 'a', null, '', ['c'], { d: 'd' }])).toEqual(['b', 'a', '']);
  for (const value of [...OTHERS, 'a', { 0: 'a', length: 1 }]) expect(textsOf(value)).toEqual([]);
});

test('of a list the objects are read in their order, and of what is none nothing', () => {
  expect(objectsOf([{ b: 1 }, 'a', [{ c: 1 }], null, {}])).toEqual([{ b: 1 }, {}]);
  for (const value of [...OTHERS, 'a', { 0: {}, length: 1 }]) expect(objectsOf(value)).toEqual([]);
});
