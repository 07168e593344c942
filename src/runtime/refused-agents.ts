import type { StagedRefusal } from '../engine/inputs.ts';
import type { AgentRefusal } from '../model/agent/agent-refusal.ts';
import { ofFullestNetworks } from '../model/limits/fullest-networks.ts';
import { createRateLimit, type Rate } from '../model/limits/rate-limit.ts';
import { networkOf } from '../model/text/ip-address.ts';
import type { Clock } from '../ports/clock.ts';
import type { RelayRefusal } from '../relay/session.ts';
import type { ServerCore } from './core.ts';
import type { SharedRecord } from './ledger/records.ts';
import { fields, isFlag, isText, isTime } from './ledger/shapes.ts';
import type { Replica } from './replica/replica.ts';
import { createSharedInput } from './shared-input.ts';

/** A repeated refusal is recorded again after this time, so that the record says when the last attempt was. */
const RECORD_EVERY_MS = 60_000;
/** The status shows another refusal of the same caller after this time, so that callers do not cause one commit an attempt. */
const SHOW_EVERY_MS = 10 * 60_000;
/** The status shows the time of a repeated refusal again after this time. */
const SHOW_AGAIN_MS = 60 * 60_000;
/** A connected agent whose last stream was ended is in order after this time. */
const GOOD_AFTER_MS = 60_000;
/** A refusal without another attempt is over after this time. */
const FORGET_AFTER_MS = 24 * 60 * 60_000;
const LOOK_MS = 10 * 60_000;
/** Refusals of callers who prove no name, by network. */
const UNPROVEN_OF_NETWORK: Rate = { burst: 10, perSecond: 1 / 10 };
/** The same in all. */
const UNPROVEN: Rate = { burst: 20, perSecond: 1 };
/** How often the record of one cluster is written, also if the reason or the address changes with each attempt. */
const RECORDS: Rate = { burst: 10, perSecond: 1 / 60 };
/** Reasons that are counted of one cluster. */
const MOST_REASONS = 100;
/** Refusals of names that no source declares; a caller can invent them. */
const MOST_UNDECLARED = 100;
/** Follows from earlier refusals, and does not hide their reason. */
const CONSEQUENCES: readonly string[] = ['RateLimited', 'TooManyStreams'];

/** The last refusal of a caller who gave the name of a cluster. */
export type RefusalRecord = {
  readonly last: AgentRefusal;
  /** The one that the status of the cluster shows, which changes seldom. */
  readonly shown: AgentRefusal;
  readonly isProven: boolean;
  readonly wasConnected: boolean;
  /** The agent has connected since, or no caller has come for a day. */
  readonly isOver: boolean;
};

const isRefusal = fields({ reason: isText, message: isText, address: isText, at: isTime });

/** The last refusals, by the name of a cluster. */
export const refusalRecords: SharedRecord = {
  prefix: 'agent-refusals/',
  shape: fields({ last: isRefusal, shown: isRefusal, isProven: isFlag, wasConnected: isFlag, isOver: isFlag }),
};

export type RefusedAgents = ReturnType<typeof createRefusedAgents>;

/**
 * Remembers the last refusal of each cluster's name, until its agent is connected. Every replica notes those that it has seen
 * itself. Stages them for the status of clusters.
 */
