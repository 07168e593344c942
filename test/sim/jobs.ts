import { Worker } from 'node:worker_threads';
import type { Played, PlayOptions } from './play.ts';

export interface Seeds {
  readonly from: number;
  readonly seeds: number;
  /** Threads that play at once. */
  readonly jobs: number;
  /** Each thread gets a copy: what can be copied, without functions. */
  readonly how: Pick<PlayOptions, 'steps' | 'plain'>;
}

/** Memory for new values of each thread, in MiB: a small one is collected for a tenth of the time. */
const YOUNG_MIB = 64;

/**
 * Plays seeds in threads, and tells of each in the order of the seeds, whatever their number. Rejects with the seed if a thread
 * fails.
 */
export async function playInOrder({ from, seeds, jobs, how }: Seeds, tell: (played: Played) => void): Promise<void> {
  const early = new Map<number, Played>();
  let [next, due] = [from, from];
  const take = (played: Played): void => {
    early.set(played.seed, played);
    for (let ready = early.get(due); ready !== undefined; ready = early.get(due)) {
      early.delete(due);
      due += 1;
      tell(ready);
    }
  };
  const run = (): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const worker = new Worker(new URL('worker.ts', import.meta.url), {
      workerData: how,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
    });
    let seed = next;
    const goOn = (): void => {
      if (next >= from + seeds) {
        resolve();
        return;
      }
      seed = next;
      next += 1;
      worker.postMessage(seed);
    };
    worker.on('message', (played: Played) => {
      take(played);
      goOn();
    });
    worker.on('error', (error) => reject(new Error(`seed ${seed} could not be played`, { cause: error })));
    worker.on('exit', (code) => reject(new Error(`the thread of seed ${seed} has ended with code ${code}`)));
    goOn();
    return promise.finally(() => worker.terminate());
  };
  await Promise.all(Array.from({ length: Math.min(jobs, seeds) }, run));
}
