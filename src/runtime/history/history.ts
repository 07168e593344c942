import type { AgentHolding, ObjectResult } from '../../model/agent.ts';
import type { OutputPosition, SequencedDelta } from '../../model/output.ts';
import type { ServerCore } from '../core.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { recordKey } from '../ledger/records.ts';
import { createKeyedTask } from '../single-flight.ts';
import { type DeltaDraft, draftOf } from './changes.ts';
import { type ClusterLog, createClusterLog, type DeltaEnd } from './cluster-log.ts';
import { type DeltaRecord, inOrder, MOST_DELTAS, readDeltas } from './records.ts';

type HistoryDeps = Pick<ServerCore, 'engine' | 'store' | 'journal' | 'fleet' | 'clock' | 'log'> & {
  readonly ledger: Pick<Ledger, 'recordsOf' | 'hasUnwritten'>;
};

/** Outcomes of objects are written together, so long after the first of them. */
const GATHER_MS = 1_000;
/** Time limit for writing what an earlier session of a cluster has left. */
const WRITE_MS = 1_000;

/** One cluster whose agent is connected to this server. */
interface Followed {
  /** Undefined until the store was read. */
  log: ClusterLog | undefined;
  /** What has happened since, in its order. */
  readonly waiting: ((log: ClusterLog) => void)[];
  /** Its session has ended before the store was read. */
  hasLeft: boolean;
}

/** Where the sender notes what it sends. */
export type SentDeltas = Pick<History, 'sent' | 'answered'>;
export type History = ReturnType<typeof createHistory>;

/**
 * The log of what was sent to each cluster. The server that serves a cluster writes it, beside the other records of the cluster;
 * each server answers from the store and from its own memory.
 */
export function createHistory(deps: HistoryDeps) {
  const { engine, store, clock } = deps;
  /** Logs with outcomes that are not written yet. */
  const dirty = new Set<ClusterLog>();
  const logs = createFollowedLogs(deps, (log) => void dirty.delete(log));
  let isGathering = false;

  const flush = (): void => {
    for (const log of dirty) log.flush();
    dirty.clear();
  };
  const noted = (log: ClusterLog): void => {
    dirty.add(log);
    if (isGathering) return;
    isGathering = true;
    clock.schedule(GATHER_MS, () => {
      isGathering = false;
      flush();
    });
  };

  return {
    /** An agent is connected, and this server writes the records of its cluster. */
    connected: (cluster: string, holding: Pick<AgentHolding, 'position' | 'entries'>): void => {
      logs.follow(cluster);
      logs.act(cluster, (log) => {
        log.connected(holding, (key) => engine.inputs.results.latest(cluster, key));
        noted(log);
      });
    },
    /** Its session is over: another server may write the records next. */
    disconnected: logs.leave,
    /** Its registration has ended: its log is deleted. */
    end: logs.end,
    /** A delta was made, by the state of the last commit. */
    sent: (cluster: string, delta: SequencedDelta): void => {
      const draft: DeltaDraft = draftOf(engine, cluster, delta, clock.now());
      logs.act(cluster, (log) => log.sent(draft));
    },
    answered: (cluster: string, position: OutputPosition, end: DeltaEnd): void =>
      logs.act(cluster, (log) => log.answered(position, end)),
    results: (cluster: string, results: readonly ObjectResult[]): void =>
      logs.act(cluster, (log) => {
        let isNew = false;
        for (const result of results) if (log.result(result)) isNew = true;
        if (isNew) noted(log);
      }),
    /** Oldest first. Rejects if the store does not answer. */
    read: async (cluster: string): Promise<readonly DeltaRecord[]> =>
      logs.get(cluster)?.records() ?? [...(await readDeltas(store, cluster)).values()].sort(inOrder),
    /** Writes what waits. */
    stop: async (): Promise<void> => {
      flush();
      await logs.stop();
    },
  };
}

