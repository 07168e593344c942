import type { AgentHello } from '../../model/agent/agent.ts';
import type { AdmissionPosition } from '../../model/fleet/output.ts';
import type { Receipt } from '../../model/fleet/receipt.ts';
import { type JsonValue, objectOf, parseJsonBytes, textOf } from '../../model/text/json.ts';
import type { StoreWrite } from '../../ports/snapshot-store.ts';
import type { AgentSession, HelloDecision } from '../../relay/session.ts';
import type { ServerCore } from '../core.ts';
import type { ServerBus } from '../events.ts';
import { createKeyedTask } from '../single-flight.ts';
import type { WriteGuard } from '../stored/group.ts';
import { jsonWrite, readJson } from '../stored/json-record.ts';
import { parsePosition, positionJson } from './admission.ts';
import type { Peers } from './peers.ts';

/** The record that names the replica which serves a cluster's agent. */
export interface ClusterLease {
  readonly replica: string;
  /** Of the agent's process; empty: the lease was revoked, and no replica serves the cluster. */
  readonly instance: string;
  /** Identifies this lease: a later one for the same cluster has another session. */
  readonly session: string;
  /** The admission that the agent states, if it counts (`countedStatement`). */
  readonly stated: AdmissionPosition | undefined;
}

interface ClusterLeaseDeps extends Pick<ServerCore, 'store' | 'clock' | 'log'> {
  readonly peers: Pick<Peers, 'isAlive' | 'probe'>;
  readonly events: Pick<ServerBus, 'emit'>;
  /** Writes what waits of the records of a cluster. False: not all of it is in the store. Never rejects. */
  readonly flush: (cluster: string) => Promise<boolean>;
  /** Ends the writing of the records of a cluster at once: another replica writes them, or has written them. */
  readonly disown: (cluster: string) => void;
}

interface Own {
  readonly session: AgentSession;
  readonly lease: ClusterLease;
  /** Version of the lease in the store; undefined: it is not there. */
  version: string | undefined;
  /** The store was lost after this version was read. */
  wasStoreLost: boolean;
}

interface State {
  readonly deps: ClusterLeaseDeps;
  readonly id: string;
  readonly own: Map<string, Own>;
  readonly others: Map<string, ClusterLease>;
  /** Versions of leases whose sessions are over; null: the lease was lost with the store. */
  readonly leaving: Map<string, string | null>;
  /** Clusters whose lease another replica has taken, and whose records this replica still has to give up. */
  readonly lost: Set<string>;
  /** Clusters whose lease is to be revoked, with the write of the same batch. */
  readonly revocations: Map<string, { readonly write: StoreWrite; readonly done: (isWritten: boolean) => void }>;
}

const PREFIX = 'cluster-leases/';
export const clusterLeaseKey = (cluster: string): string => PREFIX + cluster;

export type ClusterLeases = ReturnType<typeof createClusterLeases>;

