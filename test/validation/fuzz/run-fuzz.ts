import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import type { FuzzDefect, FuzzTask } from './fuzz-thread.ts';

export interface FuzzRun {
  readonly count: number;
  readonly seed: number;
  /** The index of the first input. */
  readonly from?: number;
  readonly progress?: (done: number) => void;
}

const project = join(import.meta.dirname, '../../..');
const FOLDERS = ['test/validation/refused', 'test/validation/accepted', 'examples'].map((folder) =>
  join(project, folder),
);
/** One input may take no longer, on a machine that does other work as well. */
const LONGEST_SECONDS = 60;
/** What the validator may hold, in MiB: a small input needs a few, the schemas of Kubernetes about thirty. */
const HEAP_MIB = 256;

/** Checks inputs in a thread of bounded memory; an input that takes too long, or the end of the thread, is a defect. */
export async function runFuzz({ count, seed, from = 0, progress }: FuzzRun) {
  const state = new SharedArrayBuffer(12);
  const shared = new Int32Array(state);
  const defects: FuzzDefect[] = [];
  const scratch = mkdtempSync(join(tmpdir(), 'fleetrelay-fuzz-'));
  const task: FuzzTask = { folders: FOLDERS, seed, from, count, scratch, state };
  const worker = new Worker(new URL('fuzz-thread.ts', import.meta.url), {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
  });
  worker.on('message', (defect: FuzzDefect) => defects.push(defect));
  const fail = (what: string): void => {
    defects.push({ index: Atomics.load(shared, 0), what, text: '' });
  };
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  worker.once('error', (error) => fail(String(error)));
  worker.once('exit', () => resolve());
  const clock = createSystemClock();
  let before = -1;
  let isOver = false;
  const watch = async (): Promise<void> => {
    for (let quiet = 0; !isOver; quiet += 1) {
      await Promise.race([clock.sleep(1_000), ended]);
      const at = Atomics.load(shared, 0);
      progress?.(at - from);
      if (at !== before) quiet = 0;
      before = at;
      if (quiet < LONGEST_SECONDS) continue;
      fail(`it takes longer than ${LONGEST_SECONDS} s`);
      await worker.terminate();
    }
  };
  const watching = watch();
  await ended;
  isOver = true;
  await watching;
  rmSync(scratch, { recursive: true });
  return { findings: Atomics.load(shared, 1), findingsAcross: Atomics.load(shared, 2), defects };
}