/** The logs of the clusters whose agents are connected to this server. `left`: a log is not used any more. */
function createFollowedLogs(deps: HistoryDeps, left: (log: ClusterLog) => void) {
  const { store, journal, ledger } = deps;
  const followed = new Map<string, Followed>();
  /** Clusters whose last records may not be in the store yet. */
  const unwritten = new Set<string>();
  /** Clusters whose logs are to be deleted. */
  const ended = new Set<string>();

  const read = async (cluster: string): Promise<ReadonlyMap<number, DeltaRecord>> => {
    if (unwritten.has(cluster)) {
      const isFlushed = await journal.flush(WRITE_MS);
      // Without the lease of a cluster its records wait, and the journal does not wait for them.
      if (!isFlushed || ledger.hasUnwritten(cluster)) throw new Error('the store is not written');
    }
    unwritten.delete(cluster);
    return readDeltas(store, cluster);
  };
  const erase = async (cluster: string): Promise<void> => {
    const stored = await read(cluster);
    // It is declared again, and its log goes on.
    if (!ended.delete(cluster)) return;
    const writer = ledger.recordsOf(cluster) ?? deps.fleet;
    for (const slot of stored.keys()) writer.put(recordKey.history(cluster, slot), null);
  };
  const open = async (cluster: string): Promise<void> => {
    if (ended.has(cluster)) await erase(cluster);
    const one = followed.get(cluster);
    if (one === undefined || one.log !== undefined) return;
    const stored = await read(cluster);
    // It may have gone, and come back, meanwhile.
    if (followed.get(cluster) !== one) return;
    const log = openLog(deps, cluster, stored);
    one.log = log;
    for (const act of one.waiting.splice(0)) act(log);
    if (one.hasLeft) leave(cluster);
  };
  const task = createKeyedTask(deps, 'reading what was sent to a cluster', { each: open });
  const leave = (cluster: string): void => {
    const one = followed.get(cluster);
    if (one === undefined) return;
    if (one.log === undefined) {
      // What waits is noted when the store was read.
      one.hasLeft = true;
      one.waiting.push((log) => log.left());
      return;
    }
    followed.delete(cluster);
    one.log.left();
    left(one.log);
    unwritten.add(cluster);
  };
  return {
    /** Undefined: its log is not read, or another server has it. */
    get: (cluster: string) => followed.get(cluster)?.log,
    follow: (cluster: string): void => {
      leave(cluster);
      ended.delete(cluster);
      const unread = followed.get(cluster);
      if (unread === undefined) followed.set(cluster, { log: undefined, waiting: [], hasLeft: false });
      else unread.hasLeft = false;
      task.wake(cluster);
    },
    leave,
    end: (cluster: string): void => {
      const log = followed.get(cluster)?.log;
      if (log !== undefined) left(log);
      followed.delete(cluster);
      for (const set of [unwritten, ended]) set.add(cluster);
      task.wake(cluster);
    },
    /** Acts once the log is read. */
    act: (cluster: string, what: (log: ClusterLog) => void): void => {
      const one = followed.get(cluster);
      if (one === undefined) return;
      if (one.log === undefined) one.waiting.push(what);
      else what(one.log);
      // The store does not answer: what is oldest would be dropped anyway.
      if (one.waiting.length > MOST_DELTAS) one.waiting.shift();
    },
    stop: task.stop,
  };
}

/** The log of a cluster whose records this process writes. */
function openLog(
  { ledger, clock }: HistoryDeps,
  cluster: string,
  stored: ReadonlyMap<number, DeltaRecord>,
): ClusterLog {
  const records = ledger.recordsOf(cluster);
  for (const [slot, record] of stored) records?.noted(recordKey.history(cluster, slot), record);
  const write = (slot: number, record: DeltaRecord | null): void =>
    ledger.recordsOf(cluster)?.put(recordKey.history(cluster, slot), record);
  return createClusterLog(stored, write, clock.now);
}
