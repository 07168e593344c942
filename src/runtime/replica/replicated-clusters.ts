import type { Engine } from '../../engine/graph.ts';
import { type Registration, reportedIn } from '../../model/fleet/ledger.ts';
import { objectOf, textOf } from '../../model/text/json.ts';
import { errorText } from '../../model/text/messages.ts';
import { given } from '../../model/values/given.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import type { ServerCore } from '../core.ts';
import {
  type ClusterMapKind,
  type ClusterReadings,
  clusterCodecs,
  clusterMapKinds,
  clusterMapName,
  snapshotOf,
  stageClusterMap,
} from '../ledger/cluster-state.ts';
import { type Ledger, unseenAgent } from '../ledger/ledger.ts';
import { type Revocation, recordKey, recordShape } from '../ledger/records.ts';
import { isLater } from '../ledger/registrations.ts';
import type { Shape } from '../ledger/shapes.ts';
import { createKeyedTask } from '../single-flight.ts';
import { jsonWrite, readJson } from '../stored/json-record.ts';
import { atOneMoment, readMap } from '../stored/read-map.ts';
import { changesBetween } from '../stored/stored-map.ts';
import type { Candidacy } from './candidacy.ts';
import { clusterLeaseKey } from './cluster-leases.ts';

interface ReplicatedClusterDeps extends Pick<ServerCore, 'engine' | 'loop' | 'store' | 'clock' | 'log'> {
  readonly ledger: Ledger;
  readonly candidacy: Pick<Candidacy, 'turn'>;
  /** The maps that were read and staged when this process started. */
  readonly readings: ReadonlyMap<string, ClusterReadings>;
  /** This replica serves the cluster, and its own state counts. */
  readonly isOwn: (cluster: string) => boolean;
  /** The cluster's agent is connected to another replica that lives. */
  readonly isConnected: (cluster: string) => boolean;
}

/** Longer than a silent replica counts as alive: by then the replica that serves a cluster has written it again. */
const OLDER_COPY_MS = 12_000;

/** The cluster that a changed record of the store is about. */
export function replicatedCluster(key: string): string | undefined {
  const [prefix, cluster] = key.split('/');
  return prefix === 'clusters' || prefix === 'registrations' || prefix === 'assumed-warm' ? cluster : undefined;
}

/** The small records of a cluster. */
interface ClusterRecords {
  readonly registration: Registration | undefined;
  readonly assumedWarm: boolean;
  readonly revocation: Revocation | undefined;
}

export type ReplicatedClusters = ReturnType<typeof createReplicatedClusters>;

/** Stages what other replicas write of the clusters that they serve: so every replica computes the outputs of all clusters. */
export function createReplicatedClusters(deps: ReplicatedClusterDeps) {
  const { store, isOwn, clock } = deps;
  const known = new Map(deps.readings);
  /** The session of the cluster lease under which the known maps were written. */
  const writers = new Map<string, string>();
  /** Clusters with an older copy in the store, and the monotonic time since when. */
  const older = new Map<string, number>();

  /** The replica that serves the cluster gets time to write it again. If it does not, the older copy is all there is. */
  const waitsForWriter = (cluster: string, isOlder: boolean): boolean => {
    const since = older.get(cluster) ?? clock.monotonic();
    const waits = isOlder && clock.monotonic() - since < OLDER_COPY_MS;
    if (waits) older.set(cluster, since);
    else older.delete(cluster);
    return waits;
  };
  const replicate = async (cluster: string): Promise<void> => {
    if (isOwn(cluster)) return;
    // In this order: the assumed-warm record ends together with the records that replace it, which are read after it.
    const assumedWarm = (await store.get(recordKey.assumedWarm(cluster))) !== undefined;
    const { value: found, version } = await readShaped<Registration>(
      store,
      recordKey.registration(cluster),
      recordShape.registration,
    );
    const before = known.get(cluster) ?? {};
    const { writer, ...maps } = await readMaps(store, cluster, before);
    const isSameWriter = writer === '' || writer === writers.get(cluster);
    const waits = waitsForWriter(cluster, isSameWriter && isOlderCopy(before, maps));
    const after = waits ? before : maps;
    const revoked = await readShaped<Revocation>(store, recordKey.revocation(cluster), recordShape.revocation);
    const revocation = revoked.value;
    // Whether the cluster is still declared is known when all is committed.
    if (found === undefined) await deps.loop.settled();
    // The agent may have connected to this replica meanwhile.
    if (isOwn(cluster)) return;
    const isEnded = found !== undefined && hasEnded(deps, found);
    const registration = isEnded ? undefined : (found ?? lostRegistration(deps, cluster, revocation));
    if (writer !== '') writers.set(cluster, writer);
    known.set(cluster, stage(deps, cluster, { registration, assumedWarm, revocation }, before, after));
    const isLost =
      waits || clusterMapKinds.some((kind) => before[kind]?.type === 'complete' && after[kind]?.type !== 'complete');
    if (registration !== undefined && (found === undefined || isLost)) void restore(deps, cluster, version);
  };
  const task = createKeyedTask(deps, 'reading what other replicas have written', {
    each: replicate,
    all: async () => {
      const clusters = new Set([...deps.ledger.registrations()].map(({ cluster }) => cluster as string));
      const prefix = recordKey.registration('');
      for await (const { key } of store.list(prefix)) clusters.add(key.slice(prefix.length));
      return clusters;
    },
    later: () => older.keys(),
  });
  return {
    /** The records of the cluster may have changed; without a cluster, any records. */
    wake: task.wake,
    /** Resolves when all records that are known to have changed were read; rejects if one of them cannot be read. */
    settled: task.settled,
    /** The maps of a cluster as read last. */
    readings: (cluster: string): ClusterReadings => known.get(cluster) ?? {},
    /** This replica writes the cluster from now on: the readings are outdated soon. */
    forget: (cluster: string): void => {
      known.delete(cluster);
      writers.delete(cluster);
      older.delete(cluster);
    },
    stop: task.stop,
  };
}

