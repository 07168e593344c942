import type { Departure } from '../../engine/inputs.ts';
import { isToGo, UNPROVEN } from '../../engine/output/guards.ts';
import { defaultFleetPolicy } from '../../model/fleet/fleet-policy.ts';
import type { ServerCore } from '../core.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type LedgerRecords, recordKey, type WindowRecord } from '../ledger/records.ts';
import { type Allowed, createAllowed, statesOf } from './allowed.ts';
import { createFollowedWindows } from './followed-windows.ts';

/** Removals that were counted together. */
interface Step {
  readonly at: number;
  /** Number of confirmed removals. */
  removed: number;
  /** Keys with a removal that was sent and is not confirmed yet. If the engine proposes one again, the guards still count it once. */
  open: readonly string[];
  /** Their ledger entries were unproven: they count for the guards of their cluster only. */
  readonly unproven?: true;
}

/** Pause between looks at the store, and their number, while the store neither confirms a count nor reports a failure. */
const NOTE_MS = 1_000;
const NOTE_TRIES = 5;

export type Windows = ReturnType<typeof createWindows>;

/** Counts recent removals for the guards, so that small steps within their window add up. */
export function createWindows(deps: ServerCore & { readonly ledger: Pick<Ledger, 'omits'> }) {
  const { engine, ledger, journal } = deps;
  const counts = createCounts(deps);
  const followed = createFollowedWindows();
  const { allowed, settle } = counts;
  let countedWith: number | undefined;
  let unloads = 0;

  /** Stages the counts of the store. */
  const load = (known: LedgerRecords['windows']): void => {
    // The length of the window is known after the first commit; until then all records count.
    countedWith = undefined;
    counts.load(known);
  };
  const isSent = (cluster: string, key: string): boolean =>
    engine.inputs.ledger.get(cluster, key)?.phase === 'removing' || ledger.omits(cluster, key);
  const isLeaving = (cluster: string, key: string): boolean =>
    engine.inputs.ledger.latest(cluster, key)?.leaving !== undefined;
  /** A store that fails does not stop sending: then the count is in memory only. True if this process still judges removals. */
  const untilNoted = async (): Promise<boolean> => {
    const before = unloads;
    for (let tries = 0; tries < NOTE_TRIES; tries++) {
      if ((await journal.flush(NOTE_MS)) || journal.failure() !== undefined) break;
    }
    return unloads === before;
  };
  load(deps.records.windows);

  return {
    /** This process judges removals from now on: stages the counts of the store, and those that the store has lost. */
    load: (stored: LedgerRecords['windows']): void => load(followed.take(stored)),
    /** Unstages all counts: another process judges removals now, and has the records. */
    unload: (): void => {
      unloads += 1;
      // They stand in for the records of that process until these are read.
      for (const [cluster, steps] of recordsOf(counts.steps)) followed.replicate(cluster, steps);
      counts.unload();
    },
    /** The windows that another process has written, as read last, by cluster. */
    followed: { entries: followed.entries, replicate: followed.replicate },
    /** The store may have lost any record: what is known of the windows counts also if this process judges only later. */
    storeLost: (): void => followed.storeLost(recordsOf(counts.steps), counts.isRecent),
    /**
     * Counts removals that are about to be sent, or are leaving. Resolves when the count is durable, or when the store fails or does not
     * answer for several seconds; undefined: there is nothing to count. False: this process does not judge removals any more,
     * and must not send these.
     */
    leaving: (cluster: string, keys: readonly string[]): Promise<boolean> | undefined => {
      if (keys.length === 0) return undefined;
      counts.add(cluster, keys);
      return untilNoted();
    },
    /**
     * Another replica may send these removals from now on. Each counts from the commit in which the ledger shows it as sent,
     * also if it is held again by then: the other replica may have sent it before it received the hold. Approved removals do
     * not count. Returns all such removals of the cluster that the ledger does not show as sent yet.
     * `withdrawn`: those that an earlier leader does not permit any more. They are judged again.
     */
    mayLeave: (cluster: string, keys: readonly string[], withdrawn: readonly string[] = []): readonly string[] => {
      const isCounted = (key: string): boolean => engine.inputs.approvals.get(cluster, key) !== true;
      allowed.update(cluster, isCounted, statesOf(keys, withdrawn));
      return [...allowed.of(cluster).keys()];
    },
    /** The agent has accepted these removals. */
    arrived: (cluster: string, keys: readonly string[]): void => {
      const accepted = new Set(keys);
      if (accepted.size > 0) settle(cluster, (key) => (accepted.has(key) ? 'removed' : 'unknown'));
    },
    /** The agent reports that it owns these objects: their removals did not arrive, or were not sent yet. */
    holds: (cluster: string, keys: ReadonlySet<string>): void => {
      allowed.update(cluster, (key) => !keys.has(key));
      settle(cluster, (key) => (!keys.has(key) ? 'removed' : isLeaving(cluster, key) ? 'unknown' : 'kept'));
    },
    /** Runs after each commit: the length of the window may have changed, or the ledger may show removals as done. */
    recount: (): void => {
      const windowSeconds = engine.limits.get('', '')?.windowSeconds;
      if (windowSeconds === undefined) return;
      for (const cluster of allowed.clusters()) {
        const sent = [...allowed.of(cluster).keys()].filter((key) => isSent(cluster, key));
        if (sent.length > 0) counts.add(cluster, sent);
        allowed.stop(cluster, (key) => hasStopped(engine, cluster, key));
      }
      for (const cluster of [...counts.steps.keys()]) {
        settle(cluster, (key) => {
          if (ledger.omits(cluster, key)) return 'removed';
          return isLeaving(cluster, key) && hasStopped(engine, cluster, key) ? 'kept' : 'unknown';
        });
        if (windowSeconds !== countedWith) counts.count(cluster);
      }
      countedWith = windowSeconds;
    },
  };
}

