import fc from 'fast-check';
import { dump } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { Document, parseAllDocuments } from 'yaml';
import { defaultDecodeLimits } from '../../../src/manifest/limits.ts';
import { readJson } from '../../../src/manifest/read-json.ts';
import { readYaml } from '../../../src/manifest/read-yaml.ts';
import { type JsonValue, jsonEquals } from '../../../src/model/text/json.ts';

const WORDS = [
  'yes',
  'No',
  'on',
  'off',
  'y',
  'null',
  '~',
  'true',
  '010',
  '0o17',
  '0x1F',
  '1_000',
  '0b11',
  '1:30',
  '1e3',
  '.5',
  '-',
  '--- x',
  '#c',
  'a: b',
  '- x',
];
const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.constantFrom(
    ...WORDS,
    '',
    ' x',
    'x ',
    'a\nb',
    'a\n\nb\n',
    '\n',
    ' a\n  b\n',
    "it's",
    '"q"',
    '\\n',
    '{',
    ']',
    '&a',
    '*a',
    '!t',
    '%x',
    '@x',
    '`x',
    '|',
    '>',
    '\u00e9',
    '\u{1f600}',
    '\u2028',
  ),
);
/** js-yaml's writer leaves a key that begins with "---" without quotes, at the start of a line. */
const key = text.filter((word) => word !== '__proto__' && word !== '<<' && !word.startsWith('---'));
const leaf = fc.oneof(
  text,
  fc.boolean(),
  fc.constant(null),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }).map((value) => (value === 0 ? 0 : value)),
);
/** The root is a mapping, as in every manifest: the parsers read the indentation mark of a bare block of text differently. */
const { root } = fc.letrec<{ value: JsonValue; root: JsonValue }>((tie) => ({
  root: fc.dictionary(key, tie('value'), { maxKeys: 4 }),
  value: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4 }),
  ),
}));

/** Quotes text that YAML 1.1 does not read as text. */
const AS_TEXT = { aliasDuplicateObjects: false, compat: 'yaml-1.1' } as const;

/** The same value in the hand of several writers. */
const writers: Readonly<Record<string, (value: JsonValue) => string>> = {
  'js-yaml in blocks': (it) => dump(it),
  'js-yaml in one line': (it) => dump(it, { lineWidth: -1, indent: 4 }),
  'yaml in blocks': (it) => new Document(it, AS_TEXT).toString(),
  'yaml in flow': (it) => new Document(it, AS_TEXT).toString({ collectionStyle: 'flow' }),
  'yaml, single quotes, wide': (it) => new Document(it, AS_TEXT).toString({ singleQuote: true, lineWidth: 0 }),
  'yaml, folded': (it) => new Document(it, AS_TEXT).toString({ lineWidth: 20, blockQuote: 'folded' }),
  JSON: (it) => JSON.stringify(it),
  'JSON in lines': (it) => JSON.stringify(it, undefined, 2),
};

/** YAML forbids control characters as they are; the reader of bytes refuses them. Two line breaks are kubectl's alone. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is left out.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]/;

describe('the fast parser and the thorough one', () => {
  it.each(Object.keys(writers))('read the same, and what was written: %s', (name) => {
    fc.assert(
      fc.property(root, (written) => {
        const source = writers[name]?.(written) ?? '';
        fc.pre(!CONTROL.test(source.replace(/[\ud800-\udbff][\udc00-\udfff]/g, '')));
        const fast = readYaml(source, defaultDecodeLimits);
        expect(fast.problems.filter(({ severity }) => severity === 'error')).toEqual([]);
        const [first] = fast.documents;
        const thorough = parseAllDocuments(source, { stringKeys: true });
        const [other] = Array.isArray(thorough) ? thorough : [];
        expect([fast.documents.length, other?.errors ?? []]).toEqual([1, []]);
        expect(first?.value).toEqual(other?.toJS());
        expect(jsonEquals(first?.value, written)).toBe(true);
      }),
      { numRuns: 150 },
    );
  });

  it('read JSON alike, with spaces and with tabs', () => {
    fc.assert(
      fc.property(root, fc.constantFrom(0, 2, '\t'), (written, indent) => {
        const source = JSON.stringify(written, undefined, indent);
        fc.pre(!CONTROL.test(source.replace(/[\ud800-\udbff][\udc00-\udfff]/g, '')));
        const { documents, problems } = readJson(source, defaultDecodeLimits);
        expect(problems).toEqual([]);
        expect(documents.map((document) => document.value)).toEqual([JSON.parse(source)]);
      }),
      { numRuns: 300 },
    );
  });
});
