import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import type { Clock } from '../../ports/clock.ts';

/** What V8 and the event loop of this process are asked and told. */
export interface Runtime {
  /** Share of the time since the last call in which the event loop had work, 0 to 1. */
  busyShare(): number;
  /** Collects sooner and gives pages back, at several times the processor time; or as ever. */
  saveMemory(saves: boolean): void;
}

/** How often the event loop is looked at. A burst goes on slowly for so long at most. */
const LOOK_MS = 2_000;
/** From this share of its time on it is in a burst: speed counts. */
const BUSY = 0.5;
/** Below this share it has hardly anything to do. */
const QUIET = 0.2;
/** So many quiet looks in a row are rest. */
const RESTS_AFTER = 5;
/** By then V8 has given back what it can; to go on would only cost time. In looks. */
const SAVES_FOR = 15;
/** What gathers while it rests is given back so often, ten minutes. In looks. */
const SAVES_EVERY = 300;

/**
 * Lets V8 save memory for a while when the process has come to rest, and again now and then: a server lives for months and
 * rests for most of them, and V8 would keep what a burst has taken, for a next one, as long as the process lives. The
 * result ends it.
 */
export function saveMemoryAtRest(clock: Pick<Clock, 'schedule'>, runtime: Runtime = createRuntime()): () => void {
  let saves = false;
  let quiet = 0;
  const look = (): void => {
    const share = runtime.busyShare();
    // What rests already is woken by a burst only.
    quiet = share < (quiet < RESTS_AFTER ? QUIET : BUSY) ? quiet + 1 : 0;
    const rested = quiet - RESTS_AFTER;
    const next = rested >= 0 && rested % SAVES_EVERY < SAVES_FOR;
    if (next !== saves) runtime.saveMemory(next);
    saves = next;
    cancel = clock.schedule(LOOK_MS, look);
  };
  let cancel = clock.schedule(LOOK_MS, look);
  return () => cancel();
}

function createRuntime(): Runtime {
  let last = performance.eventLoopUtilization();
  return {
    busyShare: () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      return utilization;
    },
    // V8 asks for this flag at each collection.
    saveMemory: (saves) => setFlagsFromString(saves ? '--memory-saver-mode' : '--no-memory-saver-mode'),
  };
}
