import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { compositionRoots } from '../../src/cli/roots.ts';
import { runCli } from '../support/cli.ts';
import { createFleetWorld } from '../support/fleet-world.ts';
import { stepsOf, withoutVarying } from '../support/page-session.ts';
import { runServer } from '../support/running-server.ts';
import { fakeApi } from '../support/server-api.ts';

/** What commands on the guides print, from the files that stand there. */

const GUIDES = join(import.meta.dirname, '../../docs/guides');
const pageOf = (name: string): string => readFileSync(join(GUIDES, name), 'utf8');

/** The files of a page: blocks of code with a path after the language. */
function filesOf(page: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...page.matchAll(/^```yaml (\S+)\n([\s\S]*?)^```$/gm)].map(([, path = '', text = '']) => [path, text]),
  );
}

const linesOf = (printed: string): readonly string[] =>
  printed
    .split('\n')
    .map(withoutVarying)
    .filter((line) => line !== '');

/** The step of the page that types this command. */
function stepOf(page: string, command: string) {
  const step = stepsOf(page).find((each) => each.command === command);
  if (step === undefined) throw new Error(`the page does not type ${command}`);
  return { ...step, output: linesOf(step.output.join('\n')) };
}

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fleetrelay-guide-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('validate finds in the manifest of its page what the page shows', async () => {
  const page = pageOf('validate.md');
  const files = filesOf(page);
  expect(Object.keys(files)).toEqual(['apps/shop/web.yaml']);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const step = stepOf(page, 'fleetrelay validate apps');
  const parts: string[] = [];
  const stdout = { write: (text: string) => void parts.push(text), isTerminal: true, colour: false, columns: 200 };
  await runCli(['validate', 'apps'], { cwd: folder, roots: compositionRoots, stdout });
  expect(linesOf(parts.join(''))).toEqual(step.output);
});

it('explain --why-not says why the object of the page is not in the cluster', async () => {
  const page = pageOf('explain.md');
  const step = stepOf(page, 'fleetrelay explain east cm/web/settings --why-not');
  const world = await createFleetWorld();
  world.source.push(filesOf(page));
  world.agent('east').connect();
  await world.settle();
  const { url, stop } = await runServer({ api: { ...fakeApi(), ...world.server.api } }, { people: [] });
  try {
    const run = await runCli(step.command.split(' ').slice(1), { env: { FLEETRELAY_API: url } });
    expect(run.err).toBe('');
    // The revisions of this world have short names.
    expect(linesOf(run.out.replaceAll(/@r\d+\b/g, `@${'0'.repeat(12)}`))).toEqual(step.output);
  } finally {
    await stop();
  }
});
