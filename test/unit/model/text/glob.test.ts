import fc from 'fast-check';
import picomatch from 'picomatch';
import { describe, expect, it } from 'vitest';
import { compileGlob, readGlob } from '../../../../src/model/text/glob.ts';
import { matchEnds } from '../../../../src/model/text/path-pattern.ts';

const matching = (glob: string, paths: readonly string[]) => paths.filter(compileGlob(glob).matches);

describe('compileGlob', () => {
  it.each([
    ['apps', ['apps', 'apps/a', 'apps/b/c'], ['app', 'apps2/a', 'x/apps/a']],
    ['apps/', ['apps/a', 'apps/b/c'], ['apps2/a']],
    ['apps/**', ['apps/a', 'apps/b/c'], ['apps', 'apps2/a', 'x/apps/a']],
    ['*/**', ['apps/a', 'apps/b/c'], ['apps']],
    ['**', ['a', 'a/b/c'], []],
    ['**/a.yaml', ['a.yaml', 'x/a.yaml', 'x/y/a.yaml'], ['xa.yaml', 'a.yaml/b']],
    ['a/**/b', ['a/b', 'a/x/b', 'a/x/y/b'], ['a/xb', 'ab', 'a/b/c']],
    ['*.yaml', ['a.yaml', '.yaml', '.a.yaml'], ['x/a.yaml', 'a.yml', 'a.yaml.bak']],
    ['a/*/c', ['a/b/c', 'a/.b/c'], ['a/c', 'a/b/b/c']],
    ['a-?.yaml', ['a-1.yaml', 'a-é.yaml', 'a-😀.yaml'], ['a-.yaml', 'a-12.yaml', 'a-/.yaml']],
    ['[a-c0]x', ['ax', 'cx', '0x'], ['dx', 'x', 'Ax']],
    ['a[!b]c', ['axc', 'a-c'], ['abc', 'a/c', 'ac']],
    ['[]-]', [']', '-'], ['a']],
    ['[[:digit:]]', ['1'], ['a', ':']],
    ['{a,b}/*.{yaml,yml}', ['a/x.yaml', 'b/x.yml'], ['c/x.yaml', 'a/x.json']],
    ['{a/**,b}/x', ['a/x', 'a/q/r/x', 'b/x'], ['b/q/x', 'ax']],
    ['{a/**,b}', ['a/x', 'a/x/y', 'b'], ['a', 'b/x']],
    ['a/{b,**/c}/d', ['a/b/d', 'a/c/d', 'a/x/y/c/d'], ['a/d', 'a/x/b/d']],
    ['a{,-b}.yaml', ['a.yaml', 'a-b.yaml'], ['a-.yaml']],
    ['a+$^.(b', ['a+$^.(b'], ['aa+$^.(b']],
  ])('%j', (glob, matched, others) => {
    expect(matching(glob, [...matched, ...others])).toEqual(matched);
  });

  it.each([
    ['apps', 'apps'],
    ['apps/web/**', 'apps/web'],
    ['apps/w*/x', 'apps'],
    ['*', ''],
    ['a/{b,c}/d', 'a'],
    ['a{b,c}', ''],
  ])('every match of %j lies in %j', (glob, base) => {
    expect(compileGlob(glob).base).toBe(base);
  });

  it('matches nothing with what is no glob, and no path that is too long', () => {
    expect(matching('{a,b', ['a', 'b', '{a,b'])).toEqual([]);
    expect(matching('**', ['a'.repeat(4096), 'a'.repeat(4097)])).toEqual(['a'.repeat(4096)]);
  });
});

/** A glob, and all globs without braces that it stands for. */
interface Generated {
  readonly text: string;
  readonly means: readonly string[];
}

const characters = fc.constantFrom('a', 'b', 'c', '.', '-', '_');
const wildcards = fc.constantFrom('*', '*', '?', '[ab]', '[!a]', '[^b.]', '[a-c]');
const plainName = fc.array(characters, { minLength: 1, maxLength: 3 }).map((all) => all.join(''));
const wildName = fc
  .array(fc.oneof(characters, wildcards), { minLength: 1, maxLength: 5 })
  .map((all) => all.join('').replace(/\*+/g, '*'));