export function createRefusedAgents(core: ServerCore, { leads, knowsAll }: Pick<Replica, 'leads' | 'knowsAll'>) {
  const { engine, clock } = core;
  const mayNoteOf = createRateLimit(clock.monotonic, UNPROVEN_OF_NETWORK);
  const mayNote = createRateLimit(clock.monotonic, UNPROVEN);
  const mayRecord = createRateLimit(clock.monotonic, RECORDS);
  /** Refusals since the start of this process, by cluster and reason. */
  const counts = new Map<string, Map<string, number>>();
  const shared = createSharedInput<RefusalRecord, StagedRefusal>(core, refusalRecords, {
    input: engine.inputs.refusals,
    staged: ({ shown, isOver }) => ({ ...shown, isOver }),
  });
  const isDeclared = (cluster: string): boolean => engine.clusters.get('', cluster) !== undefined;

  const forget = (cluster: string): void => {
    shared.delete(cluster);
    counts.delete(cluster);
  };
  /** Forgets undeclared names until there are `most` of them; one that is proven only `forProven`. False: there are more. */
  const shorten = (most: number, forProven: boolean): boolean => {
    for (;;) {
      const undeclared = [...shared.entries()].filter(([cluster]) => !isDeclared(cluster));
      if (undeclared.length <= most) return true;
      const least = leastOf(undeclared, forProven);
      if (least === undefined) return false;
      forget(least);
    }
  };
  const over = (cluster: string, isOver: (record: RefusalRecord) => boolean): void => {
    const record = shared.get(cluster);
    if (record === undefined || record.isOver || !isOver(record)) return;
    shared.set(cluster, { ...record, isOver: true });
  };
  const settling = createSettling(clock, (cluster) => over(cluster, ({ wasConnected }) => wasConnected));
  let cancel = (): void => undefined;

  /**
   * The leader ends what is old. Every replica forgets names that no source declares, by the same rule: what one has forgotten
   * another would write again.
   */
  const look = (): void => {
    cancel = clock.schedule(LOOK_MS, look);
    if (!knowsAll()) return;
    for (const [cluster, { last }] of [...shared.entries()]) {
      if (clock.now() - last.at < FORGET_AFTER_MS) continue;
      if (!isDeclared(cluster)) forget(cluster);
      else if (leads()) over(cluster, () => true);
    }
    shorten(MOST_UNDECLARED, true);
  };
  cancel = clock.schedule(LOOK_MS, look);
  const unfollow = shared.follow();

  return {
    /** A caller was refused. */
    refused: ({ cluster, isProven, wasConnected, ...refusal }: RelayRefusal): void => {
      // First of its network, so that one caller does not hide others.
      if (!isProven && (mayNoteOf(networkOf(refusal.address)) > 0 || mayNote('') > 0)) return;
      const before = shared.get(cluster);
      if (before === undefined && !isDeclared(cluster) && !shorten(MOST_UNDECLARED - 1, isProven)) return;
      count(counts, cluster, refusal.reason);
      // The status shows whole seconds.
      const last: AgentRefusal = { ...refusal, at: Math.floor(clock.now() / 1000) * 1000 };
      const next = nextRecord(before, { last, isProven, wasConnected });
      // A caller who proves nothing takes none of the records of the agent.
      if (next !== undefined && mayRecord(`${cluster} ${isProven}`) === 0) shared.set(cluster, next);
    },
    /** The agent of a cluster is connected. What had refused it before is over; if its stream had been ended, after a while. */
    connected: (cluster: string): void => {
      over(cluster, ({ wasConnected }) => !wasConnected);
      settling.begin(cluster);
    },
    disconnected: settling.end,
    /** The last refusal of a cluster's name; undefined: none, or it is over. */
    of: (cluster: string): AgentRefusal | undefined => {
      const record = shared.get(cluster);
      return record === undefined || record.isOver ? undefined : record.last;
    },
    /** The names that no source declares. Callers of them were refused. */
    undeclared: (): readonly string[] =>
      [...shared.entries()].map(([cluster]) => cluster).filter((cluster) => !isDeclared(cluster)),
    counts: (): ReadonlyMap<string, ReadonlyMap<string, number>> => counts,
    stop: (): Promise<void> => {
      cancel();
      settling.stop();
      return unfollow();
    },
  };
}

/** Calls `settled` for a cluster whose agent has been connected for {@link GOOD_AFTER_MS}. */
function createSettling(clock: Clock, settled: (cluster: string) => void) {
  const cancels = new Map<string, () => void>();
  const end = (cluster: string): void => {
    cancels.get(cluster)?.();
    cancels.delete(cluster);
  };
  const begin = (cluster: string): void => {
    end(cluster);
    const cancel = clock.schedule(GOOD_AFTER_MS, () => settled(cluster));
    cancels.set(cluster, cancel);
  };
  const stop = (): void => {
    for (const cluster of [...cancels.keys()]) end(cluster);
  };
  return { begin, end, stop };
}

type OfCluster = readonly [cluster: string, record: RefusalRecord];

/** The name to forget first; one that is proven only `forProven`. */
function leastOf(undeclared: readonly OfCluster[], forProven: boolean): string | undefined {
  const unproven = undeclared.filter(([, record]) => !record.isProven);
  if (unproven.length > 0)
    return oldestOf(ofFullestNetworks(unproven, ([, { last }]) => networkOf(last.address)).items);
  return forProven ? oldestOf(undeclared) : undefined;
}

function oldestOf(records: readonly OfCluster[]): string | undefined {
  if (records.length === 0) return undefined;
  return records.reduce((oldest, next) => (isOlder(next, oldest) ? next : oldest))[0];
}

/** By name at the same time, so that all replicas agree. */
function isOlder([name, { last }]: OfCluster, [otherName, other]: OfCluster): boolean {
  return last.at === other.last.at ? name < otherName : last.at < other.last.at;
}

function count(counts: Map<string, Map<string, number>>, cluster: string, reason: string): void {
  const own = counts.get(cluster) ?? new Map<string, number>();
  counts.set(cluster, own);
  if (own.size >= MOST_REASONS && !own.has(reason)) return;
  own.set(reason, (own.get(reason) ?? 0) + 1);
}

/** The record after a refusal; undefined: it stays. */
export function nextRecord(
  before: RefusalRecord | undefined,
  { last, isProven, wasConnected }: Pick<RefusalRecord, 'last' | 'isProven' | 'wasConnected'>,
): RefusalRecord | undefined {
  const fresh: RefusalRecord = { last, shown: last, isProven, wasConnected, isOver: false };
  if (before === undefined || before.isOver) return fresh;
  const age = last.at - before.last.at;
  const isOther = last.reason !== before.last.reason || last.address !== before.last.address;
  // A caller who proves nothing does not hide what the agent of the cluster is told.
  if (before.isProven && !isProven && age < SHOW_AGAIN_MS) return undefined;
  if (isOther && CONSEQUENCES.includes(last.reason) && age < SHOW_EVERY_MS) return undefined;
  if (!isOther && age < RECORD_EVERY_MS) return undefined;
  const shownFor = last.at - before.shown.at;
  const isOtherReason = last.reason !== before.shown.reason;
  const isShown = (isProven && !before.isProven) || shownFor >= (isOtherReason ? SHOW_EVERY_MS : SHOW_AGAIN_MS);
  return { ...fresh, shown: isShown ? last : before.shown };
}
