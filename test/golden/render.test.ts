import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { compositionRoots } from '../../src/cli/roots.ts';
import { compareText } from '../../src/model/text/json.ts';
import { runCli } from '../support/cli.ts';
import { type Archive, formatArchive, parseArchive, unpackArchive } from '../support/txtar.ts';

/**
 * A case is one archive: the folder `repo`, and what else there is of `clusters`, `status` and `args` (more of the command
 * line; `OUT` stands for an output folder). In `expected`: `output.json`, `stderr.txt`, `exit-code.txt` if it is not 0, and
 * the output folder as `objects`.
 */
const folder = join(import.meta.dirname, 'render');
const cases = readdirSync(folder);
const AT = '2026-01-01T00:00:00Z';

const made: string[] = [];
afterEach(() => {
  for (const path of made.splice(0)) rmSync(path, { recursive: true });
});

describe('golden cases of render: input → expected', () => {
  it.each(cases)('%s', async (name) => {
    const input = inputOf(name);
    await expect(formatArchive([...input, ...(await runCase(input))])).toMatchFileSnapshot(join(folder, name));
  });

  it('the order of the files in their folders does not matter', async () => {
    const input = inputOf('placement.txtar');
    expect(await runCase(new Map([...input].reverse()))).toEqual(await runCase(input));
  });
});

function inputOf(name: string): Archive {
  const files = parseArchive(readFileSync(join(folder, name), 'utf8'));
  return new Map([...files].filter(([path]) => !path.startsWith('expected/')));
}

/** What a case gives, by its path. */
async function runCase(input: Archive): Promise<Archive> {
  const [cwd, out] = [temporaryFolder(), join(temporaryFolder(), 'out')];
  unpackArchive(input, cwd);
  const more = input.get('args')?.trim().split(/\s+/) ?? [];
  const args = [
    ...['render', 'repo'],
    ...(existsSync(join(cwd, 'clusters')) ? ['--clusters', 'clusters'] : []),
    ...(existsSync(join(cwd, 'status')) ? ['--status', 'status'] : []),
    ...(more.includes('--at') ? [] : ['--at', AT]),
    ...more.map((arg) => (arg === 'OUT' ? out : arg)),
  ];
  const run = await runCli(args, { cwd, roots: compositionRoots });
  const objects = existsSync(out) ? filesIn(out) : [];
  const found = [
    ...(run.code === 0 ? [] : ([['exit-code.txt', `${run.code}\n`]] as const)),
    ...objects.map((path) => [`objects/${path}`, readFileSync(join(out, path), 'utf8')] as const),
    ...(run.out === '' ? [] : ([['output.json', run.out]] as const)),
    ...(run.err === '' ? [] : ([['stderr.txt', run.err]] as const)),
  ];
  return new Map(found.map(([path, text]) => [`expected/${path}`, text]));
}

function temporaryFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'fleetrelay-render-'));
  made.push(path);
  return path;
}

function filesIn(at: string): string[] {
  return readdirSync(at, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(at, join(entry.parentPath, entry.name)))
    .sort(compareText);
}
