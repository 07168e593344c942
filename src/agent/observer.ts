import { displayDiagnostic } from '../model/fleet/diagnostic.ts';
import type { Clock } from '../ports/clock.ts';
import type { ClusterApi, LiveState } from '../ports/cluster-api.ts';
import type { Log } from '../ports/log.ts';
import type { Random } from '../ports/random.ts';

/** Receives the results of lists, one at a time. */
export interface ObserverListener {
  /** A state: after each requested or periodic list, and after a hint that led to a new state. */
  observed(live: LiveState): void;
  /** A list has failed, and the one before had not. The last state stays valid: absence needs proof. */
  unreadable(error: unknown): void;
}

/** Hints and the agent's own writes within this time share one list. */
const GATHER_MS = 10;
/** Time between two complete lists; hints lead to lists in between. */
const COMPLETE_MS = 30_000;
/** Pause between lists while they fail. */
const UNREADABLE_MS = 2_000;

export type Observer = ReturnType<typeof createObserver>;

/** Lists the cluster's live state: after hints the hinted objects, and periodically everything. */
export function createObserver(
  deps: { readonly cluster: ClusterApi; readonly clock: Clock; readonly random: Random; readonly log: Log },
  listener: ObserverListener,
) {
  const { cluster, clock, log } = deps;
  let last: LiveState | undefined;
  let listing = false;
  let next: 'hinted' | 'complete' | undefined;
  let cancelSoon: (() => void) | undefined;
  let cancelPeriod: (() => void) | undefined;
  let endWatch: (() => void) | undefined;
  let stopped = false;
  let readable = true;
  /** The next state is passed on even if it is the last one. */
  let passOn = true;

  return {
    start,
    /** Lists hinted objects soon, and passes the state on even if it has not changed. */
    observeSoon: (): void => observeIn(GATHER_MS),
    /** Whether the last list succeeded. */
    isReadable: (): boolean => readable,
    stop,
  };

  function start(): void {
    endWatch = cluster.watch(() => void observe('hinted'));
    schedulePeriod();
  }

  function schedulePeriod(): void {
    // With jitter, so that the agents of one machine do not list at the same moment.
    const wait = COMPLETE_MS * (0.75 + deps.random.next() / 2);
    cancelPeriod = clock.schedule(wait, () => {
      schedulePeriod();
      passOn = true;
      void observe('complete');
    });
  }

  function observeIn(milliseconds: number): void {
    if (stopped) return;
    cancelSoon ??= clock.schedule(milliseconds, () => {
      cancelSoon = undefined;
      passOn = true;
      void observe('hinted');
    });
  }

  async function observe(depth: 'hinted' | 'complete'): Promise<void> {
    if (stopped) return;
    if (listing) {
      next = next === 'complete' ? 'complete' : depth;
      return;
    }
    listing = true;
    await list(depth);
    listing = false;
    const due = next;
    next = undefined;
    if (due !== undefined) void observe(due);
  }

  async function list(depth: 'hinted' | 'complete'): Promise<void> {
    try {
      const live = await cluster.list(depth);
      readable = true;
      if (stopped || (live === last && !passOn)) return;
      last = live;
      passOn = false;
      listener.observed(live);
    } catch (error) {
      // No hint reports that a folder is readable again.
      observeIn(UNREADABLE_MS);
      if (!readable) return;
      readable = false;
      // The listener received `unreadable`, so it needs the next state even if it equals the last one.
      passOn = true;
      log.error('the cluster cannot be listed', { error });
      listener.unreadable(error);
    }
  }

  function stop(): void {
    stopped = true;
    cancelSoon?.();
    cancelPeriod?.();
    endWatch?.();
  }
}

/** Most log lines for one state, so that a folder full of invalid files does not flood the log. */
const MOST_LINES = 20;

/** Remembers of the newest live state what people are shown, and logs its diagnostics when they appear. */
export function createLiveNotes(log: Log) {
  let known: ReadonlySet<string> = new Set();
  let version: string | undefined;
  return {
    note({ diagnostics: found, kubernetesVersion }: LiveState): void {
      version = kubernetesVersion;
      const now = new Set(found.map(displayDiagnostic));
      const fresh = [...now].filter((text) => !known.has(text));
      for (const diagnostic of fresh.slice(0, MOST_LINES))
        log.warn('the cluster holds an invalid object', { diagnostic });
      if (fresh.length > MOST_LINES)
        log.warn('the cluster holds more invalid objects', { diagnostics: fresh.length - MOST_LINES });
      if (now.size === 0 && known.size > 0) log.info('the cluster holds no invalid objects any more');
      known = now;
    },
    diagnostics: (): number => known.size,
    kubernetesVersion: (): string | undefined => version,
  };
}
