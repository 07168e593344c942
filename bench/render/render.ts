/** `npm run bench -- render`: `fleetrelay render` of a large fleet, as a process. See README.md. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { CLUSTERS, DOCUMENTS, OUTPUTS, writeRepository } from './workload.ts';

const RUNS = 3;
const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const FIGURES = fileURLToPath(new URL('figures.ts', import.meta.url));

interface Figures {
  readonly millis: number;
  readonly cpuSeconds: number;
  readonly mainSeconds: number;
  readonly peakMiB: number;
}

export async function run(args: readonly string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'fleetrelay-bench-'));
  try {
    const repository = join(folder, 'repository');
    await writeRepository(repository);
    await ended(process.execPath, [join(PROJECT, 'scripts/build.ts'), join(folder, 'dist')]);
    const all: Figures[] = [];
    // The first run compiles, as the first call after an installation does; it is not counted.
    for (let index = 0; index <= RUNS; index += 1) {
      const figures = await render(folder, repository);
      if (index > 0) all.push(figures);
    }
    await checkOutput(join(folder, 'output.json'));
    const best = all.reduce((a, b) => (b.millis < a.millis ? b : a));
    const result = { documents: DOCUMENTS, clusters: CLUSTERS, outputs: OUTPUTS, ...best, runs: all };
    process.stdout.write(args.includes('--json') ? `${JSON.stringify(result, undefined, 2)}\n` : tableOf(all));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Runs the bundle once, its output into a file. */
async function render(folder: string, repository: string): Promise<Figures> {
  const figures = join(folder, 'figures.json');
  await using output = await open(join(folder, 'output.json'), 'w');
  const begun = performance.now();
  await ended(
    process.execPath,
    [FIGURES, join(folder, 'dist/cli.js'), figures, 'render', repository, '--at', '2026-01-01T00:00:00Z'],
    output.fd,
    { ...process.env, NODE_COMPILE_CACHE: join(folder, 'compiled') },
  );
  const millis = Math.round(performance.now() - begun);
  return { millis, ...(JSON.parse(await readFile(figures, 'utf8')) as Omit<Figures, 'millis'>) };
}

async function ended(
  program: string,
  args: readonly string[],
  stdout: number | 'ignore' = 'ignore',
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  const child = spawn(program, args, { stdio: ['ignore', stdout, 'inherit'], env, cwd: PROJECT });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}`);
}

async function checkOutput(file: string): Promise<void> {
  const { outputs } = JSON.parse(await readFile(file, 'utf8')) as { outputs: Record<string, readonly unknown[]> };
  const found = Object.values(outputs).reduce((sum, objects) => sum + objects.length, 0);
  if (found !== OUTPUTS) throw new Error(`${found} outputs instead of ${OUTPUTS}`);
}

function tableOf(all: readonly Figures[]): string {
  const row = (title: string, of: (figures: Figures) => number): string =>
    `${title.padEnd(34)}${all.map((figures) => String(of(figures)).padStart(8)).join('')}\n`;
  return [
    row('whole command, ms', ({ millis }) => millis),
    row('processor time, s', ({ cpuSeconds }) => cpuSeconds),
    row('of it the main thread, s', ({ mainSeconds }) => mainSeconds),
    row('peak memory, MiB', ({ peakMiB }) => peakMiB),
  ].join('');
}
