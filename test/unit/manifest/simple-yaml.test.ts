import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { dump, parseEvents } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { composeDocuments } from '../../../src/manifest/compose-documents.ts';
import { defaultDecodeLimits } from '../../../src/manifest/limits.ts';
import { readYaml } from '../../../src/manifest/read-yaml.ts';
import { readSimpleYaml } from '../../../src/manifest/simple-yaml.ts';
import type { JsonValue } from '../../../src/model/text/json.ts';
import { parseArchive } from '../../support/txtar.ts';

const simple = (text: string) => readSimpleYaml(text, defaultDecodeLimits);

/** What the parser of all of YAML reads; undefined: it has an error or a warning. */
function complete(text: string): ReturnType<typeof simple> {
  try {
    const { documents, problems } = composeDocuments(text, parseEvents(text, { maxDepth: 100 }), defaultDecodeLimits);
    return problems.length > 0 ? undefined : documents.map(({ value, start }) => ({ value, start }));
  } catch {
    return undefined;
  }
}

/** Fails if the text is read in another way; returns whether it is simple. */
function isSimpleAndEqual(text: string): boolean {
  const found = simple(text);
  // The order of keys counts as well.
  if (found !== undefined) expect(JSON.stringify(found), text).toBe(JSON.stringify(complete(text)));
  return found !== undefined;
}

