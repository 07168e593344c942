import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson, type JsonValue } from '../../../src/model/json.ts';
import { jsonSize } from '../../../src/model/json-size.ts';

const bytesOf = (value: JsonValue): number => Buffer.byteLength(canonicalJson(value));

test('the size is that of the canonical text, whatever has to be escaped', () => {
  const value = fc.jsonValue({ noUnicodeString: false }) as fc.Arbitrary<JsonValue>;
  void fc.assert(fc.property(value, (each) => jsonSize(each).bytes === bytesOf(each)));
  for (const text of ['', 'a', '"', '\\', '\u0001\n\u007f', 'é', '\u2028', '😀', '\ud800', '\udc00x', '\uffff']) {
    expect(jsonSize({ [text]: [text] }).bytes).toBe(bytesOf({ [text]: [text] }));
  }
});

test('scalars, lists and objects are elements; names and absent members are not', () => {
  expect(jsonSize({ a: [1, null, {}], b: undefined, c: 'x' })).toEqual({ bytes: 25, elements: 6 });
});
