import { execFile } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Figures, Measurement } from './measure.ts';

/** Longest time that a measurement may take, milliseconds. */
const deadline = 300_000;

/** Measures the kernel in a process of its own and prints a table, or with `--json` one object. */
export async function run(args: readonly string[]): Promise<void> {
  const unknown = args.find((arg) => arg !== '--json');
  if (unknown !== undefined) {
    process.stderr.write(`bench engine: unknown argument ${JSON.stringify(unknown)}; there is only --json\n`);
    process.exitCode = 2;
    return;
  }
  const script = fileURLToPath(new URL('./measure.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', script], { timeout: deadline });
  const measurement = JSON.parse(stdout) as Measurement;
  process.stdout.write(
    args.includes('--json') ? `${JSON.stringify(report(measurement), null, 2)}\n` : table(measurement),
  );
}

/** The figures that goals are set for, rounded, with the floor's beside them. */
function report({ services, clusters, outputs, kernel, floor }: Measurement) {
  return {
    services,
    clusters,
    outputs,
    ...rounded(kernel),
    floor: rounded(floor),
    ratios: {
      fullRecomputeToUpdate: Math.round((kernel.fullRecomputeMillis * 1000) / kernel.updateMicros.p50),
      updateToFloor: round(kernel.updateMicros.p50 / floor.updateMicros.p50),
      bytesToFloor: round(kernel.bytesPerService / floor.bytesPerService),
      fullRecomputeToFloor: round(kernel.fullRecomputeMillis / floor.fullRecomputeMillis),
    },
  };
}

function rounded({ updateMicros, bytesPerService, loadMillis, fullRecomputeMillis }: Figures) {
  return {
    updateMicros: { p50: round(updateMicros.p50), p99: round(updateMicros.p99) },
    bytesPerService: Math.round(bytesPerService),
    loadMillis: Math.round(loadMillis),
    fullRecomputeMillis: Math.round(fullRecomputeMillis),
  };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function table(measurement: Measurement): string {
  const { kernel, floor } = measurement;
  const { ratios, services, clusters, outputs } = report(measurement);
  const row = (label: string, pick: (figures: Figures) => number, digits: number): string => {
    const ratio = (pick(kernel) / pick(floor)).toFixed(1);
    const cells = [pick(kernel).toFixed(digits), pick(floor).toFixed(digits), ratio];
    return `${label.padEnd(36)}${cells.map((cell) => cell.padStart(10)).join('')}\n`;
  };
  return [
    `${services} services in ${clusters} clusters, ${outputs} outputs; one service changes, 10 outputs follow\n\n`,
    `${''.padEnd(36)}${['kernel', 'floor', 'ratio'].map((cell) => cell.padStart(10)).join('')}\n`,
    row('update p50, microseconds', (figures) => figures.updateMicros.p50, 1),
    row('update p99, microseconds', (figures) => figures.updateMicros.p99, 1),
    row('state, bytes per service', (figures) => figures.bytesPerService, 0),
    row('load cluster by cluster, ms', (figures) => figures.loadMillis, 0),
    row('full recompute, ms', (figures) => figures.fullRecomputeMillis, 0),
    `\na full recompute costs as much as ${ratios.fullRecomputeToUpdate} updates\n`,
  ].join('');
}
