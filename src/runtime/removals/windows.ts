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
  /**
   * Another replica may send these removals from now on. Each counts from the commit in which the ledger says that it was
   * sent, also if it is held again by then: the other replica may have sent it before it read that. What a person has
   * approved does not count. Returns all such removals of the cluster of which the ledger does not say so yet.
   */
  mayLeave(cluster: string, keys: readonly string[]): readonly string[];
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
  readonly store: Pick<Journal, 'flush' | 'failure'>;
  readonly records: LedgerRecords;
  readonly clock: Clock;
}

/** How long a store that says nothing is waited for at a time, and how often; one that says it cannot write is not. */
const NOTE_MS = 1_000;
const NOTE_TRIES = 5;

export function createWindows(deps: WindowsDeps): Windows {
  const { engine, ledger } = deps;
  const counts = createCounts(deps);
  const { allowed, settle } = counts;
  let countedWith: number | undefined;
  let unloads = 0;

  const load = (known: LedgerRecords['windows']): void => {
    // How long the window is, is known after the first commit; until then everything on record counts.
    countedWith = undefined;
    counts.load(known);
  };
  const isSent = (cluster: string, key: string): boolean =>
    engine.inputs.ledger.get(cluster, key)?.phase === 'removing' || ledger.omits(cluster, key);
  load(deps.records.windows);

  return {
    load,
    unload: () => {
      unloads += 1;
      counts.unload();
    },
    leaving: (cluster, keys) => {
      if (keys.length === 0) return undefined;
      counts.add(cluster, keys);
      return untilNoted(deps.store, () => unloads);
    },
    mayLeave: (cluster, keys) => {
      const isApproved = (key: string): boolean => engine.inputs.approvals.get(cluster, key) === true;
      counts.allow(cluster, (key) => !isApproved(key), keys);
      return [...(allowed.get(cluster) ?? [])];
    },
    arrived: (cluster) => settle(cluster, () => 'left'),
    holds: (cluster, keys) => {
      counts.allow(cluster, (key) => !keys.has(key));
      settle(cluster, (key) => (keys.has(key) ? 'stayed' : 'left'));
    },
    recount: () => {
      const windowSeconds = engine.limits.get('', '')?.windowSeconds;
      if (windowSeconds === undefined) return;
      for (const [cluster, keys] of [...allowed]) {
        const sent = [...keys].filter((key) => isSent(cluster, key));
        if (sent.length > 0) counts.add(cluster, sent);
      }
      for (const cluster of counts.clusters()) {
        settle(cluster, (key) => (ledger.omits(cluster, key) ? 'left' : 'open'));
        if (windowSeconds !== countedWith) counts.count(cluster);
      }
      countedWith = windowSeconds;
    },
  };
}

/** What counts of each cluster, staged and on record. */
function createCounts(deps: WindowsDeps) {
  const { clock, journal, engine } = deps;
  const steps = new Map<string, readonly Step[]>();
  /** By cluster: removals that another replica may send, or has sent without the ledger saying so yet. */
  const allowed = new Map<string, ReadonlySet<string>>();
  const timers = new Map<string, () => void>();
  const stageCount = createStaging(deps);
  const stage = (cluster: string): void => stageCount(cluster, steps.get(cluster) ?? [], allowed.get(cluster) ?? []);

  /** Forgets steps that are older than the window. */
  const count = (cluster: string): void => {
    const windowMs = (engine.limits.get('', '') ?? defaultFleetPolicy.guards).windowSeconds * 1000;
    const isRecent = ({ at, removed, open }: Step): boolean => removed + open.length > 0 && at > clock.now() - windowMs;
    const recent = (steps.get(cluster) ?? []).filter(isRecent);
    timers.get(cluster)?.();
    timers.delete(cluster);
    if (recent.length === 0) steps.delete(cluster);
    else steps.set(cluster, recent);
    journal.put(recordKey.window(cluster), recent.length === 0 ? null : recent.map((step) => ({ ...step })));
    stage(cluster);
    const [oldest] = recent;
    if (oldest === undefined) return;
    timers.set(
      cluster,
      clock.schedule(oldest.at + windowMs - clock.now() + 1, () => count(cluster)),
    );
  };
  /** Adds to what is allowed, and drops of all that what `isStill` denies. */
  const allow = (cluster: string, isStill: (key: string) => boolean, added: readonly string[] = []): void => {
    const keys = [...(allowed.get(cluster) ?? []), ...added].filter(isStill);
    if (keys.length === 0) allowed.delete(cluster);
    else allowed.set(cluster, new Set(keys));
    stage(cluster);
  };
  return {
    allowed,
    count,
    allow,
    clusters: (): readonly string[] => [...steps.keys()],
    /** These leave now. */
    add: (cluster: string, keys: readonly string[]): void => {
      const counted = new Set(keys);
      const isOther = (key: string): boolean => !counted.has(key);
      // What leaves now has not left before: it was there.
      for (const earlier of steps.get(cluster) ?? []) earlier.open = earlier.open.filter(isOther);
      steps.set(cluster, [...(steps.get(cluster) ?? []), { at: clock.now(), removed: 0, open: keys }]);
      count(cluster);
      allow(cluster, isOther);
    },
    settle: (cluster: string, fateOf: FateOf): void => {
      if (settleSteps(steps.get(cluster) ?? [], fateOf)) count(cluster);
    },
    load: (known: LedgerRecords['windows']): void => {
      for (const [cluster, record] of known) {
        journal.noted(recordKey.window(cluster), record);
        steps.set(
          cluster,
          record.map((step) => ({ ...step })),
        );
        stage(cluster);
      }
    },
    unload: (): void => {
      for (const cancel of timers.values()) cancel();
      timers.clear();
      const clusters = [...steps.keys(), ...allowed.keys()];
      steps.clear();
      allowed.clear();
      for (const cluster of clusters) stage(cluster);
    },
  };
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
function createStaging({ engine, loop }: WindowsDeps) {
  const { recentRemovals, departures } = engine.inputs;
  const staged = new Map<string, { readonly sum: number; readonly open: ReadonlySet<string> }>();
  return (cluster: string, steps: readonly Step[], allowed: Iterable<string>): void => {
    const before = staged.get(cluster) ?? { sum: 0, open: new Set<string>() };
    const sum = steps.reduce((total, { removed }) => total + removed, 0);
    const open = new Set([...steps.flatMap((step) => step.open), ...allowed]);
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
  { flush, failure }: Pick<Journal, 'flush' | 'failure'>,
  unloads: () => number,
): Promise<boolean> {
  const before = unloads();
  for (let tries = 0; tries < NOTE_TRIES; tries++) {
    if ((await flush(NOTE_MS)) || failure() !== undefined) break;
  }
  return unloads() === before;
}
