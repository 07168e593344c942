import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { defaultDecodeLimits } from '../../../src/manifest/limits.ts';
import { printChanged } from '../../../src/manifest/print-changed.ts';
import { readYaml } from '../../../src/manifest/read-yaml.ts';
import { splitDocuments } from '../../../src/manifest/split-documents.ts';
import type { JsonObject, JsonValue } from '../../../src/model/text/json.ts';

/** Prints a text whose value is changed by a function. */
function change(text: string, to: (value: JsonObject) => JsonValue): string {
  const value = readYaml(text, defaultDecodeLimits).documents[0]?.value as JsonObject;
  return printChanged(text, value, to(value));
}

describe('a changed document', () => {
  it('keeps comments, quotes, layout and order of what stays', () => {
    const text = `# head
a: 1 # one
# before b
b:
- name: x   # the x
  keep: 'it''s'
- {name: why, no: [1,2]}
block: |
  as

  it is
old: gone
last: "x"
# end
`;
    const changed = change(text, ({ old: _, b, ...rest }) => ({
      ...rest,
      a: 2,
      b: [{ name: 'new' }, (b as JsonValue[])[0] ?? null, { name: 'why', false: [1, 2], more: 'yes' }],
      added: { p: '1', q: [] },
    }));
    expect(changed).toBe(`# head
a: 2 # one
block: |
  as

  it is
last: "x"
# before b
b:
- name: new
- name: x # the x
  keep: 'it''s'
- {name: why, no: [1, 2], more: "yes"}
added:
  p: "1"
  q: []

# end
`);
  });

  it('has numbers, booleans and nulls as they were written: tools read some in another way', () => {
    const text =
      'm: 0644\nn: 0o17\no: 1e3\np: +5\nq: 1.0\nr: yes\ns: ~\nt:\nu: 0x1F\nv: True\nw: 1_000\nx: 2001-01-01\n';
    expect(change(text, (value) => ({ ...value, z: 'on' }))).toBe(`${text}z: "on"\n`);
  });

  it.each([
    ['wide', 'a:\n    b:\n        c: 1\n'],
    ['indented lists', 'a:\n  - b: 1\n    c: 2\n'],
    ['flat lists', 'a:\n- b: 1\n  c: 2\n'],
    ['narrow flow', 'a: {b: 1, c: [1, 2]}\n'],
    ['spacious flow', 'a: { b: 1, c: [ 1, 2 ] }\n'],
    ['a start', '---\na: 1\n'],
    ['line ends of Windows', 'a: 1\r\nb:\r\n- c: |\r\n    x\r\n    y\r\n'],
    ['tags', 'a: !!str 1\n'],
  ])('with %s keeps its layout', (_, text) => {
    const end = text.includes('\r\n') ? '\r\n' : '\n';
    const expected = text.replace('!!str 1', '!!str "1"');
    expect(change(text, (value) => ({ ...value, z: 1 }))).toBe(`${expected}z: 1${end}`);
  });

  it('has no aliases and merge keys: a change of one place does not change another', () => {
    const text = `base: &base
  a: 1 # one
  b: 2
twice: &twice
- *base
first:
  <<: *base
  c: 3
second: *twice
`;
    const changed = change(text, (value) => ({ ...value, first: { a: 9, b: 2, c: 3 } }));
    expect(changed).not.toMatch(/[&*<]/);
    expect(parse(changed)).toEqual({
      base: { a: 1, b: 2 },
      twice: [{ a: 1, b: 2 }],
      first: { a: 9, b: 2, c: 3 },
      second: [{ a: 1, b: 2 }],
    });
  });

  it('of a text that is no document is a mistake', () => {
    expect(() => printChanged('a: [', {}, { a: 1 })).toThrow();
  });

  const key = fc.stringMatching(/^[a-z]{1,4}$/);
  const scalar = fc.oneof(
    fc.integer({ min: -99, max: 99_999 }),
    fc.boolean(),
    fc.constant(null),
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    fc.constantFrom(
      'yes',
      'no',
      'on',
      'y',
      '~',
      'null',
      '0644',
      '1e3',
      '12:30',
      'a: b',
      '- x',
      '# c',
      'x\ny\n',
      ' x ',
      '<<',
      '0x1',
    ),
  );
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      scalar,
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
      fc.array(
        fc.dictionary(key, tie('tree'), { maxKeys: 3 }).map((each) => ({ name: JSON.stringify(each).length, ...each })),
        { maxLength: 3 },
      ),
    ),
  }));
  const object = fc.dictionary(key, tree, { maxKeys: 4 });
  const style = fc.record({
    indentSeq: fc.boolean(),
    indent: fc.constantFrom(2, 4),
    collectionStyle: fc.constantFrom('any' as const, 'flow' as const),
    lineWidth: fc.constantFrom(0, 20),
  });

  it('reads back as it should, also by readers of YAML 1.1', () => {
    fc.assert(
      fc.property(object, object, style, (before, after, options) => {
        const text = stringify(before, options);
        const read = readYaml(text, defaultDecodeLimits).documents[0]?.value as JsonObject;
        // Two keys may be the same boolean.
        fc.pre(read !== undefined);
        const mixed = { ...read, ...after } as JsonObject;
        const printed = printChanged(text, read, mixed);
        expect(readYaml(printed, defaultDecodeLimits).documents[0]?.value).toEqual(mixed);
        // What is new is written so that all readers agree.
        const fresh = printChanged('{}', {}, after as JsonObject);
        for (const version of ['1.1', '1.2'] as const) expect(parse(fresh, { version })).toEqual(after);
      }),
      { numRuns: 500 },
    );
  });
});

describe('the documents of a text', () => {
  const texts = [
    '',
    '\n',
    '# only a comment\n',
    'a: 1',
    '# head\n\n---\na: 1\n---\n---\n# c\nb: 2\n...\n# between\n---\nc: 3\n',
    '%YAML 1.2\n---\na: 1\n',
    '--- {a: 1}\n--- text\n',
    'a: 1\r\n---\r\nb: 2\r\n',
    '{"a": 1}\n{"b": 2}\n---\n{"c": 3}',
    '{\n\t"a": 1\n}',
    '{a: 1}\n---\n{b: 2}\n',
    'a: [\n---\nb: "\n',
  ];

  it.each(texts)('and what is between them are the text: %j', (text) => {
    expect(
      splitDocuments(text)
        .map((piece) => piece.text)
        .join(''),
    ).toBe(text);
  });

  it('know where they begin', () => {
    const places = (text: string) =>
      splitDocuments(text).flatMap((piece) =>
        piece.type === 'document' ? [[piece.format, piece.linesBefore, piece.charactersBefore]] : [],
      );
    expect(places('# c\n\na: 1\n---\nb: 1\n')).toEqual([
      ['yaml', 2, 0],
      ['yaml', 3, 0],
    ]);
    expect(places('{"a": 1} {"b": 2}\n  {"c": 3}')).toEqual([
      ['json', 0, 0],
      ['json', 0, 9],
      ['json', 1, 2],
    ]);
  });
});
