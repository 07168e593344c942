import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { compositionRoots } from '../../src/cli/roots.ts';
import { compareText } from '../../src/model/json.ts';
import { runCli } from '../support/cli.ts';

/**
 * A case is a folder: `repo`, and what else there is of `clusters`, `status` and `args` (more of the command line; `OUT`
 * stands for an output folder). In `expected`: `output.json`, `stderr.txt`, `exit-code.txt` if it is not 0, and the output
 * folder as `objects`.
 */
const folder = join(import.meta.dirname, 'render');
const cases = readdirSync(folder);
const AT = '2026-01-01T00:00:00Z';

const made: string[] = [];
afterEach(() => {
  for (const path of made.splice(0)) rmSync(path, { recursive: true });
});

describe('golden cases of render: input folder → expected folder', () => {
  it.each(cases)('%s', async (name) => {
    const at = join(folder, name);
    const found = await runCase(at);
    for (const [path, text] of found) await expect(text).toMatchFileSnapshot(join(at, 'expected', path));
    expect(filesIn(join(at, 'expected')).filter((path) => !found.has(path))).toEqual([]);
  });

  it('the order of the files in their folders does not matter', async () => {
    const at = join(folder, 'placement');
    const copy = temporaryFolder();
    for (const path of filesIn(at).reverse()) cpSync(join(at, path), join(copy, path), { recursive: true });
    expect(await runCase(copy)).toEqual(await runCase(at));
  });
});

/** What a case gives, by its path below `expected`. */
async function runCase(cwd: string): Promise<ReadonlyMap<string, string>> {
  const out = join(temporaryFolder(), 'out');
  const more = existsSync(join(cwd, 'args')) ? readFileSync(join(cwd, 'args'), 'utf8').trim().split(/\s+/) : [];
  const args = [
    ...['render', 'repo'],
    ...(existsSync(join(cwd, 'clusters')) ? ['--clusters', 'clusters'] : []),
    ...(existsSync(join(cwd, 'status')) ? ['--status', 'status'] : []),
    ...(more.includes('--at') ? [] : ['--at', AT]),
    ...more.map((arg) => (arg === 'OUT' ? out : arg)),
  ];
  const run = await runCli(args, { cwd, roots: compositionRoots });
  const objects = existsSync(out) ? filesIn(out) : [];
  return new Map([
    ...(run.out === '' ? [] : ([['output.json', run.out]] as const)),
    ...(run.err === '' ? [] : ([['stderr.txt', run.err]] as const)),
    ...(run.code === 0 ? [] : ([['exit-code.txt', `${run.code}\n`]] as const)),
    ...objects.map((path) => [`objects/${path}`, readFileSync(join(out, path), 'utf8')] as const),
  ]);
}

function temporaryFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'fleetrelay-render-'));
  made.push(path);
  return path;
}

function filesIn(at: string): string[] {
  if (!existsSync(at)) return [];
  return readdirSync(at, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(at, join(entry.parentPath, entry.name)))
    .sort(compareText);
}
