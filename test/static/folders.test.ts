import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const project = resolve(import.meta.dirname, '../..');
/** Node's own `mkdir` with `recursive` never returns below `/proc`: `makeFolders` is the one way. */
const OWN_MKDIR = /\bmkdir(?:Sync)?\([^)]*recursive/;

test('folders of the product are made by the function that always returns', () => {
  const files = readdirSync(join(project, 'src'), { recursive: true, encoding: 'utf8' });
  const sources = files.filter((path) => path.endsWith('.ts'));
  expect(sources.length).toBeGreaterThan(500);
  expect(sources.filter((path) => OWN_MKDIR.test(readFileSync(join(project, 'src', path), 'utf8')))).toEqual([]);
  expect('await mkdir(folder, { recursive: true })').toMatch(OWN_MKDIR);
});