/** Decides which replica serves which agent: one at a time, by compare-and-set in the store. */
export function createClusterLeases(deps: ClusterLeaseDeps, id: string) {
  const state: State = {
    deps,
    id,
    own: new Map(),
    others: new Map(),
    leaving: new Map(),
    lost: new Set(),
    revocations: new Map(),
  };
  const { own, others, leaving, lost, revocations } = state;
  let isStuck = false;
  let sessions = 0;
  const task = createKeyedTask(deps, 'requesting cluster leases', {
    all: () => findChanged(state),
    each: (cluster) => settle(state, cluster),
    ended: (ok) => {
      const wasStuck = isStuck;
      isStuck = !ok;
      // Agents that waited for the lease are served without it.
      if (isStuck && !wasStuck) for (const cluster of own.keys()) deps.events.emit('leaseMoved', cluster);
    },
  });
  return {
    /** The lease may have changed in the store; without a cluster, any lease. */
    wake: task.wake,
    /** Resolves when all leases that are known to have changed were read; rejects if one of them cannot be read. */
    settled: task.settled,
    /** What another replica's lease means for this hello; undefined: nothing. */
    judge: (hello: AgentHello) => judgeHello(deps, others.get(hello.cluster), hello),
    /** The agent is connected here: requests the lease. `stated`: see {@link ClusterLease.stated}. */
    connected: (session: AgentSession, stated: AdmissionPosition | undefined): void => {
      const { cluster, instance } = session.hello;
      sessions += 1;
      if (lost.delete(cluster)) deps.disown(cluster);
      const lease = { replica: id, instance, session: `${id}/${sessions}`, stated };
      own.set(cluster, { session, lease, version: undefined, wasStoreLost: false });
      // The new lease ends the other one as well, and the write of the revocation may be outdated later.
      revocations.get(cluster)?.done(true);
      revocations.delete(cluster);
      task.wake(cluster);
    },
    disconnected: (session: AgentSession): void => {
      const { cluster } = session.hello;
      const mine = own.get(cluster);
      if (mine?.session !== session) return;
      own.delete(cluster);
      if (mine.version !== undefined) leaving.set(cluster, mine.wasStoreLost ? null : mine.version);
      task.wake(cluster);
    },
    /** Ends the lease of another replica, and makes this write in the same batch; the agent must connect again. */
    revoke: (cluster: string, write: StoreWrite): Receipt => {
      const { promise: written, resolve: done } = Promise.withResolvers<boolean>();
      // The later write is also what the earlier one waits for.
      void written.then(revocations.get(cluster)?.done);
      revocations.set(cluster, { write, done });
      task.wake(cluster);
      return { written, problem: () => undefined, cancel: () => undefined };
    },
    /** The store was lost: a missing lease does not show that another replica had it. */
    storeLost: (): void => {
      for (const mine of own.values()) mine.wasStoreLost = true;
      for (const cluster of leaving.keys()) leaving.set(cluster, null);
    },
    /** The lease of this replica for the cluster is in the store. */
    holds: (cluster: string): boolean => own.get(cluster)?.version !== undefined,
    /** This replica has a session of the cluster, with or without the lease. */
    serves: (cluster: string): boolean => own.has(cluster),
    /** It serves the cluster, or has not yet released the lease of its last session: no other replica writes its records. */
    owns: (cluster: string): boolean => own.has(cluster) || leaving.has(cluster),
    /** Leases of other replicas, as read last. */
    others: (): ReadonlyMap<string, ClusterLease> => others,
    /** Leases cannot be written at the moment: agents are served without them. */
    isStuck: (): boolean => isStuck,
    /** Lets the records of a cluster be written while the lease is unchanged. */
    guard: (cluster: string): WriteGuard => ({
      check: () => {
        const version = (own.has(cluster) ? own.get(cluster)?.version : leaving.get(cluster)) ?? undefined;
        return version === undefined ? undefined : { key: clusterLeaseKey(cluster), ifVersion: version };
      },
      refused: () => task.wake(cluster),
    }),
    /** Releases all leases. */
    stop: async (): Promise<void> => {
      await task.stop();
      await releaseAll(state);
    },
  };
}

function judgeHello(
  { peers }: ClusterLeaseDeps,
  other: ClusterLease | undefined,
  { cluster, instance }: AgentHello,
): HelloDecision | undefined {
  if (other === undefined || other.instance === instance || !peers.isAlive(other.replica)) return undefined;
  const where = `replica ${other.replica} of the server (instance ${other.instance})`;
  return peers.probe(cluster, other.session) === 'alive'
    ? {
        type: 'refused',
        reason: 'SecondAgent',
        message: `another agent of cluster ${cluster} is connected to ${where}; one cluster has one agent`,
      }
    : {
        type: 'retry',
        reason: 'ProbingOther',
        message: `another agent of cluster ${cluster} was connected to ${where}; it is being asked whether it lives`,
      };
}

/** The clusters whose lease in the store is not the known one. */
async function findChanged({ deps, own, others }: State): Promise<Iterable<string>> {
  const changed = new Set([...own.keys(), ...others.keys()]);
  for await (const { key, value, version } of deps.store.list(PREFIX)) {
    const cluster = key.slice(PREFIX.length);
    const { session } = parseLease(parseJsonBytes(value)) ?? {};
    const isKnown = own.get(cluster)?.version === version || others.get(cluster)?.session === session;
    if (isKnown) changed.delete(cluster);
    else changed.add(cluster);
  }
  return changed;
}

