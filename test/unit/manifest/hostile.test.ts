import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DecodeLimits, defaultDecodeLimits } from '../../../src/manifest/limits.ts';
import { compileGlob } from '../../../src/model/text/glob.ts';
import { canonicalJson } from '../../../src/model/text/json.ts';
import { applyFixes } from '../../../src/validation/fixes.ts';
import { suppress } from '../../../src/validation/suppressions.ts';
import { decodeFile } from '../../support/decode-file.ts';
import { bytesOf, complaints, contentOf } from '../../support/decoding.ts';
import { placementYaml } from '../../support/manifests.ts';

const limits = (changed: Partial<DecodeLimits>): DecodeLimits => ({ ...defaultDecodeLimits, ...changed });
const nested = (open: string, depth: number, close: string) => open.repeat(depth) + close.repeat(depth);

/** Ten aliases of ten aliases of ...: a few hundred bytes that stand for 10^levels values. */
function bomb(levels: number): string {
  const lines = ['a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]'];
  for (let level = 1; level <= levels; level += 1) {
    lines.push(`a${level}: &a${level} [${Array.from({ length: 10 }, () => `*a${level - 1}`).join(', ')}]`);
  }
  return `${lines.join('\n')}\n`;
}

describe('hostile manifests are refused with a reason', () => {
  it('alias bombs, by what they stand for', () => {
    expect(complaints(bomb(9)).join()).toMatch(
      /^a\.yaml:\d+:\d+: error: the file holds more than 500000 values, aliases/,
    );
    expect(complaints(bomb(3), 'a.yaml', limits({ maxNodes: 20_000 })).join()).not.toMatch(/values/);
    expect(complaints(bomb(3), 'a.yaml', limits({ maxNodes: 10_000 })).join()).toMatch(/values/);
  });

  it('long texts that aliases repeat, also as keys', () => {
    const aliases = Array.from({ length: 900 }, (_, index) => `  y${index}: *a\n`).join('');
    for (const anchored of ['x'.repeat(100_000), `{ ${'x'.repeat(1_000)}: 1, other: ${'x'.repeat(99_000)} }`]) {
      expect(complaints(`data:\n  x: &a ${anchored}\n${aliases}`).join()).toMatch(
        /^a\.yaml:\d+:\d+: error: the file holds more than 16777216 characters of text, aliases counted in full/,
      );
    }
  });

  it('many aliases of a small thing', () => {
    const text = `a: &a 1\nb: [${Array.from({ length: 1001 }, () => '*a').join(', ')}]\n`;
    expect(complaints(text)).toEqual(['a.yaml:2:4005: error: the file holds more than 1000 aliases']);
  });

  it('nesting that aliases make deeper than it looks', () => {
    const lines = [`a0: &a0 ${nested('[', 40, ']')}`];
    for (let i = 1; i < 5; i += 1) lines.push(`a${i}: &a${i} [[[[[[[[[[*a${i - 1}]]]]]]]]]]`);
    expect(complaints(`${lines.join('\n')}\n`).join()).toMatch(/the file is not read/);
    lines.push(`deep: [[[[[[[[[[[[[[[[[[[[[*a4]]]]]]]]]]]]]]]]]]]]]`);
    expect(complaints(`${lines.join('\n')}\n`)).toEqual([
      'a.yaml:6:28: error: lists and mappings are nested more than 100 deep',
    ]);
  });

  it.each([
    ['lists', nested('[', 100_000, ']')],
    ['mappings', nested('{a: ', 100_000, '}')],
    ['blocks', '- '.repeat(50_000)],
    ['unclosed lists', '['.repeat(100_000)],
    ['questions', '? '.repeat(50_000)],
  ])('deep nesting of %s', (_, text) => {
    expect(complaints(text).join()).toMatch(/^a\.yaml:1:\d+: error: lists and mappings are nested more than 100 deep$/);
    const json = complaints(text, 'a.json').join();
    expect(json).toMatch(/nested more than 100 deep|not JSON|ends too early/);
  });

  it('themselves, by alias', () => {
    expect(complaints('a: &a {b: *a}\nc: *nothing\n')).toEqual([
      'a.yaml:1:11: error: the alias "*a" stands for something that holds it (quote it if text is meant)',
      'a.yaml:2:4: error: the alias "*nothing" stands for nothing above it (quote it if text is meant)',
    ]);
  });

  it('large files, without looking into them', () => {
    expect(complaints('a: 1\n', 'a.yaml', limits({ maxBytes: 4 }))).toEqual([
      'a.yaml: error: the file has 5 bytes; at most 4 are read',
    ]);
  });

  it.each([
    ['values of the wrong type', '  k%: 1\n', 'error'],
    ['keys that readers of YAML read differently', '  1_%: x\n', 'warning'],
    ['the same key again and again', '  k: x\n', 'error'],
  ])('100,000 findings, with 10,000 of them, in a time that grows with the file: %s', (_, line, severity) => {
    const lines = Array.from({ length: 100_000 }, (_each, index) => line.replace('%', String(index)));
    const text = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n${lines.join('')}`;
    for (const fixes of [false, true]) {
      const { reading, diagnostics } = decodeFile('a.yaml', bytesOf(text), '', { fixes });
      expect(diagnostics).toHaveLength(10_000);
      expect(reading.readable).toBe(severity === 'warning');
    }
    const last = `${text}  z: {}\n`;
    expect(decodeFile('a.yaml', bytesOf(last), '').reading.readable).toBe(false);
  });

  it('many documents, also as items of a List', () => {
    const one = '{apiVersion: v1, kind: Namespace, metadata: {name: a}}';
    const few = limits({ maxDocuments: 3 });
    expect(complaints(`${one}\n---\n`.repeat(3), 'a.yaml', limits({ maxDocuments: 4 }))).toEqual([]);
    expect(complaints(`--- ${one}\n`.repeat(4), 'a.yaml', few).join()).toMatch(
      /error: the file holds more than 3 documents$/,
    );
    const list = `{apiVersion: v1, kind: List, items: [${Array.from({ length: 4 }, () => one).join(', ')}]}\n`;
    expect(complaints(list, 'a.yaml', few).join()).toMatch(
      /error: the file holds more than 3 documents, items of lists among them$/,
    );
  });

  it('keys that could reach a prototype', () => {
    for (const text of [
      '__proto__: {polluted: 1}\n',
      '"__proto__": {polluted: 1}\n',
      '{"__proto__": {"polluted": 1}}',
    ]) {
      expect(complaints(text)).toEqual([expect.stringMatching(/error: the key __proto__ is not allowed$/)]);
    }
    expect(Object.prototype).not.toHaveProperty('polluted');
    const text =
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {constructor: x, toString: u, hasOwnProperty: z}\n';
    expect(contentOf(text)).toMatchObject({
      value: { data: { constructor: 'x', toString: 'u', hasOwnProperty: 'z' } },
    });
    expect(complaints('apiVersion: constructor/v1\nkind: toString\nmetadata: {name: a}\n')).toEqual([]);
  });

  it.each([
    ['many "**" in 40 folders', `${'**/a/'.repeat(20)}b`, `${'a/'.repeat(39)}a`],
    ['more of them', `${'**/a/'.repeat(49)}b`, `${'a/'.repeat(2_047)}a`],
    ['many stars in a name of 255', '*a*a*a*a*ab.yaml', 'a'.repeat(255)],
    ['many braces with stars', `${'{a*,*a,aa}'.repeat(14)}b`, 'a'.repeat(255)],
  ])('but globs that take a matcher that backtracks for ever are matched: %s', (_, glob, path) => {
    expect(complaints(placementYaml('a', glob))).toEqual([]);
    expect(compileGlob(glob).matches(path)).toBe(false);
  });

  it('globs with more wildcards than a person needs', () => {
    expect(complaints(placementYaml('a', '**/a/'.repeat(101))).join()).toMatch(
      /^a\.yaml:7:7: error: the path ".*" holds more than 100 wildcards, alternatives in braces among them$/,
    );
  });

  it.each([
    ['Latin-1', Buffer.from('a: 1\nb: caf\xe9\n', 'latin1'), '2:7: error: the file is not UTF-8 text'],
    [
      'after a character of its own',
      Buffer.from([0xef, 0xbf, 0xbd, 0x0a, 0xef, 0xbf, 0xbd, 0xff]),
      '2:2: error: the file is not UTF-8 text',
    ],
    ['UTF-16', Buffer.from('\ufeffa: 1\n', 'utf16le'), '1:1: error: the file is UTF-16 text, and must be UTF-8'],
    ['a NUL', Buffer.from('a: 1\nb: x\0y\n'), '2:5: error: the file holds the control character U+0000'],
    ['an escape', Buffer.from('a: \u001b[31m\n'), '1:4: error: the file holds the control character U+001B'],
  ])('bytes that are no text: %s', (_, bytes, expected) => {
    const [first] = decodeFile('a.yaml', bytes, '').diagnostics;
    expect(first && `${first.at?.line}:${first.at?.column}: ${first.severity}: ${first.message}`).toBe(expected);
  });
});

describe('whatever the bytes are', () => {
  const judge = (path: string, bytes: Uint8Array) => {
    const { reading, diagnostics } = decodeFile(path, bytes, 'b', { limits: limits({ maxNodes: 10_000 }) });
    expect(reading.readable).toBe(diagnostics.every(({ severity }) => severity === 'warning'));
    const lines = new TextDecoder().decode(bytes).split('\n');
    for (const { at, message, reason } of diagnostics) {
      expect(reason).toMatch(/^[A-Z][A-Za-z0-9]+$/);
      expect(message).not.toBe('');
      expect(
        (at?.line ?? 1) <= lines.length && (at?.column ?? 1) <= (lines[(at?.line ?? 1) - 1] ?? '').length + 2,
      ).toBe(true);
    }
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
    const fixable = decodeFile(path, bytes, 'b', { limits: limits({ maxNodes: 10_000 }), fixes: true }).diagnostics;
    expect(fixable.length).toBe(diagnostics.length);
    const { text: mended, mended: found } = applyFixes(text, fixable);
    if (found.length === 0) expect(mended).toBe(text);
    else expect(decodeFile(path, bytesOf(mended), 'b').diagnostics.length).toBeLessThanOrEqual(diagnostics.length);
    suppress(path, text, diagnostics);
    if (reading.readable)
      for (const { content } of reading.documents) if (content.type === 'object') canonicalJson(content.value);
  };

  it('decoding never throws, and says something exactly when it refuses', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.constantFrom('a.yaml', 'a.json'), (bytes, path) =>
        judge(path, bytes),
      ),
      { numRuns: 500 },
    );
  });

  it('neither do pieces of YAML in any order', () => {
    const piece = fc.constantFrom(
      ...[
        'a',
        'b',
        ': ',
        ':\n',
        '- ',
        '\n',
        '\n  ',
        '\n    ',
        '[',
        ']',
        '{',
        '}',
        ', ',
        '"',
        "'",
        '|\n',
        '>\n',
        '&x ',
        '*x',
        '!!str ',
        '!t ',
      ],
      ...[
        '? ',
        '# c\n',
        '---\n',
        '...\n',
        '\t',
        '%YAML 1.1\n',
        '<<: ',
        '010',
        'yes',
        '1:30',
        '\u00e9',
        '\u2028',
        '\\',
        '@',
        '`',
        'kind: List\n',
        'items:\n',
        '# fleetrelay-ignore: FR1013, FR2003 x\n',
      ],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), fc.constantFrom('a.yaml', 'a.json'), (pieces, path) =>
        judge(path, bytesOf(pieces.join(''))),
      ),
      { numRuns: 3_000 },
    );
  });

  it('neither does any JSON value where a manifest is expected', () => {
    const kinds = fc.constantFrom(
      'Placement',
      'FleetPolicy',
      'KubernetesCluster',
      'Dataplane',
      'Shoot',
      'List',
      'ConfigMap',
      'Secret',
    );
    const versions = fc.constantFrom(
      'v1',
      'fleetrelay.dev/v1alpha1',
      'admin.gloo.solo.io/v2',
      'kuma.io/v1alpha1',
      'core.gardener.cloud/v1beta1',
    );
    const field = fc.constantFrom('metadata', 'spec', 'status', 'items', 'networking', 'data', 'type', 'name', 'mesh');
    const manifest = fc
      .tuple(versions, kinds, fc.dictionary(field, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 5 }))
      .map(([apiVersion, kind, rest]) => ({ apiVersion, kind, ...rest }));
    fc.assert(
      fc.property(manifest, (value) => judge('a.json', bytesOf(JSON.stringify(value)))),
      { numRuns: 2_000 },
    );
  });
});
