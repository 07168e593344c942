import type { Engine } from '../../engine/graph.ts';
import { defaultFleetPolicy } from '../../model/fleet-policy.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type LedgerRecords, recordKey } from '../ledger/records.ts';
import type { Loop } from '../loop.ts';
import type { Journal } from '../stored/journal.ts';
import type { RecordWriter } from '../stored/write-group.ts';

/** What was removed lately, for the guards: small steps within their window add up. */
export interface Windows {
  /**
   * Counts removals as they leave; they may turn out not to have arrived. Resolves when the count outlasts this process,
   * or when the store does not answer for so long that it is only counted in memory; undefined: there is nothing to count.
   * False: this process judges no more by then, and these may not leave at its word.
   */
  leaving(cluster: string, keys: readonly ObjectKey[]): Promise<boolean> | undefined;
  /** Counts removals that have happened; where the cluster's entries are missing, they may have. */
  left(cluster: string, keys: readonly string[]): void;
  /** What was on its way to a cluster has arrived. */
  arrived(cluster: string): void;
  /** The cluster's agent says that it holds these: what of them was on its way out has not left. */
  holds(cluster: string, keys: ReadonlySet<string>): void;
  /** After each commit: the guards' window may have another length now, or the ledger may tell what has left. */
  recount(): void;
  /** Stages what is on record. */
  load(records: LedgerRecords['windows']): void;
  /** Stages that nothing is known: another process judges now, and has the records. */
  unload(): void;
}

/** Removals that were counted together. */
interface Step {
  readonly at: number;
  /** Those that have left. */
  removed: number;
  /** Those that were sent, and of which it is not known: the engine counts them unless they are proposed again. */
  open: readonly string[];
}

interface WindowsDeps {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly ledger: Pick<Ledger, 'omits'>;
  readonly journal: RecordWriter;
  readonly store: Pick<Journal, 'flush' | 'trouble'>;
  readonly records: LedgerRecords;
  readonly clock: Clock;
}

/** How long a store that says nothing is waited for at a time, and how often; one that says it cannot write is not. */
const NOTE_MS = 1_000;
const NOTE_TRIES = 5;

export function createWindows(deps: WindowsDeps): Windows {
  const { clock, journal, engine, ledger } = deps;
  const steps = new Map<string, readonly Step[]>();
  const timers = new Map<string, () => void>();
  const stage = createStaging(deps);
  let countedWith: number | undefined;
  let unloads = 0;

  const count = (cluster: string): void => {
    const windowMs = (engine.limits.get('', '') ?? defaultFleetPolicy.guards).windowSeconds * 1000;
    const isRecent = ({ at, removed, open }: Step): boolean => removed + open.length > 0 && at > clock.now() - windowMs;
    const recent = (steps.get(cluster) ?? []).filter(isRecent);
    timers.get(cluster)?.();
    timers.delete(cluster);
    if (recent.length === 0) steps.delete(cluster);
    else steps.set(cluster, recent);
    journal.put(recordKey.window(cluster), recent.length === 0 ? null : recent.map((step) => ({ ...step })));
    stage(cluster, recent);
    const [oldest] = recent;
    if (oldest === undefined) return;
    timers.set(
      cluster,
      clock.schedule(oldest.at + windowMs - clock.now() + 1, () => count(cluster)),
    );
  };
  const add = (cluster: string, keys: readonly string[], open: readonly string[]): void => {
    const counted = new Set(keys);
    // What leaves now has not left before: it was there.
    for (const earlier of steps.get(cluster) ?? []) earlier.open = earlier.open.filter((key) => !counted.has(key));
    steps.set(cluster, [...(steps.get(cluster) ?? []), { at: clock.now(), removed: keys.length - open.length, open }]);
    count(cluster);
  };
  const settle = (cluster: string, fateOf: FateOf): void => {
    if (settleSteps(steps.get(cluster) ?? [], fateOf)) count(cluster);
  };
  const load = (known: LedgerRecords['windows']): void => {
    // How long the window is, is known after the first commit; until then everything on record counts.
    countedWith = undefined;
    for (const [cluster, record] of known) {
      journal.noted(recordKey.window(cluster), record);
      const loaded = record.map((step) => ({ ...step }));
      steps.set(cluster, loaded);
      stage(cluster, loaded);
    }
  };
  load(deps.records.windows);

  return {
    load,
    unload: () => {
      unloads += 1;
      for (const cancel of timers.values()) cancel();
      timers.clear();
      for (const cluster of steps.keys()) stage(cluster, []);
      steps.clear();
    },
    leaving: (cluster, keys) => {
      if (keys.length === 0) return undefined;
      add(cluster, keys, keys);
      return untilNoted(deps.store, () => unloads);
    },
    left: (cluster, keys) => {
      if (keys.length > 0) add(cluster, keys, keys.filter(isUnknownIn(deps, cluster)));
    },
    arrived: (cluster) => settle(cluster, () => 'left'),
    holds: (cluster, keys) => settle(cluster, (key) => (keys.has(key) ? 'stayed' : 'left')),
    recount: () => {
      const windowSeconds = engine.limits.get('', '')?.windowSeconds;
      if (windowSeconds === undefined) return;
      for (const cluster of [...steps.keys()]) {
        settle(cluster, (key) => (ledger.omits(cluster, key) ? 'left' : 'open'));
        if (windowSeconds !== countedWith) count(cluster);
      }
      countedWith = windowSeconds;
    },
  };
}

