import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { matchEnds } from '../../../../src/model/text/path-pattern.ts';
import { isManifestName, parseIgnoreFile, readIgnoreRule } from '../../../../src/sources/tree/ignore-file.ts';
import { follows as followsPath } from '../../../support/ignore-rules.ts';

function follows(rules: string, path: string): boolean {
  const parsed = parseIgnoreFile(rules);
  if (!parsed.ok) throw new Error(parsed.problem);
  return followsPath(parsed.membership, path);
}

test('manifests are known by their names', () => {
  for (const path of ['a.yaml', 'b/c.yml', 'd.JSON', 'a.b/Kustomization'])
    expect([path, isManifestName(path)]).toEqual([path, true]);
  for (const path of ['README.md', 'yaml', 'a.yaml.tpl', 'a.yamlx', 'a/', '.x.yaml', '.github/a.yaml', 'b/.c/d.yml'])
    expect([path, isManifestName(path)]).toEqual([path, false]);
});

describe('the ignore file', () => {
  test('follows the rules of gitignore', () => {
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

  test('is refused with the problem and its line', () => {
    expect(parseIgnoreFile(`ok\n${'x'.repeat(501)}`)).toMatchObject({
      line: 2,
      problem: 'has a rule longer than 500 characters',
    });
    expect(parseIgnoreFile('x\n'.repeat(1001))).toMatchObject({ line: 1001, problem: 'has more than 1000 rules' });
    expect(parseIgnoreFile(`/${'?'.repeat(499)}\n`.repeat(11))).toMatchObject({
      ...{ line: 11, problem: 'has more than 5000 wildcards in its rules' },
    });
    for (const rule of ['[a', 'a\\', '[[:no:]]', '/', '! ']) {
      expect([rule, parseIgnoreFile(`\n# c\n${rule}`)]).toMatchObject([
        rule,
        { line: 3, problem: 'has a rule that is no pattern' },
      ]);
    }
  });

  test.each([
    ['three stars and a name of 2,000', '*a*a*ab', 'a'.repeat(2_000)],
    ['many stars', '*a'.repeat(249), 'b'.repeat(4_096)],
    ['many "**"', `${'**/a/'.repeat(99)}b`, 'a/'.repeat(2_048)],
    ['both', `**/${'*a'.repeat(200)}b`, `${'a'.repeat(254)}/`.repeat(16)],
    ['many characters', `**/*${'?'.repeat(400)}b`, `${'a'.repeat(254)}/`.repeat(16)],
  ])('work for a rule is bounded by the lengths of the rule and the path: %s', (_what, line, path) => {
    let steps = 0;
    matchEnds(readIgnoreRule(line)?.pattern ?? [], `/${path.replace(/\/$/, '')}`, (more) => {
      steps += more;
    });
    expect(steps).toBeGreaterThan(0);
    expect(steps).toBeLessThan(4 * (line.length + 4) * (path.length + 2));
  });

  test('a thousand such rules are answered', () => {
    expect(follows('*a*a*ab\n'.repeat(1_000), 'a'.repeat(2_000))).toBe(true);
    expect(follows(`${'*a'.repeat(200)}b\n`.repeat(20), 'a'.repeat(255))).toBe(true);
  });

  test('never throws, for any text and any path', () => {
    const text = fc.string({ unit: fc.constantFrom(...'ab*?[]!\\/-{}()+^$|.# \n\t'), maxLength: 40 });
    const path = fc.string({ unit: fc.constantFrom(...'ab./\\ *[-'), minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(text, path, (rules, at) => {
        const parsed = parseIgnoreFile(rules);
        if (parsed.ok) expect(typeof followsPath(parsed.membership, at)).toBe('boolean');
      }),
    );
  });
});
