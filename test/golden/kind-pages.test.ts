import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { compositionRoots } from '../../src/cli/roots.ts';
import { type CliRun, runCli } from '../support/cli.ts';

/** The pages of kinds and of RelayConfig: `fleetrelay validate` finds nothing in their examples. */

const reference = join(import.meta.dirname, '../../docs/reference');
const cwd = mkdtempSync(join(tmpdir(), 'fleetrelay-kinds-'));
afterAll(() => rmSync(cwd, { recursive: true }));

const pages = [
  ...readdirSync(join(reference, 'kinds')).flatMap((name) => (name === 'README.md' ? [] : [`kinds/${name}`])),
  'relay-config.md',
];

/** The manifests on a page. */
function examplesOn(page: string): readonly string[] {
  const text = readFileSync(join(reference, page), 'utf8');
  return [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, example = '']) => example);
}

function validate(text: string): Promise<CliRun> {
  writeFileSync(join(cwd, 'example.yaml'), text);
  return runCli(['validate', 'example.yaml'], { cwd, roots: compositionRoots });
}

test.each(pages)('%s has examples, and fleetrelay validate finds nothing in them', async (page) => {
  expect(examplesOn(page)).not.toEqual([]);
  for (const example of examplesOn(page)) {
    expect(await validate(example)).toEqual({
      ...{ code: 0, err: '', out: '0 errors, 0 warnings in 1 document of 1 file\n' },
    });
  }
});

test.each(pages)('a wrong field in an example of %s would be found', async (page) => {
  for (const example of examplesOn(page)) {
    expect((await validate(`${example}nonsense: true\n`)).out).toContain('nonsense is not a field that is known here');
  }
});
