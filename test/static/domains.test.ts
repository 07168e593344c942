import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { expect, test } from 'vitest';

/** The core knows no domain by name: the kinds of a domain are named in its own folder and where all kinds are. */

const project = join(import.meta.dirname, '../..');

/** A kind of a domain may be named in its folder, in `model`, in its decoder and their table, and where references of all kinds are. */
const PLACES = /^src\/(domains\/services\/|model\/|manifest\/kinds\/decoders\.ts$|validation\/across-files\/)/;

function sources(): readonly string[] {
  return readdirSync(join(project, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(project, join(entry.parentPath, entry.name)).split(sep).join('/'));
}

function namesServiceMirror(text: string): boolean {
  return /service-?mirror/i.test(text);
}

test('no file outside the domain of services names ServiceMirror', () => {
  const found = sources().filter(
    (file) => !PLACES.test(file) && namesServiceMirror(readFileSync(join(project, file), 'utf8')),
  );
  expect(found).toEqual([]);
});

test.each([
  "import { validate } from '../generated/service-mirror.js';",
  '// a ServiceMirror',
  "case 'ServiceMirror':",
])('the test itself would find %s', (code) => {
  expect(namesServiceMirror(code)).toBe(true);
});