const flatGlob = fc
  .array(fc.oneof(plainName, wildName, fc.constant('**')), { minLength: 1, maxLength: 4 })
  .map((names) => names.join('/'));
const flat = flatGlob.map((text): Generated => ({ text, means: [text] }));
const braces = fc
  .array(fc.oneof(flatGlob, wildName), { minLength: 2, maxLength: 3 })
  .map((all): Generated => ({ text: `{${all.join(',')}}`, means: all }));
const joined = (parts: readonly Generated[], between: string): Generated => ({
  text: parts.map(({ text }) => text).join(between),
  means: parts.reduce<readonly string[]>(
    (before, { means }) => before.flatMap((start) => means.map((end) => (start === '' ? end : start + between + end))),
    [''],
  ),
});
const glob = fc
  .tuple(fc.array(fc.oneof(flat, braces), { minLength: 1, maxLength: 3 }), fc.constantFrom('/', '/', 'a'))
  .map(([parts, between]) => joined(parts, between));
const path = fc
  .array(
    plainName.filter((name) => !name.endsWith('.')),
    { minLength: 1, maxLength: 5 },
  )
  .map((names) => names.join('/'));
const isRelative = (text: string) => text.split('/').some((name) => name === '.' || name === '..');

/**
 * As picomatch has it, which backtracks. Unlike shells and git, it takes `[!a]` for one of two characters, and `a/**`
 * for the file `a` as well (but not `*` for it in `*` + `/**`).
 */
function asPicomatch(text: string): (path: string) => boolean {
  return picomatch(text.replaceAll('[!', '[^').replace(/\/\*\*$/, '/**/*'), { dot: true, nonegate: true });
}

describe('the language of globs', () => {
  it('agrees with picomatch; braces stand for several globs', () => {
    let matches = 0;
    fc.assert(
      fc.property(glob, fc.array(path, { minLength: 10, maxLength: 10 }), ({ text, means }, paths) => {
        fc.pre(readGlob(text).ok && /[*?[{]/.test(text) && !means.some(isRelative));
        const anyOf = means.map(asPicomatch);
        const expected = paths.filter((one) => anyOf.some((matcher) => matcher(one)));
        expect(matching(text, paths)).toEqual(expected);
        matches += expected.length;
      }),
      { numRuns: 3_000 },
    );
    expect(matches).toBeGreaterThan(1_000);
  });
});

/** How many characters are compared to match a glob. */
function stepsOf(glob: string, path: string): number {
  const reading = readGlob(glob);
  if (!reading.ok) throw new Error(reading.problem);
  let steps = 0;
  matchEnds(reading.value, `/${path}`, (more) => {
    steps += more;
  });
  return steps;
}

const most = (glob: string, path: string) => 4 * (glob.length + 1) * (path.length + 2);

describe('the work of matching is bounded by the lengths of glob and path', () => {
  const deep = `${'a/'.repeat(39)}a`;
  const deepest = `${'a/'.repeat(2047)}a`;
  const longest = `${`${'a'.repeat(254)}/`.repeat(16)}a`;
  it.each([
    ['eight "**" in 40 folders', `${'**/a/'.repeat(8)}b`, deep],
    ['ten', `${'**/a/'.repeat(10)}b`, deep],
    ['two hundred, in 2,048', `${'**/a/'.repeat(200)}b`, deepest],
    ['stars in a name of 255', '*a*a*a*a*ab.yaml', 'a'.repeat(255)],
    ['many stars in a path of 4,096', `**/${'*a'.repeat(500)}b`, longest],
    ['many sets', `**/${'*[!b]'.repeat(200)}b`, longest],
    ['many braces', `${'{a,a*,**/a}/'.repeat(80)}b`, deepest],
    ['text that comes close again and again', `**/*${'a'.repeat(254)}b`, longest],
  ])('%s', (_what, glob, path) => {
    expect(stepsOf(glob, path)).toBeLessThan(most(glob, path));
  });

  it('whatever they are', () => {
    fc.assert(
      fc.property(glob, path, ({ text }, one) => {
        fc.pre(readGlob(text).ok);
        expect(stepsOf(text, one)).toBeLessThan(most(text, one));
      }),
    );
  });
});