/** The ledger does not say whether the cluster holds the object: its entries are missing. */
function isUnknownIn({ engine, ledger }: WindowsDeps, cluster: string): (key: string) => boolean {
  return (key) => engine.inputs.ledger.get(cluster, key) === undefined && !ledger.omits(cluster, key);
}

/** What became of an open removal: it has left, it was lost on its way, or that is still not known. */
type FateOf = (key: string) => 'left' | 'stayed' | 'open';

/** True if something has turned out. */
function settleSteps(steps: readonly Step[], fateOf: FateOf): boolean {
  let settled = false;
  for (const step of steps) {
    const fates = step.open.map((key) => ({ key, fate: fateOf(key) }));
    step.removed += fates.filter(({ fate }) => fate === 'left').length;
    step.open = fates.flatMap(({ key, fate }) => (fate === 'open' ? [key] : []));
    settled ||= step.open.length < fates.length;
  }
  return settled;
}

/** Stages what counts of a cluster, where it differs from what was staged last. */
function createStaging({ engine, loop }: WindowsDeps): (cluster: string, steps: readonly Step[]) => void {
  const { recentRemovals, departures } = engine.inputs;
  const staged = new Map<string, { readonly sum: number; readonly open: ReadonlySet<string> }>();
  return (cluster, steps) => {
    const before = staged.get(cluster) ?? { sum: 0, open: new Set() };
    const sum = steps.reduce((total, { removed }) => total + removed, 0);
    const open = new Set(steps.flatMap((step) => step.open));
    const isSame = open.size === before.open.size && [...open].every((key) => before.open.has(key));
    if (sum === before.sum && isSame) return;
    if (sum === 0 && open.size === 0) staged.delete(cluster);
    else staged.set(cluster, { sum, open });
    loop.transact(() => {
      if (sum === 0) recentRemovals.delete('', cluster);
      else recentRemovals.set('', cluster, sum);
      for (const key of before.open) if (!open.has(key)) departures.delete(cluster, key);
      for (const key of open) departures.set(cluster, key, true);
    });
  };
}

/**
 * Sending goes on without a store: then what is counted is in memory until the store is back. True if `unloads` says the
 * same then.
 */
async function untilNoted(
  { flush, trouble }: Pick<Journal, 'flush' | 'trouble'>,
  unloads: () => number,
): Promise<boolean> {
  const before = unloads();
  for (let tries = 0; tries < NOTE_TRIES; tries++) {
    if ((await flush(NOTE_MS)) || trouble() !== undefined) break;
  }
  return unloads() === before;
}