/** `value` is undefined if there is no record, or if it is damaged. */
async function readShaped<Value>(store: SnapshotStore, key: string, shape: Shape) {
  const { value, version } = await readJson(store, key);
  return { value: value !== undefined && shape(value) ? (value as Value) : undefined, version };
}

async function readMaps(
  store: SnapshotStore,
  cluster: string,
  before: ClusterReadings,
): Promise<Required<ClusterReadings> & { readonly writer: string }> {
  const lease = clusterLeaseKey(cluster);
  const names = clusterMapKinds.map((kind) => clusterMapName(cluster, kind));
  return atOneMoment(store, [lease, ...names], async () => ({
    writer: textOf(objectOf((await readJson(store, lease)).value).session),
    entries: await read(store, cluster, 'entries', before),
    live: await read(store, cluster, 'live', before),
    kinds: await read(store, cluster, 'kinds', before),
    results: await read(store, cluster, 'results', before),
  }));
}

async function read<Kind extends ClusterMapKind>(
  store: SnapshotStore,
  cluster: string,
  kind: Kind,
  before: ClusterReadings,
): Promise<NonNullable<ClusterReadings[Kind]>> {
  const last = before[kind];
  const map = last?.type === 'complete' ? last.map : undefined;
  return (await readMap(store, clusterMapName(cluster, kind), clusterCodecs[kind], map as never)) as never;
}

/**
 * The sequence of one writer only rises. A lower one means that an older copy of the store is in use, and that the writer has
 * not written again yet.
 */
function isOlderCopy(before: ClusterReadings, found: ClusterReadings): boolean {
  return clusterMapKinds.some((kind) => {
    const [last, now] = [before[kind], found[kind]];
    return last?.type === 'complete' && now?.type === 'complete' && now.map.sequence < last.map.sequence;
  });
}

/** The leader has ended this registration, and could not delete its record yet. */
function hasEnded({ ledger, candidacy }: ReplicatedClusterDeps, { cluster, predecessors }: Registration): boolean {
  return candidacy.turn() !== undefined && predecessors < (ledger.revocation(cluster)?.ended ?? 0);
}

/**
 * A registration that is missing from the store was lost with it, unless the cluster was deregistered: then it is not
 * declared any more, or its certificates were revoked since. Undefined: there is none.
 */
function lostRegistration(
  { engine, ledger }: ReplicatedClusterDeps,
  cluster: string,
  revocation: Revocation | undefined,
): Registration | undefined {
  const isRevoked = revocation !== undefined && isLater(revocation, ledger.revocation(cluster));
  const isOver = engine.clusters.get('', cluster) === undefined || isRevoked;
  return isOver ? undefined : ledger.registration(cluster);
}

