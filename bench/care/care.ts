import { execFile } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Flips, Measurement } from './measure.ts';
import { shootCount, wideNodeCount } from './workload.ts';

/** Longest time that a measurement may take, milliseconds. */
const deadline = 300_000;

/** Measures the care of Shoots in a process of its own and prints a table, or with `--json` one object. */
export async function run(args: readonly string[]): Promise<void> {
  const unknown = args.find((arg) => arg !== '--json');
  if (unknown !== undefined) {
    process.stderr.write(`bench care: unknown argument ${JSON.stringify(unknown)}; there is only --json\n`);
    process.exitCode = 2;
    return;
  }
  const script = fileURLToPath(new URL('./measure.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', script], { timeout: deadline });
  const figures = report(JSON.parse(stdout) as Measurement);
  process.stdout.write(args.includes('--json') ? `${JSON.stringify(figures, null, 2)}\n` : table(figures));
}

function report({ flipMicros, wideMicros, thresholdMillis, syncMillis, bytesPerShoot, unchangedWrites }: Measurement) {
  return {
    ...{ shoots: shootCount, flipMicros: rounded(flipMicros), wideMicros: rounded(wideMicros) },
    wideRatio: Math.round((100 * wideMicros.p50) / flipMicros.p50) / 100,
    thresholdMillis: Math.round(thresholdMillis),
    syncMillis: Math.round(syncMillis),
    bytesPerShoot: Math.round(bytesPerShoot),
    unchangedWrites,
  };
}

function rounded({ p50, p99 }: Flips): Flips {
  return { p50: Math.round(p50), p99: Math.round(p99) };
}

function table(figures: ReturnType<typeof report>): string {
  const row = (label: string, value: number): string => `${label.padEnd(50)}${String(value).padStart(10)}\n`;
  return [
    `${figures.shoots} Shoots of 100 objects in 10 Seeds; one Node changes, and one status follows\n\n`,
    row('a change p50, microseconds', figures.flipMicros.p50),
    row('a change p99, microseconds', figures.flipMicros.p99),
    row(`with ${wideNodeCount} Nodes: p50, microseconds`, figures.wideMicros.p50),
    row(`with ${wideNodeCount} Nodes: p99, microseconds`, figures.wideMicros.p99),
    row('ratio of the two p50', figures.wideRatio),
    row('all thresholds pass at once, ms', figures.thresholdMillis),
    row('all Shoots are looked at anew, ms', figures.syncMillis),
    row('state, bytes per Shoot', figures.bytesPerShoot),
    row('statuses that an unchanged snapshot changes', figures.unchangedWrites),
  ].join('');
}
