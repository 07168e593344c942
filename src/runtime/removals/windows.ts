import type { Engine } from '../../engine/graph.ts';
import { defaultFleetPolicy } from '../../model/fleet-policy.ts';
import type { Clock } from '../../ports/clock.ts';
import { type LedgerRecords, recordKey, type WindowRecord } from '../ledger/records.ts';
import type { Loop } from '../loop.ts';
import type { Journal } from '../stored/journal.ts';
import type { RecordWriter } from '../stored/write-group.ts';

/** A removal on its way, as it was counted. */
export interface Counted {
  /** Says how many of its objects the cluster really let go of; the rest is not counted any more. */
  settle(gone: number): void;
  /**
   * Resolves when the count outlasts this process, or when the store does not answer for so long that it is only counted
   * in memory; undefined: nothing was counted.
   */
  noted(): Promise<unknown> | undefined;
}

/** What was removed lately, for the guards: small steps within their window add up. */
export interface Windows {
  /** Counts removals as they leave; they may turn out not to have arrived. */
  leaving(cluster: string, removals: number): Counted;
  /** The guards' window may have another length now: counts anew. */
  recount(): void;
  /** Stages what is on record. */
  load(records: LedgerRecords['windows']): void;
  /** Stages that nothing is known: another process judges now, and has the records. */
  unload(): void;
}

/** How long a store that says nothing is waited for at a time, and how often; one that says it cannot write is not. */
const NOTE_MS = 1_000;
const NOTE_TRIES = 5;

export function createWindows(deps: {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly journal: RecordWriter;
  readonly store: Pick<Journal, 'flush' | 'trouble'>;
  readonly records: LedgerRecords;
  readonly clock: Clock;
}): Windows {
  const { engine, loop, journal, records, clock } = deps;
  const steps = new Map<string, { readonly at: number; removed: number }[]>();
  const timers = new Map<string, () => void>();
  let countedWith: number | undefined;

  const stage = (cluster: string, recent: WindowRecord): void => {
    const sum = recent.reduce((total, { removed }) => total + removed, 0);
    if (sum === engine.inputs.recentRemovals.get('', cluster)) return;
    loop.transact(() => {
      if (sum === 0) engine.inputs.recentRemovals.delete('', cluster);
      else engine.inputs.recentRemovals.set('', cluster, sum);
    });
  };
  const count = (cluster: string): void => {
    const windowMs = (engine.limits.get('', '') ?? defaultFleetPolicy.guards).windowSeconds * 1000;
    const recent = (steps.get(cluster) ?? []).filter(({ at, removed }) => removed > 0 && at > clock.now() - windowMs);
    timers.get(cluster)?.();
    timers.delete(cluster);
    if (recent.length === 0) steps.delete(cluster);
    else steps.set(cluster, recent);
    journal.put(recordKey.window(cluster), recent.length === 0 ? null : recent);
    stage(cluster, recent);
    const [oldest] = recent;
    if (oldest === undefined) return;
    timers.set(
      cluster,
      clock.schedule(oldest.at + windowMs - clock.now() + 1, () => count(cluster)),
    );
  };

  // How long the window is, is known after the first commit; until then everything on record counts.
  const load = (known: LedgerRecords['windows']): void => {
    countedWith = undefined;
    for (const [cluster, recent] of known) {
      journal.noted(recordKey.window(cluster), recent);
      steps.set(
        cluster,
        recent.map((step) => ({ ...step })),
      );
      stage(cluster, recent);
    }
  };
  load(records.windows);
  return {
    load,
    unload: () => {
      for (const cancel of timers.values()) cancel();
      timers.clear();
      for (const cluster of steps.keys()) stage(cluster, []);
      steps.clear();
    },
    leaving: (cluster, removals) => {
      const step = { at: clock.now(), removed: removals };
      if (removals > 0) steps.set(cluster, [...(steps.get(cluster) ?? []), step]);
      if (removals > 0) count(cluster);
      return {
        settle: (gone) => {
          if (gone >= step.removed) return;
          step.removed = gone;
          count(cluster);
        },
        noted: () => (removals === 0 ? undefined : untilNoted(deps.store)),
      };
    },
    recount: () => {
      const windowSeconds = engine.limits.get('', '')?.windowSeconds;
      if (windowSeconds === undefined || windowSeconds === countedWith) return;
      countedWith = windowSeconds;
      for (const cluster of [...steps.keys()]) count(cluster);
    },
  };
}

/** Sending goes on without a store: then what is counted is in memory until the store is back. */
async function untilNoted({ flush, trouble }: Pick<Journal, 'flush' | 'trouble'>): Promise<void> {
  for (let tries = 0; tries < NOTE_TRIES; tries++) {
    if ((await flush(NOTE_MS)) || trouble() !== undefined) return;
  }
}
