import type { AgentHolding, ObjectResult } from '../../model/agent/agent.ts';
import type { OutputPosition, SequencedDelta } from '../../model/fleet/output.ts';
import type { ServerCore } from '../core.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { recordKey } from '../ledger/records.ts';
import { createKeyedTask } from '../single-flight.ts';
import type { RecordWriter } from '../stored/group.ts';
import { type DeltaDraft, draftOf } from './changes.ts';
import { type ClusterLog, createClusterLog, type DeltaEnd } from './cluster-log.ts';
import { type DeltaRecord, inOrder, logKeysOf, MOST_DELTAS, readLog, type StoredLog, storedDelta } from './records.ts';

type HistoryDeps = Pick<ServerCore, 'engine' | 'store' | 'fleet' | 'clock' | 'log'> & {
  readonly ledger: Pick<Ledger, 'recordsOf' | 'registration'>;
};

/** Milliseconds after the first outcome of an object until outcomes are written together. */
const GATHER_MS = 1_000;
/** One cluster whose agent is or was connected to this server. */
interface Followed {
  /** Undefined until the store was read. */
  log: ClusterLog | undefined;
  /** The writer of its records. As long as it is the same one, no other process has written them, and the log is up to date. */
  readonly writer: RecordWriter | undefined;
  /** What has happened since, in its order. */
  readonly waiting: ((log: ClusterLog) => void)[];
  /** Its session has ended. */
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
  const { engine, store, clock, ledger } = deps;
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
    /** Resolves when all that was noted of the cluster is with the writer of its records; rejects if the store does not answer. */
    settled: logs.open,
    /** Its registration has ended: its log is deleted with it, since the process may end before a later write. */
    end: logs.end,
    /** A delta was made, by the state of the last commit. `rest`: the number of changes that wait for the next one. */
    sent: (cluster: string, delta: SequencedDelta, rest = 0): void => {
      const draft: DeltaDraft = { ...draftOf(engine, cluster, delta, clock.now()), rest };
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
    read: async (cluster: string): Promise<readonly DeltaRecord[]> => {
      const log = logs.get(cluster);
      if (log !== undefined) return log.records();
      const { deltas } = await readLog(store, cluster, () => ledger.registration(cluster));
      return [...deltas.values()].sort(inOrder);
    },
    /** Writes what waits. */
    stop: async (): Promise<void> => {
      await logs.stop();
      flush();
    },
  };
}

/** The logs of the clusters whose agents are or were connected to this server. `left`: the session of a log is over. */
function createFollowedLogs(deps: HistoryDeps, left: (log: ClusterLog) => void) {
  const { store, ledger } = deps;
  const followed = new Map<string, Followed>();

  const isCurrent = (cluster: string, { writer }: Followed): boolean =>
    writer !== undefined && writer === ledger.recordsOf(cluster);
  const open = async (cluster: string): Promise<void> => {
    const one = followed.get(cluster);
    if (one === undefined || one.log !== undefined) return;
    const stored = await readLog(store, cluster, () => ledger.registration(cluster));
    // It may have gone, and come back, meanwhile; or it is read already.
    if (followed.get(cluster) !== one || one.log !== undefined) return;
    if (!isCurrent(cluster, one)) return void followed.delete(cluster);
    one.log = openLog(deps, cluster, stored);
    for (const act of one.waiting.splice(0)) act(one.log);
  };
  const task = createKeyedTask(deps, 'reading what was sent to a cluster', { each: open });
  const leave = (cluster: string): void => {
    const one = followed.get(cluster);
    if (one === undefined || one.hasLeft) return;
    one.hasLeft = true;
    const end = (log: ClusterLog): void => {
      log.left();
      left(log);
    };
    // What waits is noted when the store was read.
    if (one.log === undefined) one.waiting.push(end);
    else end(one.log);
  };
  return {
    /** Undefined: its log is not read, or another server has it. */
    get: (cluster: string): ClusterLog | undefined => {
      const one = followed.get(cluster);
      return one !== undefined && isCurrent(cluster, one) ? one.log : undefined;
    },
    follow: (cluster: string): void => {
      leave(cluster);
      const one = followed.get(cluster);
      const writer = ledger.recordsOf(cluster);
      if (one !== undefined && isCurrent(cluster, one)) one.hasLeft = false;
      else followed.set(cluster, { log: undefined, writer, waiting: [], hasLeft: false });
      task.wake(cluster);
    },
    leave,
    open,
    end: (cluster: string): void => {
      const one = followed.get(cluster);
      if (one?.log !== undefined) left(one.log);
      followed.delete(cluster);
      const writer = ledger.recordsOf(cluster) ?? deps.fleet;
      for (const key of logKeysOf(cluster)) writer.put(key, null);
    },
    /** Acts once the log is read. */
    act: (cluster: string, what: (log: ClusterLog) => void): void => {
      const one = followed.get(cluster);
      if (one === undefined || one.hasLeft) return;
      if (one.log === undefined) one.waiting.push(what);
      else what(one.log);
      // The store does not answer: what is oldest would be dropped anyway.
      if (one.waiting.length > MOST_DELTAS) one.waiting.shift();
    },
    /** Reads once more the logs that were not read: what waits for them would be lost. */
    stop: async (): Promise<void> => {
      await task.stop();
      await Promise.allSettled([...followed.keys()].map(open));
    },
  };
}

/** The log of a cluster whose records this process writes. */
function openLog({ ledger, clock }: HistoryDeps, cluster: string, { deltas, outdated }: StoredLog): ClusterLog {
  const stored = (record: DeltaRecord) => storedDelta(record, ledger.registration(cluster) ?? { predecessors: 0 });
  const write = (slot: number, record: DeltaRecord | null): void =>
    ledger.recordsOf(cluster)?.put(recordKey.history(cluster, slot), record && stored(record));
  const records = ledger.recordsOf(cluster);
  for (const [slot, record] of deltas) records?.noted(recordKey.history(cluster, slot), stored(record));
  for (const slot of outdated) write(slot, null);
  return createClusterLog(deltas, write, clock.now);
}
