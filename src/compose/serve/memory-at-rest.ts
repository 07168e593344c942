import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import type { Clock } from '../../ports/clock.ts';

/** The event loop and V8 of this process. */
export interface Runtime {
  /** Share of the time since the last call in which the event loop was busy, 0 to 1. */
  busyShare(): number;
  /** Switches V8's memory saver: earlier collections that return pages, at several times the processor time. */
  saveMemory(saves: boolean): void;
  /** Bytes of the heap that are in use, garbage included. */
  heapBytes(): number;
  /** Sets by how many percent the heap grows between two collections of all of it; 0: as V8 sees fit, up to four times as large. */
  growBy(percent: number): void;
}

/** Interval of the looks at the event loop. A burst is slowed down for this long at most. */
const LOOK_MS = 2_000;
/** From this busy share on, the process is in a burst. */
const BUSY = 0.5;
/** Below this busy share, a look is quiet. */
const QUIET = 0.2;
/** The process rests after this number of quiet looks in a row. */
const RESTS_AFTER = 5;
/** Duration of the memory saver, in looks: after it V8 has returned all pages that it can. */
const SAVES_FOR = 15;
/** From this size on the heap grows slowly: a quarter of garbage costs little memory in a small heap, and much in a large one. */
const LARGE_HEAP_BYTES = 128 * 1024 * 1024;
const GROWS_BY_PERCENT = 25;
/** Looks before which V8 is left alone: almost all that a start makes stays, so collections would find little. */
const GROWS_AFTER = 30;
/** Interval of the memory saver while the process rests, in looks: ten minutes. */
const SAVES_EVERY = 300;

/**
 * Switches V8's memory saver on for a while when the process rests, and again every ten minutes: a server rests for most of
 * its life, and V8 would keep the memory of a burst for as long as the process lives. A large heap grows slowly: otherwise V8 lets as
 * much garbage collect as it holds objects. Returns what ends it.
 */
export function releaseIdleMemory(clock: Pick<Clock, 'schedule'>, runtime: Runtime = createRuntime()): () => void {
  let saves = false;
  let quiet = 0;
  let percent = 0;
  let looks = 0;
  let cancel = (): void => undefined;
  const grow = (): void => {
    looks += 1;
    const next = looks <= GROWS_AFTER || runtime.heapBytes() < LARGE_HEAP_BYTES ? 0 : GROWS_BY_PERCENT;
    if (next !== percent) runtime.growBy(next);
    percent = next;
  };
  const look = (): void => {
    const share = runtime.busyShare();
    // Once the process rests, only a burst ends it.
    quiet = share < (quiet < RESTS_AFTER ? QUIET : BUSY) ? quiet + 1 : 0;
    const rested = quiet - RESTS_AFTER;
    const next = rested >= 0 && rested % SAVES_EVERY < SAVES_FOR;
    if (next !== saves) runtime.saveMemory(next);
    saves = next;
    grow();
    cancel = clock.schedule(LOOK_MS, look);
  };
  cancel = clock.schedule(LOOK_MS, look);
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
    // V8 reads these flags at each collection.
    saveMemory: (saves) => setFlagsFromString(saves ? '--memory-saver-mode' : '--no-memory-saver-mode'),
    heapBytes: () => getHeapStatistics().used_heap_size,
    growBy: (percent) => setFlagsFromString(`--heap-growing-percent=${percent}`),
  };
}
