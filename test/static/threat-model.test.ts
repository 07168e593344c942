import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const PROJECT = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(PROJECT, path), 'utf8');
/** Tests that the threat model names, each once. */
const named = new Set(read('docs/operate/threat-model.md').match(/\btest\/[\w./-]+/g));

test('every test that the threat model names is there', () => {
  expect(named.size).toBeGreaterThan(20);
  expect([...named].filter((path) => !path.endsWith('.test.ts') || !existsSync(join(PROJECT, path)))).toEqual([]);
});

test('the threat model names every hostile test', () => {
  const hostile = globSync('test/hostile/**/*.test.ts', { cwd: PROJECT });
  expect(hostile.length).toBeGreaterThan(10);
  expect(hostile.filter((path) => !named.has(path))).toEqual([]);
});

test.each([
  ['README.md', ['SECURITY.md', 'docs/operate/threat-model.md']],
  ['SECURITY.md', ['docs/operate/threat-model.md']],
  ['deploy/README.md', ['../SECURITY.md', '../docs/operate/threat-model.md']],
])('%s leads to it', (path, links) => {
  for (const link of links) expect(read(path)).toContain(`](${link})`);
});