/** Makes the lease in the store and the state of this replica agree. */
async function settle(state: State, cluster: string): Promise<void> {
  const { deps, id, own, others, leaving, revocations } = state;
  for (;;) {
    const found = await readJson(deps.store, clusterLeaseKey(cluster));
    const lease = parseLease(found.value);
    const mine = own.get(cluster);
    const revocation = revocations.get(cluster);
    if (mine === undefined && revocation !== undefined) {
      // The record stays: without one, the replica that has lost the lease would request it again.
      const revoked = { replica: id, instance: '', session: `${id}/taken/${found.version}`, stated: lease?.stated };
      const outcome = await deps.store.write([leaseWrite(cluster, revoked, found.version), revocation.write]);
      if (outcome === 'written' && revocations.get(cluster) === revocation) revocations.delete(cluster);
      if (outcome === 'written') revocation.done(true);
      continue;
    }
    if (mine === undefined) {
      // The lease of an earlier session of this process.
      if (lease?.replica === id && lease.instance !== '') {
        // That session may have ended before the answer to its request arrived: its records are written before the lease is released.
        if (found.version !== null && !leaving.has(cluster)) leaving.set(cluster, found.version);
        await letGo(state, cluster, found.version);
      }
      const left = leaving.get(cluster);
      leaving.delete(cluster);
      // The agent has connected here again meanwhile.
      if (own.has(cluster)) continue;
      if (left === found.version) return undefined;
      // Another replica may have written records of the cluster that were not read, because it was an own one.
      if (left !== undefined || lease?.session !== others.get(cluster)?.session) deps.disown(cluster);
      return noteOther(state, cluster, lease);
    }
    if (lease?.session === mine.lease.session) {
      mine.version = found.version ?? undefined;
      mine.wasStoreLost = false;
      others.delete(cluster);
      leaving.delete(cluster);
      return deps.events.emit('leaseMoved', cluster);
    }
    // It was in the store, and another lease is there now.
    if (mine.version !== undefined && lease !== undefined) return lose(state, cluster, mine, lease);
    // The store has lost it. Or this process was suspended, and another replica has served the agent and released the lease.
    if (mine.version !== undefined && !(await mine.session.probe())) return lose(state, cluster, mine, undefined);
    // Another replica has had the lease since the last session here: what was kept of the cluster is outdated.
    const left = leaving.get(cluster);
    if (left !== undefined && left !== found.version) return lose(state, cluster, mine, lease);
    mine.version = undefined;
    await deps.store.write([leaseWrite(cluster, mine.lease, found.version)]);
  }
}

function noteOther({ deps, id, others }: State, cluster: string, lease: ClusterLease | undefined): void {
  const other = lease === undefined || lease.replica === id || lease.instance === '' ? undefined : lease;
  if (other === undefined) others.delete(cluster);
  else others.set(cluster, other);
  deps.events.emit('leaseMoved', cluster);
}

/** `to`: the lease of another replica; undefined: there is none. */
function lose(state: State, cluster: string, mine: Own, to: ClusterLease | undefined): void {
  const { deps, own, leaving, lost } = state;
  const { session } = mine;
  // Its session may have ended meanwhile, and the agent may be back.
  if (own.get(cluster) !== mine) return;
  own.delete(cluster);
  leaving.delete(cluster);
  lost.add(cluster);
  deps.log.info('this replica has lost the lease of a cluster', { cluster, replica: to?.replica ?? null });
  session.close('drain', 'ClaimLost', 'another replica of the server serves this cluster now');
  noteOther(state, cluster, to);
  // The other replica writes the records of the cluster from now on.
  void release(state, cluster).then(() => {
    lost.delete(cluster);
    deps.events.emit('leaseMoved', cluster);
  });
}

/** Makes the records of a cluster durable after the end of its session, and ends the writing of them. False: they are not yet. */
async function release({ deps, own, leaving }: State, cluster: string): Promise<boolean> {
  const isDurable = await deps.flush(cluster);
  // Its agent may have reconnected meanwhile.
  if (own.has(cluster)) return true;
  // What waits would be lost, and the lease cannot be released now.
  if (!isDurable && leaving.has(cluster)) return false;
  deps.disown(cluster);
  return true;
}

async function letGo(state: State, cluster: string, version: string | null): Promise<void> {
  const { deps, own } = state;
  if (!(await release(state, cluster))) throw new Error('the records of a cluster are not in the store yet');
  // The agent may have reconnected meanwhile, and keeps the lease.
  if (!own.has(cluster)) await deps.store.write([leaseWrite(cluster, null, version)]);
}

/** Other replicas need not wait until this one counts as silent. */
async function releaseAll(state: State): Promise<void> {
  const { deps, id, own, leaving } = state;
  for (const cluster of new Set([...own.keys(), ...leaving.keys()])) {
    const found = await readJson(deps.store, clusterLeaseKey(cluster)).catch(() => undefined);
    if (found === undefined || parseLease(found.value)?.replica !== id) continue;
    await release(state, cluster);
    await deps.store.write([leaseWrite(cluster, null, found.version)]).catch(() => undefined);
  }
}

/** Null deletes the lease. */
function leaseWrite(cluster: string, lease: ClusterLease | null, ifVersion: string | null): StoreWrite {
  if (lease === null) return jsonWrite(clusterLeaseKey(cluster), null, ifVersion);
  const { stated, ...json } = lease;
  const position = stated === undefined ? {} : { stated: positionJson(stated) };
  return jsonWrite(clusterLeaseKey(cluster), { ...json, ...position }, ifVersion);
}

function parseLease(value: JsonValue | undefined): ClusterLease | undefined {
  const { replica, instance, session, stated } = objectOf(value);
  if (textOf(replica) === '' || textOf(session) === '') return undefined;
  return {
    replica: textOf(replica),
    instance: textOf(instance),
    session: textOf(session),
    stated: parsePosition(stated),
  };
}
