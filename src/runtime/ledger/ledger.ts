import type { AgentValue } from '../../engine/inputs.ts';
import type { ClusterName } from '../../model/fleet/ids.ts';
import { type Registration, reportedIn } from '../../model/fleet/ledger.ts';
import type { Receipt } from '../../model/fleet/receipt.ts';
import type { StoreWrite } from '../../ports/snapshot-store.ts';
import type { ServerCore } from '../core.ts';
import { logKeysOf } from '../history/records.ts';
import type { ReceiptingWriter, RecordWriter, WriteGuard } from '../stored/group.ts';
import type { Journal } from '../stored/journal.ts';
import {
  type ClusterReadings,
  type ClusterWriters,
  clusterMapName,
  createClusterState,
  createClusterWriters,
  createWriters,
  snapshotMaps,
  stageClusterReadings,
  validReadings,
} from './cluster-state.ts';
import { type LedgerRecords, type Revocation, recordedInputs, recordKey } from './records.ts';
import { createRegistrations } from './registrations.ts';

type LedgerDeps = Pick<ServerCore, 'engine' | 'journal' | 'fleet' | 'records' | 'clock'>;

/** Time limit for writing a cluster once; a second write of the cluster waits as long. */
const WRITE_ONCE_MS = 10 * 60 * 1000;

export type Ledger = ReturnType<typeof createLedger>;

/**
 * State that outlasts a change or a restart. Each change is staged in the engine and queued for the store in one step.
 * `ownsAll`: no other process writes to the store. Otherwise a cluster is written after `own`, and the epoch by the leader.
 */
export function createLedger(deps: LedgerDeps, { ownsAll }: { readonly ownsAll: boolean }) {
  const { engine, journal, fleet, records, clock } = deps;
  const writers = createClusterWriters(journal, ownsAll);
  let epoch = records.epoch ?? clock.now();
  const writerOf = (cluster: string): ReceiptingWriter => writers.of(cluster)?.records ?? fleet;
  const { remember, end, ...registrations } = createRegistrations({ ...deps, epoch: () => epoch, writerOf });
  const own = (cluster: string, readings: ClusterReadings, guard?: WriteGuard): void => {
    const written = writers.own(cluster, readings, guard);
    const registration = registrations.registration(cluster);
    if (registration !== undefined) written.records.noted(recordKey.registration(cluster), registration);
    dropInvalid(written, readings, registration !== undefined);
  };
  loadRecords(deps);
  if (ownsAll) {
    if (records.epoch === undefined) journal.put(recordKey.epoch, { epoch });
    else journal.noted(recordKey.epoch, { epoch });
    for (const cluster of knownClusters(records)) own(cluster, records.readings.get(cluster) ?? {});
  }
  const isOwned = (cluster: string, key: string): boolean => {
    const entries = records.readings.get(cluster)?.entries;
    return entries?.type === 'complete' && entries.map.values.has(key);
  };
  loadHolds(deps, records.held, isOwned);

  const deletions = createFleetDeletions(fleet);
  const state = createClusterState(engine, writers, completeClusters(records));
  /** Forgets snapshot and holds of the cluster: its name now belongs to another cluster id. */
  const forgetCluster = (cluster: string): void => {
    state.forgetSnapshot(cluster);
    const { held } = recordedInputs(engine, fleet);
    for (const { key } of [...engine.inputs.heldRemovals.latestEntries(cluster)]) held.set(cluster, key, null);
  };

  return {
    ...state,
    ...registrations,
    ...createAdmittedRevisions(deps),
    epoch: () => epoch,
    /** Another replica has begun this epoch; a lower one is ignored. */
    raiseEpoch: (to: number): void => {
      epoch = Math.max(epoch, to);
    },
    /** True if the store had no epoch record: it is new or was lost. */
    wasLost: records.epoch === undefined,
    forgetCluster,
    /**
     * Ends the registration of a cluster that is not declared any more: its name is free, its certificates are void, and its
     * input snapshot is forgotten. Its objects stay in the cluster, and its entries in the ledger.
     */
    endRegistration: (cluster: string): void => {
      end(cluster);
      if (writers.of(cluster) === undefined) deletions.put(cluster);
      forgetCluster(cluster);
      engine.inputs.agents.delete('', cluster);
    },
    /**
     * Makes this process the writer of the cluster's records, or lets it continue, and writes the staged state of the engine.
     * `readings`: the maps in the store, as far as known.
     */
    own: (cluster: string, readings: ClusterReadings, guard?: WriteGuard): void => {
      deletions.drop(cluster);
      if (writers.owns(cluster)) writers.of(cluster)?.records.resume();
      else own(cluster, readings, guard);
      state.write(cluster);
    },
    /**
     * Deletes the assumed-warm record of the cluster in the same batch that writes its registration and maps. False:
     * another process writes the records.
     */
    endAssumedWarm: (cluster: string): boolean => {
      writers.of(cluster)?.records.put(recordKey.assumedWarm(cluster), null);
      return writers.owns(cluster);
    },
    /** Where this process writes records of the cluster; undefined: another process writes them. */
    recordsOf: (cluster: string): RecordWriter | undefined => writers.of(cluster)?.records,
    /** The guard of the cluster's records may allow writes again. */
    resume: (cluster: string): void => writers.of(cluster)?.records.resume(),
    /** Another replica writes the cluster's records from now on. */
    disown: writers.disown,
    /** Takes over the records that another replica wrote; undefined: no registration, no revocation. */
    replicateRegistration: (
      cluster: string,
      registration: Registration | undefined,
      revocation: Revocation | undefined,
    ): void => {
      remember(cluster, registration, revocation);
      if (registration !== undefined) deletions.drop(cluster);
    },
    restore: createRestoring(journal, state),
  };
}

