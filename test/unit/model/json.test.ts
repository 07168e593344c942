import { expect, test } from 'vitest';
import { parseJson } from '../../../src/model/json.ts';

test('what a text says as JSON is its value, and what is no JSON has none', () => {
  expect(parseJson('{"a":[1,null]}')).toEqual({ a: [1, null] });
  expect(parseJson('null')).toBeNull();
  for (const text of ['', '{', 'undefined', '{"a":1} x']) expect(parseJson(text)).toBeUndefined();
});
