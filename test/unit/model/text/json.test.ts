import { expect, test } from 'vitest';
import { canonicalJson, parseJson } from '../../../../src/model/text/json.ts';

test('what a text says as JSON is its value, and what is no JSON has none', () => {
  expect(parseJson('{"a":[1,null]}')).toEqual({ a: [1, null] });
  expect(parseJson('null')).toBeNull();
  for (const text of ['', '{', 'undefined', '{"a":1} x']) expect(parseJson(text)).toBeUndefined();
});

test.each([
  ['lists', '[0,', ',{"b":1}]'],
  ['mappings', '{"a":', ',"b":[1,{"c":"x\\u0001"}]}'],
])('the canonical text of a value of 10,000 levels of %s is made like any other', (_, open, close) => {
  for (const levels of [3, 10_000]) {
    const text = `${open.repeat(levels)}1${close.repeat(levels)}`;
    expect(canonicalJson(JSON.parse(text))).toBe(text);
  }
});
