import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { describe, expect, test } from 'vitest';
import { domains } from '../../src/domains/domains.ts';

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

/** The kinds of each domain: those that it decodes. */
const kindsOf = await Promise.all(
  domains.map(async ({ name, manifest }) => ({ name, kinds: Object.keys((await manifest()).decoders) })),
);
/** Besides the domains: the registry, and references between the files of a repository. */
const MAY_BRANCH = /^src\/(domains\/|model\/engine-kinds\.ts$|validation\/across-files\/)/;

/** Whether code, comments left out, has the kind as a text or a member of its own: prose in a message is neither. */
function branchesOn(kind: string, text: string): boolean {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '$1');
  return new RegExp(`(['"\`])(?:[\\w.]+/)?${kind}\\1|\\.${kind}\\b|(?:^|[{,\\s])${kind}\\??:`, 'm').test(code);
}

describe('no file of the core branches on a kind', () => {
  test.each(kindsOf)('of the domain $name', ({ kinds }) => {
    expect(kinds).not.toEqual([]);
    const found = sources()
      .filter((file) => !MAY_BRANCH.test(file))
      .filter((file) => kinds.some((kind) => branchesOn(kind, readFileSync(join(project, file), 'utf8'))));
    expect(found).toEqual([]);
  });

  test.each([
    "if (kind === 'Shoot') return;",
    "case 'core.gardener.cloud/Shoot':",
    'const FIELDS = { Pod: [], Shoot: [] };',
    'return rows.Shoot;',
  ])('the test itself would find %s', (code) => {
    expect(branchesOn('Shoot', code)).toBe(true);
  });

  test.each(["'what is made of live state: the care of Shoots'", "// as 'Shoot' does"])('prose is none: %s', (code) => {
    expect(branchesOn('Shoot', code)).toBe(false);
  });
});
