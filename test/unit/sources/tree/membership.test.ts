import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isManifestName, parseIgnoreFile } from '../../../../src/sources/tree/membership.ts';

function follows(rules: string, path: string): boolean {
  const parsed = parseIgnoreFile(rules);
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.membership.follows(path);
}

test('manifests are known by their names', () => {
  for (const path of ['a.yaml', 'b/c.yml', 'd.JSON', '.x.yaml'])
    expect([path, isManifestName(path)]).toEqual([path, true]);
  for (const path of ['README.md', 'yaml', 'a.yaml.tpl', 'a.yamlx', 'a/'])
    expect([path, isManifestName(path)]).toEqual([path, false]);
});

describe('the ignore file', () => {
  test('speaks gitignore', () => {
    const rules =
      '\uFEFF# CI is no manifest\r\n.ci/\r\n/only-here.yaml\n*.tmp.yaml\n!keep.tmp.yaml\ncharts/**/values.yaml\n';
    const read = (path: string): boolean => follows(rules, path);
    expect(read('.ci/x/y.yaml')).toBe(false);
    expect(read('only-here.yaml')).toBe(false);
    expect(read('a/only-here.yaml')).toBe(true);
    expect(read('a/b.tmp.yaml')).toBe(false);
    expect(read('a/keep.tmp.yaml')).toBe(true);
    expect(read('charts/a/b/values.yaml')).toBe(false);
    expect(read('charts/a/b/chart.yaml')).toBe(true);
  });

  test('that would take forever to match is not used, and the line is named', () => {
    expect(parseIgnoreFile(`ok\n${'*a'.repeat(30)}\n`)).toMatchObject({ ok: false, line: 2 });
    expect(parseIgnoreFile('**/a/**/a/**/a/**/a\n')).toMatchObject({ ok: false, line: 1 });
    expect(parseIgnoreFile('x'.repeat(501))).toMatchObject({ ok: false, line: 1 });
    expect(parseIgnoreFile('x\n'.repeat(1001))).toMatchObject({ ok: false });
  });

  test('never throws, whatever is in it and whatever the path', () => {
    const text = fc.string({ unit: fc.constantFrom(...'ab*?[]!\\/-{}()+^$|.# \n\t'), maxLength: 40 });
    const path = fc.string({ unit: fc.constantFrom(...'ab./\\ *[-'), minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(text, path, (rules, at) => {
        const parsed = parseIgnoreFile(rules);
        if (parsed.ok) expect(typeof parsed.membership.follows(at)).toBe('boolean');
      }),
    );
  });
});