/**
 * The leader writes the lost records of a cluster again, on condition that no replica serves it, and that none has served it since
 * its registration was read: this process does not know yet what that one has written. `version`: of the registration, as read.
 */
async function restore(
  { store, log, ledger, candidacy }: ReplicatedClusterDeps,
  cluster: string,
  version: string | null,
) {
  if (candidacy.turn() === undefined) return;
  const isFree = { key: clusterLeaseKey(cluster), ifVersion: null };
  const key = recordKey.registration(cluster);
  try {
    await ledger.restore(cluster, [isFree, { key, ifVersion: version }]);
    // The last record: after it the condition does not hold any more.
    const registration = ledger.registration(cluster);
    if (registration !== undefined) await store.write([isFree, jsonWrite(key, registration as never, version)]);
  } catch (error) {
    log.debug('the lost records of a cluster could not be written again', { cluster, error: errorText(error) });
  }
}

/** Returns the readings that are staged now. */
function stage(
  deps: ReplicatedClusterDeps,
  cluster: string,
  { registration, assumedWarm, revocation }: ClusterRecords,
  before: ClusterReadings,
  after: ClusterReadings,
): ClusterReadings {
  const { engine, loop, ledger } = deps;
  // The input snapshot belongs to a registration, also if the store still has it.
  const isOther = registration?.id !== ledger.registration(cluster)?.id;
  const last = isOther ? onlyEntries(before) : before;
  const now = registration === undefined ? onlyEntries(after) : after;
  loop.transact(() => {
    ledger.replicateRegistration(cluster, registration, revocation);
    stageAgent(deps, cluster, registration, assumedWarm);
    if (isOther || registration === undefined) ledger.forgetSnapshot(cluster);
    for (const kind of clusterMapKinds) stageKind(engine, cluster, kind, last, now);
    if (now.entries?.type === 'complete') ledger.markEntriesComplete(cluster);
    if (now.live?.type === 'complete' && now.kinds?.type === 'complete') {
      engine.inputs.snapshots.set('', cluster, snapshotOf(now.live.map));
    } else if (now.live?.type === 'complete') {
      // A part of a first snapshot replaces the objects of the one that is staged here, so their absence proves nothing.
      const held = engine.inputs.snapshots.latest('', cluster);
      if (held !== undefined) engine.inputs.snapshots.set('', cluster, { ...held, isArriving: true });
    }
  });
  return now;
}

function onlyEntries({ entries }: ClusterReadings): ClusterReadings {
  return given({ entries });
}

/** A damaged or missing map does not count as empty: the staged values stay. */
function stageKind<Kind extends ClusterMapKind>(
  engine: Engine,
  cluster: string,
  kind: Kind,
  before: ClusterReadings,
  after: ClusterReadings,
): void {
  const [last, now] = [before[kind], after[kind]];
  if (now?.type !== 'complete') return;
  if (last?.type === 'complete') {
    stageClusterMap(engine, cluster, kind, changesBetween(last.map as never, now.map as never) as never);
    return;
  }
  const { ledger: entries, live, kinds, results } = engine.inputs;
  const input = { entries, live, kinds, results }[kind];
  const gone = [...input.latestEntries(cluster)].filter(({ key }) => !now.map.values.has(key));
  stageClusterMap(
    engine,
    cluster,
    kind,
    Array.from(gone, ({ key }) => [key, null] as const),
  );
  stageClusterMap(engine, cluster, kind, now.map.values as never);
}

/**
 * Stages the agent of a cluster. An assumption that this process holds stays until the cluster is warm: after the loss of a
 * store, a registration can be in the store before the assumed-warm record that another replica or this one is writing.
 */
function stageAgent(
  { engine, isConnected }: ReplicatedClusterDeps,
  cluster: string,
  registration: Registration | undefined,
  isRecorded: boolean,
): void {
  const { agents } = engine.inputs;
  const isHeld = agents.latest('', cluster)?.assumedWarm === true;
  const assumedWarm = (isRecorded || isHeld) && registration?.warm !== true;
  if (registration !== undefined) {
    const { id, warm, since, kindsAsWritten = false } = registration;
    agents.set('', cluster, {
      ...unseenAgent,
      connected: isConnected(cluster),
      since,
      id,
      warm,
      assumedWarm,
      kindsAsWritten,
      ...reportedIn(registration),
    });
  } else if (assumedWarm) agents.set('', cluster, { ...unseenAgent, assumedWarm });
  else agents.delete('', cluster);
}
