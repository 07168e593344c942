import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import picomatch from 'picomatch';
import { expect, test } from 'vitest';
import { ALSO_LONG, LONG_ALONE } from '../support/long-files.ts';
import { LONGEST } from '../support/longest-first.ts';

const project = resolve(import.meta.dirname, '../..');
const paths = readdirSync(join(project, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts'))
  .map((path) => `test/${path.replaceAll('\\', '/')}`);
const textOf = (path: string): string => readFileSync(join(project, path), 'utf8');
/** What a file asks that has tests for `npm run test:long`. The tests of the scripts are about the word alone. */
const ASKS = /\b(?:isLong|testInLong|describeOnDirectories)\b/;
const listed = [...ALSO_LONG.unit, ...ALSO_LONG.integration, ...LONG_ALONE];

test('npm run test:long runs each file with long tests, and each glob there has a file', () => {
  const isListed = picomatch(listed);
  const asking = paths.filter((path) => ASKS.test(textOf(path)) && !/^test\/(?:static|unit\/scripts)\//.test(path));
  expect(asking.length).toBeGreaterThan(25);
  expect(asking.filter((path) => !isListed(path))).toEqual([]);
  expect(listed.filter((glob) => !paths.some((path) => picomatch(glob)(path)))).toEqual([]);
});

test('the files that begin first are there', () => {
  expect(LONGEST.filter((path) => !paths.includes(path))).toEqual([]);
});

/** Files of `npm test` that start an API server of their own: some five seconds of a processor each, and more while it is asked. */
const MOST_PLANES = 43;

test(`at most ${MOST_PLANES} files of npm test start API servers of their own; others use the shared one`, () => {
  const isAlone = picomatch([...LONG_ALONE]);
  const starting = paths.filter(
    (path) => !isAlone(path) && /\b(?:startControlPlane|openKubernetesPool|describeOnClusters)\(/.test(textOf(path)),
  );
  expect(starting.length).toBeLessThanOrEqual(MOST_PLANES);
});
