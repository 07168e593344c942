import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { expect, test } from 'vitest';
import { retiredIn } from './words.ts';

const project = join(import.meta.dirname, '../..');
const PLACES = ['src', 'test', 'scripts', 'bench', 'schemas', 'deploy', 'docs', 'examples'];
const PAGES = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md'];
const TEXTS = /\.(ts|md|json|ya?ml|proto)$/;

function files(): readonly string[] {
  const found = PLACES.flatMap((place) =>
    readdirSync(join(project, place), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && TEXTS.test(entry.name))
      .map((entry) => relative(project, join(entry.parentPath, entry.name)).split(sep).join('/')),
  );
  // The list itself names the words.
  return [...found, ...PAGES].filter((file) => !file.startsWith('test/static/words.'));
}

test('no retired word is used', () => {
  expect(files().flatMap((file) => retiredIn(file, readFileSync(join(project, file), 'utf8')))).toEqual([]);
});

test.each([
  'const rivals = 1;',
  '// the rival of it',
  'rivalOf(key)',
  "role: 'clerk'",
  'stageClearances()',
  'lastReadPolicy',
  '// Somebody else has the object.',
  'for whoever asks',
  "throw new Error('nobody leads')",
  '/** So many objects are listed. */',
  ' * The stamp is those\n * of others.',
  '/** As of {@link Stamp}. */',
])('the test itself would find %s', (text) => {
  expect(retiredIn('src/x.ts', text)).toHaveLength(1);
});

test('the glossary has at most 40 rows', () => {
  const page = readFileSync(join(project, 'docs/concepts/glossary.md'), 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith('| '));
  expect(rows.length - 1).toBeGreaterThan(0);
  expect(rows.length - 1).toBeLessThanOrEqual(40);
});
