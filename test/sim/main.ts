/** Plays seeds of the simulated fleet: `npm run sim -- --seeds N [--from S] [--jobs N]`, or one with its trace: `--seed S`; `--help` tells more. */
import { availableParallelism } from 'node:os';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { playInOrder } from './jobs.ts';
import { type Played, type PlayOptions, playSeed } from './play.ts';
import { createTally } from './tally.ts';

const USAGE = 'npm run sim -- [--seeds N] [--from S] [--steps N] [--jobs N] | --seed S [--steps N]';
const HELP = `${USAGE}

Plays histories of a simulated fleet, one for each seed: servers, agents, clusters, repositories and people on a virtual
clock, with faults, and in some worlds one hostile agent. Checkers look on; what they find is told in the order of the
seeds, with how to repeat it, and the exit code is 1. An interrupt ends it with the sum of what was played (code 130).

  --seeds N  number of seeds (default: 200)
  --from S   the first of them (default: 1)
  --steps N  events of each world before it comes to rest (default: 2000)
  --jobs N   threads that play at once (default: one for each processor)
  --seed S   this one seed, with everything that happens in it
  --plain    people only commit and approve by hand: no percentages in policies, no approvals by file, no suspensions
`;

const OPTIONS = {
  seeds: { type: 'string', default: '200' },
  from: { type: 'string', default: '1' },
  steps: { type: 'string' },
  jobs: { type: 'string', default: `${availableParallelism()}` },
  seed: { type: 'string' },
  plain: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const values = readOptions();

function readOptions() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    process.stderr.write(`sim: ${error instanceof Error ? error.message : String(error)}\n${USAGE}\n`);
    return process.exit(2);
  }
}

function numberOf(option: 'seeds' | 'from' | 'steps' | 'seed' | 'jobs', least = 0): number {
  const value = Number(values[option]);
  if (Number.isSafeInteger(value) && value >= least) return value;
  const most = least === 0 ? '' : ` of at least ${least}`;
  throw new Error(`--${option} takes a whole number${most}, not ${JSON.stringify(values[option])}; ${USAGE}`);
}

/** One seed with everything that happens in it. */
async function playOne(seed: number): Promise<boolean> {
  const played = await playSeed(seed, { ...how(), note: (line) => process.stdout.write(`${line}\n`) });
  process.stdout.write(`${describe(played)}\n`);
  return played.violations.length === 0;
}

async function playMany(from: number, seeds: number): Promise<boolean> {
  const tally = createTally(seeds);
  const onInterrupt = (): never => {
    process.stdout.write(`interrupted after seed ${from + tally.played() - 1}\n${tally.sum()}`);
    return process.exit(130);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, onInterrupt);
  await playInOrder({ from, seeds, jobs: numberOf('jobs', 1), how: how() }, (played) => {
    tally.add(played);
    if (played.violations.length === 0) return;
    process.stdout.write(`${describe(played)}\n  to repeat it: npm run sim -- --seed ${played.seed}${howText()}\n`);
  });
  process.stdout.write(tally.sum());
  return tally.failed() === 0;
}

function describe({ seed, setting, steps: taken, elapsed, commits, writes, violations }: Played): string {
  const head = `seed ${seed}: ${setting.servers} servers (${setting.shared ? 'shared store' : 'own store'}, lease in the ${setting.lease}), ${taken} steps, ${(elapsed / 1000).toFixed(0)} virtual seconds, ${commits} commits, ${writes} writes`;
  return [head, ...violations.slice(0, 5).map(({ checker, message }) => `  ${checker}: ${message}`)].join('\n');
}

function how(): Pick<PlayOptions, 'steps' | 'plain'> {
  return { plain: values.plain, ...(values.steps === undefined ? {} : { steps: numberOf('steps') }) };
}

function howText(): string {
  return `${values.steps === undefined ? '' : ` --steps ${values.steps}`}${values.plain ? ' --plain' : ''}`;
}

async function main(): Promise<number> {
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const isFine =
    values.seed === undefined ? await playMany(numberOf('from'), numberOf('seeds')) : await playOne(numberOf('seed'));
  return isFine ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  const why = error instanceof Error && error.cause !== undefined ? `: ${String(error.cause)}` : '';
  process.stderr.write(`sim: ${error instanceof Error ? error.message : String(error)}${why}\n`);
  process.exitCode = 2;
}