describe('simple YAML', () => {
  it.each<readonly [what: string, text: string, value: JsonValue]>([
    ['a mapping', 'a: b\nc: 1\nd: true\ne: null\nf:\n', { a: 'b', c: 1, d: true, e: null, f: null }],
    ['mappings in mappings', 'a:\n  b:\n    c: d\n  e: f\ng: h\n', { a: { b: { c: 'd' }, e: 'f' }, g: 'h' }],
    ['a list that is indented', 'a:\n  - b\n  - c\nd: e\n', { a: ['b', 'c'], d: 'e' }],
    ['a list that is not indented', 'a:\n- b\n- c\nd: e\n', { a: ['b', 'c'], d: 'e' }],
    ['mappings in lists', 'a:\n- b: c\n  d:\n  - e\n-\n  f: g\n-\n', { a: [{ b: 'c', d: ['e'] }, { f: 'g' }, null] }],
    ['a list at the root', '- a\n- b: c\n', ['a', { b: 'c' }]],
    ['quoted scalars', `a: "b: #c"\nd: 'e "f"'\ng: ""\n`, { a: 'b: #c', d: 'e "f"', g: '' }],
    [
      'plain scalars',
      'a: --b=c:d#e\nf: a b  c\ng: -1\nh: http://i/j\n',
      { a: '--b=c:d#e', f: 'a b  c', g: -1, h: 'http://i/j' },
    ],
    ['comments', '# a\nb: c # d\n\n  # e\nf: # g\n  - h # i\nj: "k" # l\n', { b: 'c', f: ['h'], j: 'k' }],
    ['a literal block', 'a: |\n  b\n    # c\n\n  d\n\n\ne: f\n', { a: 'b\n  # c\n\nd\n', e: 'f' }],
    ['a literal block without its last line feed', '- |-\n  b\n\n- a: |-\n    c\n  d: e\n', ['b', { a: 'c', d: 'e' }]],
    [
      'flow collections',
      `a: [b, "c, d", 1]\ne: []\nf: { g: 50m, h: 'i' }\nj: {}\n`,
      { a: ['b', 'c, d', 1], e: [], f: { g: '50m', h: 'i' }, j: {} },
    ],
  ])('%s', (_, text, value) => {
    expect(simple(text)).toEqual([{ value, start: text.search(/^[^#]/m) }]);
    expect(isSimpleAndEqual(text)).toBe(true);
  });

  it('several documents', () => {
    const text = '---\na: b\n---\n# c\nd: e\n';
    expect(simple(text)?.map(({ value }) => value)).toEqual([{ a: 'b' }, { d: 'e' }]);
    expect(isSimpleAndEqual(text)).toBe(true);
  });

  it.each([
    '',
    '# a\n',
    'a: b',
    'a: b\r\n',
    'a:\tb\n',
    'a: b\n  c\n',
    'a: b: c\n',
    'a: "b\n  c"\n',
    'a: "\\n"\n',
    "a: 'b''c'\n",
    'a: "b" c\n',
    'a: >\n  b\n',
    'a: |+\n  b\n',
    'a: |2\n    b\n',
    'a: |\n    \n  b\n',
    'a: |\nb: c\n',
    'a: &b c\nd: *b\n',
    'a: !!str 1\n',
    'a: b\na: c\n',
    '<<: {}\n',
    '__proto__: a\n',
    'yes: a\n',
    '1: a\n',
    'a: yes\n',
    'a: 010\n',
    'a: 99999999999999999999\n',
    'a: [b, [c]]\n',
    'a: [b c]\n',
    'a: [b: c]\n',
    'a: [b,\n  c]\n',
    'a: [b,]\n',
    'a: {b}\n',
    'a: {"b":1}\n',
    'a: { b: c, b: d }\n',
    '- - a\n',
    '? a\n: b\n',
    '%YAML 1.2\n---\na: b\n',
    '---\n---\na: b\n',
    'a: b\n---\n',
    'a: b\n...\n',
    '--- a\n',
    'a\n',
    '{ "a": 1 }\n',
    'a:\n    b: c\n  d: e\n',
    'a: b\n - c\n',
    'a:\n  - b\n  c: d\n',
  ])('leaves to the parser of all of YAML: %j', (text) => {
    expect(simple(text)).toBeUndefined();
  });

  it('keeps the limits of a file', () => {
    const text = 'a:\n- b: c\n---\nd: e\n';
    expect(readSimpleYaml(text, { ...defaultDecodeLimits, maxDepth: 4 })).toHaveLength(2);
    for (const limit of [{ maxDepth: 3 }, { maxDocuments: 1 }, { maxNodes: 10 }]) {
      expect(readSimpleYaml(text, { ...defaultDecodeLimits, ...limit })).toBeUndefined();
    }
  });

  it('finds the events of a document when they are needed', () => {
    const text = 'a: b\n---\nc:\n- d\n';
    const { documents } = readYaml(text, defaultDecodeLimits);
    const others = composeDocuments(text, parseEvents(text, {}), defaultDecodeLimits).documents;
    expect(documents.map(({ events, root }) => ({ events, root }))).toEqual(
      others.map(({ events, root }) => ({ events, root })),
    );
  });
});

const PROJECT = join(import.meta.dirname, '../../..');
const MANIFESTS = globSync(['test/validation/*/**/*.yaml', 'examples/**/*.yaml', 'test/golden/**/*.{yaml,txtar}'], {
  cwd: PROJECT,
})
  .sort()
  .flatMap((path) => {
    const text = readFileSync(join(PROJECT, path), 'utf8');
    if (!path.endsWith('.txtar')) return [text];
    return [...parseArchive(text)].flatMap(([name, file]) => (name.endsWith('.yaml') ? [file] : []));
  });

describe('both parsers of YAML', () => {
  it('read the manifests of this repository alike, and most of them are simple', () => {
    expect(MANIFESTS.length).toBeGreaterThan(500);
    const count = MANIFESTS.filter(isSimpleAndEqual).length;
    expect(count / MANIFESTS.length).toBeGreaterThan(0.8);
  });

  it('read changed manifests alike', () => {
    const piece = fc.constantFrom(
      ...[' ', '  ', '\n', '\n\n', '   \n', '\n ', '- ', '-', '- - ', ':', ': ', ' : ', 'a: ', 'a:\n', '"a": ', '<<: '],
      ...[
        ' #',
        '#',
        '"',
        "'",
        '""',
        "''",
        '\\',
        '\\n',
        '|',
        '|-',
        '|+',
        '>',
        '|\n',
        '---\n',
        '---',
        '---\n---\n',
        '...\n',
      ],
      ...['{', '}', '[', ']', ', ', '{ a: b }', '[a, "b"]', '[]', '{}', '&a ', '*a', '!x ', '? ', '%', '@', '`', 'é'],
      ...['yes', '010', '1:30', 'null', '~', 'true', '0x1F', '1e3', '.5', 'x y', '-1', '--x', '\t', '\u0085', '\u2028'],
    );
    const offset = fc.nat({ max: 2_000 });
    const edit = fc.record({ at: offset, removed: fc.nat({ max: 4 }), added: fc.oneof(fc.constant(''), piece) });
    let count = 0;
    fc.assert(
      fc.property(fc.constantFrom(...MANIFESTS), offset, fc.array(edit, { maxLength: 4 }), (manifest, from, edits) => {
        const lines = manifest.split('\n');
        const begin = from % lines.length;
        let text = `${lines.slice(from % 2 === 0 ? 0 : begin, begin + 15).join('\n')}\n`;
        for (const { at, removed, added } of edits) {
          const place = at % text.length;
          text = `${text.slice(0, place)}${added}${text.slice(place + removed)}\n`.replace(/\n\n$/, '\n');
        }
        if (isSimpleAndEqual(text)) count += 1;
      }),
      { numRuns: 5_000 },
    );
    // Otherwise the property would say little.
    expect(count).toBeGreaterThan(1_000);
  });

  it('read generated documents alike', () => {
    const text = fc.oneof(
      fc.string({ maxLength: 8 }),
      fc.constantFrom('', 'a', 'no', '1', 'a b', 'a: b', 'a\nb', ' a', '#'),
    );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.oneof(text, fc.boolean(), fc.constant(null), fc.integer()),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(text, tie('value'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('a', 'b', 'c/d'), value), fc.constantFrom(2, 4), (written, indent) => {
        isSimpleAndEqual(dump(written, { indent, lineWidth: -1 }));
      }),
      { numRuns: 1_000 },
    );
  });
});
