/** `npm run bench -- validate`: `fleetrelay validate` as it is installed, beside kubeconform. See README.md. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { kubeconformProgram } from '../../scripts/local/kubeconform.ts';
import { writeJsonSchemas } from './json-schemas.ts';
import { DOCUMENTS, writeManifests } from './workload.ts';

const RUNS = 9;
const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const FIGURES = fileURLToPath(new URL('../render/figures.ts', import.meta.url));

interface Round {
  readonly nodeMillis: number;
  readonly oneFileMillis: number;
  readonly fullMillis: number;
  readonly kubeconformMillis: number;
}

export async function run(args: readonly string[]): Promise<void> {
  const kubeconform = await kubeconformProgram(process.env);
  const folder = await mkdtemp(join(tmpdir(), 'fleetrelay-bench-'));
  try {
    const repository = join(folder, 'repository');
    const bytes = writeManifests(repository);
    const template = await writeJsonSchemas(join(folder, 'schemas'));
    await install(join(folder, 'installed'));
    const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, 'compiled') };
    const validate = (path: string) =>
      timed(process.execPath, [join(folder, 'installed/bin/fleetrelay.cjs'), 'validate', path], env);
    const rounds: Round[] = [];
    // In turn, so that other work on the machine meets all of them. The first round compiles, as after an installation.
    for (let index = 0; index <= RUNS; index += 1) {
      const round = {
        nodeMillis: await timed(process.execPath, ['-e', '0'], env),
        oneFileMillis: await validate(join(repository, 'team-0/app-0/deployment.yaml')),
        kubeconformMillis: await timed(
          kubeconform,
          ['-strict', '-summary', '-schema-location', template, repository],
          env,
        ),
        fullMillis: await validate(repository),
      };
      if (index > 0) rounds.push(round);
    }
    const peakMiB = await peakOf(folder, repository, env);
    const result = {
      ...{ documents: DOCUMENTS, bytes, processors: availableParallelism(), load: loadavg()[0] },
      nodeMillis: median(rounds.map(({ nodeMillis }) => nodeMillis)),
      oneFileMillis: median(rounds.map(({ oneFileMillis }) => oneFileMillis)),
      fullMillis: median(rounds.map(({ fullMillis }) => fullMillis)),
      kubeconformMillis: median(rounds.map(({ kubeconformMillis }) => kubeconformMillis)),
      ratio: Math.round(100 * median(rounds.map((round) => round.fullMillis / round.kubeconformMillis))) / 100,
      peakMiB,
      rounds,
    };
    process.stdout.write(args.includes('--json') ? `${JSON.stringify(result, undefined, 2)}\n` : tableOf(result));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Makes the folder of an installed package: nothing but what ships. */
async function install(folder: string): Promise<void> {
  mkdirSync(join(folder, 'bin'), { recursive: true });
  cpSync(join(PROJECT, 'bin/fleetrelay.cjs'), join(folder, 'bin/fleetrelay.cjs'));
  cpSync(join(PROJECT, 'package.json'), join(folder, 'package.json'));
  await timed(process.execPath, [join(PROJECT, 'scripts/build.ts'), join(folder, 'dist')], process.env);
}

/** The most memory that the check of all files ever had resident, all threads together. */
async function peakOf(folder: string, repository: string, env: NodeJS.ProcessEnv): Promise<number> {
  const figures = join(folder, 'figures.json');
  await timed(process.execPath, [FIGURES, join(folder, 'installed/dist/cli.js'), figures, 'validate', repository], env);
  return (JSON.parse(await readFile(figures, 'utf8')) as { peakMiB: number }).peakMiB;
}

/** Runs a program to its end, which must be a success; in milliseconds. */
async function timed(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const begun = performance.now();
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'], env, cwd: PROJECT });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const [code] = await once(child, 'close');
  const millis = performance.now() - begun;
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${output.slice(-2_000)}`);
  return Math.round(millis);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}

function tableOf(result: Round & { readonly ratio: number; readonly peakMiB: number }): string {
  const row = (title: string, figure: number): string => `${title.padEnd(34)}${String(figure).padStart(8)}\n`;
  return [
    row('Node.js alone, ms', result.nodeMillis),
    row('one file, ms', result.oneFileMillis),
    row('all files, ms', result.fullMillis),
    row('all files by kubeconform, ms', result.kubeconformMillis),
    row('ratio', result.ratio),
    row('peak memory, MiB', result.peakMiB),
  ].join('');
}
