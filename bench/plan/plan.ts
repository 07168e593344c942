/** `npm run bench -- plan`: what a revision would do to a large fleet, from a recording of it. See README.md. */
import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CLUSTERS, DOCUMENTS, recordingLines } from './workload.ts';

const MEASURE = fileURLToPath(new URL('measure.ts', import.meta.url));
const RUNS = 3;

interface Figures {
  readonly baseMillis: number;
  readonly planMillis: number;
  readonly peakMiB: number;
  /** Of the plan as JSON. */
  readonly bytes: number;
}

export async function run(args: readonly string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'fleetrelay-bench-'));
  try {
    const file = join(folder, 'fleet.jsonl');
    await pipeline(Readable.from(recordingLines()), createWriteStream(file));
    const one = await best(file, 1);
    const all = await best(file, DOCUMENTS);
    const result = { clusters: CLUSTERS, documents: DOCUMENTS, ...one, everyFile: all };
    process.stdout.write(args.includes('--json') ? `${JSON.stringify(result, undefined, 2)}\n` : tableOf(one, all));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The quickest plan of some runs, each in a process of its own. */
async function best(file: string, changed: number): Promise<Figures> {
  const runs: Figures[] = [];
  for (let index = 0; index < RUNS; index += 1) {
    const { stdout } = await promisify(execFile)(process.execPath, [MEASURE, file, String(changed)]);
    runs.push(JSON.parse(stdout) as Figures);
  }
  return runs.reduce((a, b) => (b.planMillis < a.planMillis ? b : a));
}

function tableOf(one: Figures, all: Figures): string {
  const row = (title: string, of: (figures: Figures) => number): string =>
    `${title.padEnd(34)}${String(of(one)).padStart(12)}${String(of(all)).padStart(12)}\n`;
  return [
    `${'changed files'.padEnd(34)}${'1'.padStart(12)}${String(DOCUMENTS).padStart(12)}\n`,
    row('loading the base, ms', ({ baseMillis }) => baseMillis),
    row('the plan, ms', ({ planMillis }) => planMillis),
    row('peak memory, MiB', ({ peakMiB }) => peakMiB),
    row('the plan as JSON, bytes', ({ bytes }) => bytes),
  ].join('');
}