/** The revision of each source that was admitted last. */
function createAdmittedRevisions({ records, fleet }: LedgerDeps) {
  const admitted = new Map([...records.sources].map(([source, { revision }]) => [source, revision]));
  return {
    admittedRevision: (source: string): string | undefined => admitted.get(source),
    admissionReceipt: (source: string): Receipt => fleet.receipt([recordKey.source(source)]),
    setAdmittedRevision: (source: string, revision: string): void => {
      if (admitted.get(source) === revision) return;
      admitted.set(source, revision);
      fleet.put(recordKey.source(source), { revision });
    },
  };
}

/**
 * Returns a function that writes the maps of a cluster once after the store has lost them, for clusters that no replica serves. The
 * write is refused unless `unchanged` holds. At most one write per cluster at a time.
 */
function createRestoring(journal: Journal, { write }: Pick<ReturnType<typeof createClusterState>, 'write'>) {
  const restoring = new Set<string>();
  return async (cluster: string, unchanged: readonly StoreWrite[]): Promise<void> => {
    if (restoring.has(cluster)) return;
    restoring.add(cluster);
    const written = createWriters(journal, cluster, {}, { check: () => unchanged, refused: () => undefined });
    write(cluster, written);
    await journal.flush(WRITE_ONCE_MS);
    restoring.delete(cluster);
    written.records.close();
  };
}

/** Deletes what the store has of ended registrations of clusters that no replica serves. */
function createFleetDeletions(fleet: RecordWriter) {
  const ended = new Set<string>();
  const keysOf = (cluster: string): readonly string[] => [
    recordKey.registration(cluster),
    ...snapshotMaps.map((kind) => clusterMapName(cluster, kind)),
    ...logKeysOf(cluster),
  ];
  return {
    put: (cluster: string): void => {
      ended.add(cluster);
      for (const key of keysOf(cluster)) fleet.put(key, null);
    },
    /** There is a new registration: deletions that wait are dropped, and none is repeated after a loss of the store. */
    drop: (cluster: string): void => {
      if (ended.delete(cluster)) for (const key of keysOf(cluster)) fleet.noted(key, null);
    },
  };
}

/** A registration for a new cluster id; `predecessors`: number of ended registrations of the name. */
export function newRegistration(cluster: ClusterName, id: Registration['id'], predecessors: number): Registration {
  return {
    cluster,
    id,
    predecessors,
    warm: false,
    // Nothing was sent.
    position: { epoch: 0, sequence: 0 },
    connected: false,
    since: 0,
    released: false,
  };
}

/** State of an agent that never connected. */
export const unseenAgent: AgentValue = {
  connected: false,
  since: 0,
  problem: '',
  warm: false,
  assumedWarm: false,
  kindsAsWritten: false,
};

/** Stages the records of the store, and remembers them, so that they are written again if the store loses them. */
function loadRecords({ engine, fleet, records, clock }: LedgerDeps): void {
  const { contenders, lastKnownGood } = recordedInputs(engine, fleet);
  contenders.load(records.contenders);
  lastKnownGood.load(records.declared);
  for (const [name, record] of records.sources) fleet.noted(recordKey.source(name), record);
  for (const [name, record] of records.revocations) fleet.noted(recordKey.revocation(name), record);
  for (const [cluster, registration] of records.registrations) {
    const { id, warm, connected, since, kindsAsWritten = false } = registration;
    // An agent that was connected when the server stopped counts as disconnected since this start.
    const known = { since: connected ? clock.now() : since, id, warm, kindsAsWritten };
    engine.inputs.agents.set('', cluster, { ...unseenAgent, ...known, ...reportedIn(registration) });
  }
  for (const [cluster, readings] of records.readings) {
    stageClusterReadings(engine, cluster, readings, records.registrations.has(cluster));
  }
}

/** Deletes invalid maps, so that a later start does not read them either. */
function dropInvalid(written: ClusterWriters, readings: ClusterReadings, isRegistered: boolean): void {
  if (!isRegistered) written.results.drop();
  if (validReadings(readings, isRegistered).live !== undefined) return;
  written.live.drop();
  written.kinds.drop();
}

/** Clusters whose entries were read completely. */
function completeClusters({ readings }: LedgerRecords): readonly string[] {
  return [...readings].filter(([, { entries }]) => entries?.type === 'complete').map(([cluster]) => cluster);
}

function knownClusters({ registrations, readings }: LedgerRecords): ReadonlySet<string> {
  return new Set([...registrations.keys(), ...readings.keys()]);
}

/** Stages holds, and deletes holds of keys that their cluster does not own. */
export function loadHolds(
  { engine, fleet }: Pick<ServerCore, 'engine' | 'fleet'>,
  records: LedgerRecords['held'],
  isOwned: (cluster: string, key: string) => boolean,
): void {
  const { held } = recordedInputs(engine, fleet);
  for (const [cluster, holds] of records) {
    held.load(new Map([[cluster, new Map([...holds].filter(([key]) => isOwned(cluster, key)))]]));
    for (const key of holds.keys()) if (!isOwned(cluster, key)) fleet.put(recordKey.held(cluster, key), null);
  }
}
