import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { compositionRoots } from '../../src/cli/roots.ts';
import { runCli } from '../support/cli.ts';
import { createFleetWorld } from '../support/fleet-world.ts';
import { printsAsShown, stepsOf, withoutVarying } from '../support/page-session.ts';
import { runServer } from '../support/running-server.ts';
import { fakeApi } from '../support/server-api.ts';
import { parseArchive, unpackArchive } from '../support/txtar.ts';

/** What commands on pages print, from the files that stand there. */

const PAGES = join(import.meta.dirname, '../../docs');
const pageOf = (name: string): string => readFileSync(join(PAGES, name), 'utf8');

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
let checkout = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fleetrelay-guide-'));
  checkout = join(folder, 'checkout');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(checkout, path)), { recursive: true });
    writeFileSync(join(checkout, path), text);
  }
}

it('validate finds in the manifest of its page what the page shows', async () => {
  const page = pageOf('guides/validate.md');
  const files = filesOf(page);
  expect(Object.keys(files)).toEqual(['apps/shop/web.yaml']);
  write(files);
  const step = stepOf(page, 'fleetrelay validate apps');
  const parts: string[] = [];
  const stdout = { write: (text: string) => void parts.push(text), isTerminal: true, colour: false, columns: 200 };
  await runCli(['validate', 'apps'], { cwd: checkout, roots: compositionRoots, stdout });
  expect(linesOf(parts.join(''))).toEqual(step.output);
});

it.each([
  ['guides/teams.md', 'fleetrelay validate --config ../relay.yaml --source team-b'],
  ['domains/probes.md', 'fleetrelay inject -f deployment.yaml'],
  ['domains/mirrored-services.md', 'fleetrelay render repo --clusters clusters -o yaml', 'render/mirroring.txtar'],
])('%s: %s prints what the page shows', async (name, command, golden = '') => {
  const page = pageOf(name);
  write(filesOf(page));
  const { output } = stepOf(page, command);
  if (golden !== '') unpackArchive(parseArchive(readFileSync(join(import.meta.dirname, golden), 'utf8')), checkout);
  const { out, err } = await runCli(command.split(' ').slice(1), { cwd: checkout, roots: compositionRoots });
  expect(printsAsShown(output, out + err), out + err).toBe(true);
});

/** Pages whose commands tests type in a shell (`test/e2e/*-page*.test.ts`). */
const TYPED = ['start/try.md', 'start/first-fleet.md', 'start/kubernetes.md', 'guides/backup-and-restore.md'];
/** Pages about a fleet in another state than the fleet of the typed pages. */
const OTHER_FLEETS = ['concepts/safe-mode.md'];

it('other pages show what a command prints as the pages do whose commands are typed', () => {
  const typed = Map.groupBy(
    TYPED.flatMap((name) => stepsOf(pageOf(name))),
    ({ command }) => command,
  );
  const others = ['../README.md', ...globSync('{concepts,guides,operate,reference}/*.md', { cwd: PAGES })];
  const shown = others
    .filter((name) => ![...TYPED, ...OTHER_FLEETS].includes(name))
    .flatMap((name) => stepsOf(pageOf(name)).map((step) => ({ name, ...step })))
    .filter(({ command }) => typed.has(command));
  expect(shown.length).toBeGreaterThan(10);
  const different = shown.filter(
    ({ command, output }) => !typed.get(command)?.some((each) => printsAsShown(output, each.output.join('\n'))),
  );
  expect(different.map(({ name, line, command }) => `${name}:${line}: ${command}`)).toEqual([]);
});

/** Pages whose manifests are wrong on purpose, or of a kind that the page adds. */
const WRONG = ['guides/validate.md', 'development/adding-a-kind.md', 'development/adding-a-rule.md'];
const written = globSync('{start,concepts,guides,domains,operate,development}/*.md', { cwd: PAGES })
  .filter((name) => !WRONG.includes(name))
  .flatMap((name) =>
    [...pageOf(name).matchAll(/^(?:```yaml(?: \S+)?|cat > \S+ <<'EOF')\n(apiVersion: [\s\S]*?)^(?:```|EOF)$/gm)].map(
      ([, text = ''], index) => ({ name, index, text }),
    ),
  );

it('there are manifests on the pages', () => expect(written.length).toBeGreaterThan(12));

it.each(written)('manifest $index of $name is right', async ({ text }) => {
  const readStdin = async () => new TextEncoder().encode(text);
  const { code, out } = await runCli(['validate', '-'], { roots: compositionRoots, readStdin });
  expect([code, out]).toEqual([0, expect.stringMatching(/^0 errors/m)]);
});

it('explain --why-not says why the object of the page is not in the cluster', async () => {
  const page = pageOf('guides/explain.md');
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
