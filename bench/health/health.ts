import { execFile } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Figures, Measurement } from './measure.ts';
import { dataplaneCount, serviceCount } from './workload.ts';

/** Longest time that a measurement may take, milliseconds. */
const deadline = 300_000;

/** Measures the engine in a process of its own and prints a table, or with `--json` one object. */
export async function run(args: readonly string[]): Promise<void> {
  const unknown = args.find((arg) => arg !== '--json');
  if (unknown !== undefined) {
    process.stderr.write(`bench health: unknown argument ${JSON.stringify(unknown)}; there is only --json\n`);
    process.exitCode = 2;
    return;
  }
  const script = fileURLToPath(new URL('./measure.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', script], { timeout: deadline });
  const figures = report(JSON.parse(stdout) as Measurement);
  process.stdout.write(args.includes('--json') ? `${JSON.stringify(figures, null, 2)}\n` : table(figures));
}

function report({ spread, oneService }: Measurement) {
  return {
    dataplanes: dataplaneCount,
    services: serviceCount,
    updateMicros: rounded(spread.updateMicros),
    oneServiceMicros: rounded(oneService.updateMicros),
    fullRecomputeMillis: Math.round(spread.fullRecomputeMillis),
    bytesPerDataplane: Math.round(spread.bytesPerDataplane),
  };
}

function rounded({ p50, p99 }: Figures['updateMicros']) {
  return { p50: Math.round(p50), p99: Math.round(p99) };
}

function table(figures: ReturnType<typeof report>): string {
  const { dataplanes, services, updateMicros, oneServiceMicros, fullRecomputeMillis, bytesPerDataplane } = figures;
  const row = (label: string, value: number): string => `${label.padEnd(50)}${String(value).padStart(10)}\n`;
  return [
    `${dataplanes} data planes, half of them Pods, in ${services} services; one report, one service and one endpoint follow\n\n`,
    row('update p50, microseconds', updateMicros.p50),
    row('update p99, microseconds', updateMicros.p99),
    row('all in one service: update p50, microseconds', oneServiceMicros.p50),
    row('all in one service: update p99, microseconds', oneServiceMicros.p99),
    row('full recompute, ms', fullRecomputeMillis),
    row('state, bytes per data plane', bytesPerDataplane),
  ].join('');
}
