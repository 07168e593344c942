/** Plays seeds of the simulated fleet: `npm run sim -- --seeds N [--from S] [--steps N]`, or one with its trace: `--seed S`; `--help` tells more. */
import process from 'node:process';
import { parseArgs } from 'node:util';
import { type Played, type PlayOptions, playSeed } from './play.ts';

const USAGE = 'npm run sim -- [--seeds N] [--from S] [--steps N] | --seed S [--steps N]';
const HELP = `${USAGE}

Plays histories of a simulated fleet, one for each seed: servers, agents, clusters, repositories and people on a virtual
clock, with faults. Checkers look on; what they find is told with how to repeat it, and the exit code is 1.

  --seeds N  so many seeds (default: 200)
  --from S   the first of them (default: 1)
  --steps N  events of each world before it comes to rest (default: 2000)
  --seed S   this one seed, with everything that happens in it
  --plain    people only commit and approve by hand: no percentages in policies, no approvals by file, no suspensions
`;
const PROGRESS_MS = 1_000;

const OPTIONS = {
  seeds: { type: 'string', default: '200' },
  from: { type: 'string', default: '1' },
  steps: { type: 'string' },
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

function numberOf(option: 'seeds' | 'from' | 'steps' | 'seed'): number {
  const value = Number(values[option]);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`--${option} takes a whole number, not ${JSON.stringify(values[option])}; ${USAGE}`);
}

/** One seed with everything that happens in it. */
async function playOne(seed: number): Promise<boolean> {
  const played = await playSeed(seed, { ...how(), note: (line) => process.stdout.write(`${line}\n`) });
  process.stdout.write(`${describe(played)}\n`);
  return played.violations.length === 0;
}

async function playMany(from: number, seeds: number): Promise<boolean> {
  const began = process.hrtime.bigint();
  const seconds = (): number => Number(process.hrtime.bigint() - began) / 1e9;
  const faults = new Map<string, number>();
  const sum = { seeds: 0, steps: 0, commits: 0, writes: 0, hours: 0, failed: 0 };
  let said = 0;
  for (let seed = from; seed < from + seeds; seed += 1) {
    const played = await playSeed(seed, how());
    for (const [kind, times] of played.faults) faults.set(kind, (faults.get(kind) ?? 0) + times);
    sum.seeds += 1;
    sum.steps += played.steps;
    sum.commits += played.commits;
    sum.writes += played.writes;
    sum.hours += played.elapsed / 3_600_000;
    if (played.violations.length > 0) {
      sum.failed += 1;
      process.stdout.write(`${describe(played)}\n  to repeat it: npm run sim -- --seed ${seed}${howText()}\n`);
    }
    if (process.stderr.isTTY && seconds() * 1_000 - said > PROGRESS_MS) {
      said = seconds() * 1_000;
      process.stderr.write(`\r${sum.seeds} of ${seeds} seeds, ${sum.steps} steps, ${sum.failed} failed `);
    }
  }
  if (said > 0) process.stderr.write('\n');
  const lines = [...faults].sort(([a], [b]) => (a < b ? -1 : 1)).map(([kind, times]) => `  ${kind}: ${times}`);
  const took = seconds();
  process.stdout.write(
    [
      `${sum.seeds} seeds, ${sum.failed} failed: ${sum.steps} steps in ${took.toFixed(1)} s`,
      `  ${(sum.steps / took).toFixed(0)} steps/s, ${(sum.seeds / took).toFixed(2)} seeds/s, ${sum.hours.toFixed(1)} virtual hours`,
      `  ${sum.commits} commits of people, ${sum.writes} writes in clusters, faults:`,
      ...lines,
      '',
    ].join('\n'),
  );
  return sum.failed === 0;
}

function describe({ seed, setting, steps: taken, elapsed, commits, writes, violations }: Played): string {
  const head = `seed ${seed}: ${setting.servers} servers (${setting.shared ? 'shared store' : 'own store'}, lease in the ${setting.lease}), ${taken} steps, ${(elapsed / 1000).toFixed(0)} virtual seconds, ${commits} commits, ${writes} writes`;
  return [head, ...violations.slice(0, 5).map(({ checker, message }) => `  ${checker}: ${message}`)].join('\n');
}

function how(): PlayOptions {
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
  process.stderr.write(`sim: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
