import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { defaultDecodeLimits } from '../../../src/manifest/limits.ts';
import { printYaml } from '../../../src/manifest/print-yaml.ts';
import { readYaml } from '../../../src/manifest/read-yaml.ts';
import type { JsonValue } from '../../../src/model/text/json.ts';

/** Each is text, and is something else for kubectl, YAML 1.1 or YAML 1.2 if it has no quotes. */
const WORDS = [
  ...[
    'y',
    'N',
    'yes',
    'No',
    'ON',
    'off',
    'true',
    'null',
    '~',
    '',
    '0644',
    '0o17',
    '-0o17',
    '+0b1',
    '0B11',
    '0X1f',
    '1_000',
  ],
  ...[
    '-_1',
    '0_8',
    '1e_3',
    '20e770',
    '1:30',
    '190:20:30',
    '.inf',
    '.NaN',
    '1.10',
    '1e3',
    '2001-01-01',
    '=',
    '<<',
    '---',
  ],
];

function readBack(text: string): readonly JsonValue[] {
  const { documents, problems } = readYaml(text, defaultDecodeLimits);
  expect(problems).toEqual([]);
  return documents.map(({ value }) => value);
}

describe('printYaml', () => {
  it.each(WORDS)('writes %j as text for kubectl and for YAML 1.2, as a value and as a key', (word) => {
    const value = { a: word, b: [word], c: { [word]: word } };
    const text = printYaml(value);
    expect(readBack(text)).toEqual([value]);
    expect(parse(text)).toEqual(value);
  });

  it('writes what reads back the same', () => {
    const number = fc.stringMatching(/^[-+]?[0-9_.]{1,4}[eExob]?[-+]?[0-9_.]{0,4}$/);
    const value = fc.oneof(number, fc.string(), fc.integer(), fc.double({ noNaN: true, min: -1e9, max: 1e9 }));
    const object = fc.dictionary(fc.stringMatching(/^[a-z0-9_.]{1,6}$/), value);
    fc.assert(
      fc.property(object, (written) => {
        const plain = JSON.parse(JSON.stringify({ written }));
        // Escapes of a lone surrogate are no characters.
        fc.pre(JSON.stringify(plain).isWellFormed());
        expect(readBack(printYaml(plain))).toEqual([plain]);
      }),
      { numRuns: 500 },
    );
  });
});
