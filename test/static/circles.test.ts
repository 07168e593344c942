import { globSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join, posix } from 'node:path';
import { expect, test } from 'vitest';

/**
 * No file needs itself through others, also not through a module that it loads later (`import('...')`): the linter sees the imports
 * at the top of a file only. Imports of types are left out, for Node loads nothing for them.
 */

const project = join(import.meta.dirname, '../..');

const SPECIFIER = /(?:\bfrom\s*|\bimport\s*\(\s*|\bimport\s+)(['"])(\.[^'"\n]+)\1/g;

/** The files that Node loads for a source text, at once or later, as paths from the project's folder. */
function loadedBy(file: string, text: string): readonly string[] {
  const code = stripTypeScriptTypes(text)
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/(^|\s)\/\/.*$/gm, '$1');
  return [...code.matchAll(SPECIFIER)].map(([, , to = '']) => posix.join(posix.dirname(file), to));
}

/** Files that need themselves, each group with all that are in its circles. */
function circles(loads: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const found: string[][] = [];
  const path: string[] = [];
  const place = new Map<string, number>();
  const isDone = new Set<string>();
  /** Returns the place on the path of the earliest file that this one needs. */
  const visit = (file: string): number => {
    const own = path.push(file) - 1;
    place.set(file, own);
    let earliest = own;
    for (const to of loads.get(file) ?? []) {
      if (isDone.has(to) || !loads.has(to)) continue;
      earliest = Math.min(earliest, place.get(to) ?? visit(to));
    }
    if (earliest < own) return earliest;
    const group = path.splice(own);
    for (const each of group) isDone.add(each);
    if (group.length > 1 || loads.get(file)?.includes(file) === true) found.push(group.sort());
    return own;
  };
  for (const file of loads.keys()) if (!isDone.has(file)) visit(file);
  return found;
}

test('no file of src needs itself, at once or later', () => {
  const files = globSync('src/**/*.ts', { cwd: project }).map((file) => file.replaceAll('\\', '/'));
  const loads = new Map(files.map((file) => [file, loadedBy(file, readFileSync(join(project, file), 'utf8'))]));
  expect(loads.get('src/domains/engines.ts')).toEqual(['src/domains/domains.ts']);
  expect(loads.get('src/domains/health/shell.ts')).toContain('src/domains/health/compose/server.ts');
  expect(circles(loads)).toEqual([]);
});

test.each([
  ['a circle of two', { a: ['b'], b: ['a'] }, [['a', 'b']]],
  ['a circle behind another file', { a: ['b'], b: ['c'], c: ['d', 'b'], d: [] }, [['b', 'c']]],
  ['two circles that meet', { a: ['b', 'c'], b: ['a'], c: ['a'] }, [['a', 'b', 'c']]],
  ['a file that needs itself', { a: ['a'] }, [['a']]],
  ['two ways to one file', { a: ['b', 'c'], b: ['d'], c: ['d'], d: [] }, []],
])('the test itself judges %s', (_what, loads: Readonly<Record<string, readonly string[]>>, found) => {
  expect(circles(new Map(Object.entries(loads)))).toEqual(found);
});

test('a module that is loaded later counts, a type does not', () => {
  const code = [
    "import type { A } from './a.ts';",
    "import { b } from '../b.ts';",
    "export { c } from './c.ts';",
    "const d: import('./d.ts').D = await import('./e.ts');",
    "// import './f.ts'",
  ].join('\n');
  expect(loadedBy('src/x/y.ts', code)).toEqual(['src/b.ts', 'src/x/c.ts', 'src/x/e.ts']);
});