/** Whether a removal is held, or its object is declared again. */
function hasStopped({ decisions, outputs, candidates }: ServerCore['engine'], cluster: string, key: string): boolean {
  const decision = decisions.get(cluster, key);
  if (decision === undefined) return false;
  return outputs.get(cluster, key)?.type === 'held' || !isToGo(decision, candidates.get(cluster, key));
}

/** The counts of each cluster, staged and in the store. */
function createCounts(deps: ServerCore) {
  const { clock, fleet, engine } = deps;
  const steps = new Map<string, readonly Step[]>();
  const timers = new Map<string, () => void>();
  const stepsOf = (cluster: string): readonly Step[] => steps.get(cluster) ?? [];
  const stageCount = createStaging(deps);
  const stage = (cluster: string): void => stageCount(cluster, stepsOf(cluster), allowed.of(cluster));
  const allowed = createAllowed(stage);
  const isRecent = createRecency(deps);

  /** Forgets steps that are older than the window. */
  const count = (cluster: string): void => {
    const recent = stepsOf(cluster).filter(isRecent);
    timers.get(cluster)?.();
    timers.delete(cluster);
    if (recent.length === 0) steps.delete(cluster);
    else steps.set(cluster, recent);
    fleet.put(recordKey.window(cluster), recent.length === 0 ? null : recent.map((step) => ({ ...step })));
    stage(cluster);
    const [oldest] = recent;
    if (oldest === undefined) return;
    timers.set(
      cluster,
      clock.schedule(oldest.at + windowMsOf(engine) - clock.now() + 1, () => count(cluster)),
    );
  };
  return {
    allowed,
    count,
    isRecent,
    steps,
    /** These are sent now. */
    add: (cluster: string, keys: readonly string[]): void => {
      const counted = new Set(keys);
      const isOther = (key: string): boolean => !counted.has(key);
      // An object that is removed now was not removed before.
      for (const earlier of stepsOf(cluster)) earlier.open = earlier.open.filter(isOther);
      const isUnproven = (key: string): boolean => engine.inputs.ledger.get(cluster, key)?.unproven === true;
      const added: readonly Step[] = [
        { at: clock.now(), removed: 0, open: keys.filter((key) => !isUnproven(key)) },
        { at: clock.now(), removed: 0, open: keys.filter(isUnproven), unproven: true },
      ];
      steps.set(cluster, [...stepsOf(cluster), ...added]);
      count(cluster);
      allowed.update(cluster, isOther);
    },
    settle: (cluster: string, fateOf: FateOf): void => {
      if (settleSteps(stepsOf(cluster), fateOf)) count(cluster);
    },
    load: (known: LedgerRecords['windows']): void => {
      for (const [cluster, record] of known) {
        fleet.noted(recordKey.window(cluster), record);
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
      const clusters = [...steps.keys(), ...allowed.clusters()];
      steps.clear();
      allowed.clear();
      for (const cluster of clusters) stage(cluster);
    },
  };
}

function windowMsOf({ limits }: ServerCore['engine']): number {
  return (limits.get('', '') ?? defaultFleetPolicy.guards).windowSeconds * 1000;
}

/** Whether a step counts something, and the window covers it. */
function createRecency({ clock, engine }: ServerCore): (step: Step) => boolean {
  return ({ at, removed, open }) => removed + open.length > 0 && at > clock.now() - windowMsOf(engine);
}

/** Copies of the steps: the counted steps change later. */
function recordsOf(steps: ReadonlyMap<string, readonly Step[]>): ReadonlyMap<string, WindowRecord> {
  return new Map([...steps].map(([cluster, counted]) => [cluster, counted.map((step) => ({ ...step }))]));
}

/** The fate of a removal that was sent: the cluster has removed the object, still has it, or has not reported yet. */
type FateOf = (key: string) => 'removed' | 'kept' | 'unknown';

/** Takes removals whose fate is known out of `open`, and counts those that were done. True if there were any. */
function settleSteps(steps: readonly Step[], fateOf: FateOf): boolean {
  let settled = false;
  for (const step of steps) {
    const fates = step.open.map((key) => ({ key, fate: fateOf(key) }));
    step.removed += fates.filter(({ fate }) => fate === 'removed').length;
    step.open = fates.flatMap(({ key, fate }) => (fate === 'unknown' ? [key] : []));
    settled ||= step.open.length < fates.length;
  }
  return settled;
}

/** Stages the counts of a cluster if they have changed. */
function createStaging({ engine, loop }: ServerCore) {
  const { recentRemovals, departures, ledger } = engine.inputs;
  const staged = new Map<string, Counted>();
  const none: Counted = { sum: 0, unproven: 0, open: new Map() };
  return (cluster: string, steps: readonly Step[], allowed: Allowed): void => {
    const before = staged.get(cluster) ?? none;
    const open = new Map<string, Departure>();
    for (const [key, state] of allowed) {
      const isProven = ledger.get(cluster, key)?.unproven !== true;
      open.set(key, state === 'passed' ? { isProven } : { isProven, hasStopped: true });
    }
    for (const step of steps) for (const key of step.open) open.set(key, { isProven: step.unproven !== true });
    const now = { sum: doneIn(steps, false), unproven: doneIn(steps, true), open };
    if (isSame(now, before)) return;
    if (isSame(now, none)) staged.delete(cluster);
    else staged.set(cluster, now);
    loop.transact(() => {
      for (const [partition, count] of [['', now.sum] as const, [UNPROVEN, now.unproven] as const]) {
        recentRemovals.delete(partition, cluster);
        if (count > 0) recentRemovals.set(partition, cluster, count);
      }
      departures.drop(cluster);
      for (const [key, departure] of open) departures.set(cluster, key, departure);
    });
  };
}

/** What is staged of one cluster. */
interface Counted {
  readonly sum: number;
  readonly unproven: number;
  readonly open: ReadonlyMap<string, Departure>;
}

function doneIn(steps: readonly Step[], unproven: boolean): number {
  return steps.reduce((total, step) => total + ((step.unproven === true) === unproven ? step.removed : 0), 0);
}

function isSame(a: Counted, b: Counted): boolean {
  if (a.sum !== b.sum || a.unproven !== b.unproven || a.open.size !== b.open.size) return false;
  return [...a.open].every(([key, { isProven, hasStopped: stopped }]) => {
    const other = b.open.get(key);
    return other?.isProven === isProven && other.hasStopped === stopped;
  });
}
