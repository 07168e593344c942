import type { Engine } from '../../engine/graph.ts';
import type { AgentValue } from '../../engine/inputs.ts';
import type { ClusterName } from '../../model/ids.ts';
import type { Registration } from '../../model/ledger.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { Clock } from '../../ports/clock.ts';
import type { StoreWrite } from '../../ports/snapshot-store.ts';
import type { Journal } from '../stored/journal.ts';
import type { RecordWriter, WriteGuard } from '../stored/write-group.ts';
import { type ClusterReadings, clusterMapName, countsOf, stageClusterReadings } from './cluster-maps.ts';
import { type ClusterState, createClusterState } from './cluster-state.ts';
import { type ClusterWriters, createClusterWriters, createWriters } from './cluster-writers.ts';
import { type LedgerRecords, recordKey } from './records.ts';
import { createRegistrations, type Registrations } from './registrations.ts';
import type { Revocation } from './revocation.ts';

/** State that outlasts a change or a restart. Each change is staged in the engine and queued for the store in one step. */
export interface Ledger extends ClusterState, Registrations {
  readonly epoch: () => number;
  /** Another replica has begun this epoch; a lower one is ignored. */
  raiseEpoch(epoch: number): void;
  /** True if the store had no epoch record: it is new or was lost. */
  readonly wasLost: boolean;
  admittedRevision(source: string): string | undefined;
  setAdmittedRevision(source: string, revision: string): void;
  /** Forgets snapshot and holds of the cluster: its name now belongs to another cluster id. */
  forgetCluster(cluster: string): void;
  /**
   * Ends the registration of a cluster that is not declared any more: its name is free, its certificates are void, and its
   * input snapshot is forgotten. Its objects stay in the cluster, and its entries in the ledger.
   */
  endRegistration(cluster: string): void;
  /**
   * Makes this process the writer of the cluster's records, or lets it continue, and writes the committed state of the engine.
   * `readings`: the maps in the store, as far as known.
   */
  own(cluster: string, readings: ClusterReadings, guard?: WriteGuard): void;
  /**
   * Deletes the assumed-warm record of the cluster in the same batch that writes its registration and maps. False:
   * another process writes the records.
   */
  endAssumedWarm(cluster: string): boolean;
  /** The guard of the cluster's records may allow writes again. */
  resume(cluster: string): void;
  /** Another replica writes the cluster's records from now on. */
  disown(cluster: string): void;
  /**
   * Takes over the records that another replica wrote; undefined: no registration, no revocation.
   */
  replicateRegistration(
    cluster: string,
    registration: Registration | undefined,
    revocation: Revocation | undefined,
  ): void;
  /**
   * Writes the state of a cluster that no replica serves once, after the store has lost it; `check`: still no replica serves
   * it.
   */
  restore(cluster: string, check: StoreWrite): void;
}

interface LedgerDeps {
  readonly engine: Engine;
  readonly journal: Journal;
  /** Writes records that belong to the fleet and not to one cluster. */
  readonly fleet: RecordWriter;
  readonly records: LedgerRecords;
  readonly clock: Clock;
}

/** Epoch and sequence of a cluster that has received no output. */
const NEVER_SENT = 0;
/** Time limit for writing a cluster once; a second write of the cluster waits as long. */
const WRITE_ONCE_MS = 10 * 60 * 1000;

/** `ownsAll`: no other process writes to the store. Otherwise a cluster is written after `own`, and the epoch by the leader. */
export function createLedger(deps: LedgerDeps, { ownsAll }: { readonly ownsAll: boolean }): Ledger {
  const { engine, journal, fleet, records, clock } = deps;
  const admitted = new Map([...records.sources].map(([source, { revision }]) => [source, revision]));
  const writers = createClusterWriters(journal, ownsAll);
  let epoch = records.epoch ?? clock.now();
  const writerOf = (cluster: string): RecordWriter => writers.of(cluster)?.records ?? fleet;
  const { remember, end, ...registrations } = createRegistrations({
    ...deps,
    epoch: () => epoch,
    writerOf,
  });
  const own = (cluster: string, readings: ClusterReadings, guard?: WriteGuard): void => {
    const written = writers.own(cluster, readings, guard);
    const registration = registrations.registration(cluster);
    if (registration !== undefined) written.records.noted(recordKey.registration(cluster), registration);
    dropInvalid(written, readings, registration !== undefined);
  };
  noteRecords(deps);
  stageRecords(deps);
  if (ownsAll) {
    if (records.epoch === undefined) journal.put(recordKey.epoch, { epoch });
    else journal.noted(recordKey.epoch, { epoch });
    for (const cluster of knownClusters(records)) own(cluster, records.readings.get(cluster) ?? {});
  }
  stageHolds(deps);

  /** Drops waiting deletions of an earlier registration: there is a new one. */
  const forgetEarlier = (cluster: string): void => {
    for (const key of fleetKeysOf(cluster)) fleet.noted(key, null);
  };
  const state = createClusterState(engine, writers, completeClusters(records));
  const forgetCluster = (cluster: string): void => {
    state.forgetSnapshot(cluster);
    endHolds(deps, cluster);
  };

  return {
    ...state,
    ...registrations,
    epoch: () => epoch,
    raiseEpoch: (to) => {
      epoch = Math.max(epoch, to);
    },
    wasLost: records.epoch === undefined,
    admittedRevision: (source) => admitted.get(source),
    setAdmittedRevision: (source, revision) => {
      if (admitted.get(source) === revision) return;
      admitted.set(source, revision);
      fleet.put(recordKey.source(source), { revision });
    },
    forgetCluster,
    endRegistration: (cluster) => {
      end(cluster);
      if (writers.of(cluster) === undefined) for (const key of fleetKeysOf(cluster)) fleet.put(key, null);
      forgetCluster(cluster);
      engine.inputs.agents.delete('', cluster);
    },
    own: (cluster, readings, guard) => {
      forgetEarlier(cluster);
      if (writers.owns(cluster)) writers.of(cluster)?.records.resume();
      else own(cluster, readings, guard);
      state.write(cluster);
    },
    endAssumedWarm: (cluster) => {
      writers.of(cluster)?.records.put(recordKey.assumedWarm(cluster), null);
      return writers.owns(cluster);
    },
    resume: (cluster) => writers.of(cluster)?.records.resume(),
    disown: (cluster) => writers.disown(cluster),
    replicateRegistration: (cluster, registration, revocation) => {
      remember(cluster, registration, revocation);
      if (registration !== undefined) forgetEarlier(cluster);
    },
    restore: createRestoring(journal, registrations, state),
  };
}

/** Writes the state of a cluster once; at most one such write per cluster at a time. */
function createRestoring(journal: Journal, registrations: Pick<Registrations, 'registration'>, state: ClusterState) {
  const restoring = new Set<string>();
  return (cluster: string, check: StoreWrite): void => {
    if (restoring.has(cluster)) return;
    restoring.add(cluster);
    const written = createWriters(journal, cluster, {}, { check: () => check, refused: () => undefined });
    written.records.put(recordKey.registration(cluster), registrations.registration(cluster) ?? null);
    state.write(cluster, written);
    void journal.flush(WRITE_ONCE_MS).then(() => {
      restoring.delete(cluster);
      written.records.close();
    });
  };
}

function endHolds({ engine, fleet }: LedgerDeps, cluster: string): void {
  for (const { key } of [...engine.inputs.heldRemovals.entries(cluster)]) {
    engine.inputs.heldRemovals.delete(cluster, key);
    fleet.put(recordKey.held(cluster, key), null);
  }
}

/** Records of a cluster that the fleet's writer deletes if no replica serves the cluster. */
function fleetKeysOf(cluster: string): readonly string[] {
  return [recordKey.registration(cluster), ...snapshotMaps.map((kind) => clusterMapName(cluster, kind))];
}

/** Maps that belong to a registration. */
const snapshotMaps = ['live', 'kinds', 'results'] as const;

/** A registration for a new cluster id; `predecessors`: number of ended registrations of the name. */
export function newRegistration(cluster: ClusterName, id: Registration['id'], predecessors: number): Registration {
  return {
    cluster,
    id,
    predecessors,
    warm: false,
    position: { epoch: NEVER_SENT, sequence: NEVER_SENT },
    connected: false,
    since: 0,
    released: false,
  };
}

/** State of an agent that never connected. */
export const unseenAgent: AgentValue = {
  connected: false,
  since: 0,
  trouble: '',
  warm: false,
  assumedWarm: false,
  kindsAsWritten: false,
};

/** Remembers the records in the store, so that they are written again if the store loses them. */
function noteRecords({ fleet, records }: LedgerDeps): void {
  for (const [name, record] of records.sources) fleet.noted(recordKey.source(name), record);
  for (const { kind, key, lastKnownGood } of records.declared)
    fleet.noted(recordKey.declared(kind, key), lastKnownGood);
  for (const [cluster, contenders] of records.contenders) {
    for (const [key, record] of contenders) fleet.noted(recordKey.contenders(cluster, key), record);
  }
  for (const [name, record] of records.approvalOutcomes) fleet.noted(recordKey.approvalOutcome(name), record);
  for (const [name, record] of records.revocations) fleet.noted(recordKey.revocation(name), record);
}

function stageRecords({ engine, records, clock }: LedgerDeps): void {
  const { inputs } = engine;
  for (const [cluster, { warm, connected, since }] of records.registrations) {
    // An agent that was connected when the server stopped counts as disconnected since this start.
    inputs.agents.set('', cluster, { ...unseenAgent, since: connected ? clock.now() : since, warm });
  }
  for (const { kind, key, lastKnownGood } of records.declared) inputs.lastKnownGood.set(kind, key, lastKnownGood);
  for (const [name, verdict] of records.approvalOutcomes) inputs.approvalOutcomes.set('', name, verdict);
  for (const [cluster, contenders] of records.contenders) {
    for (const [key, record] of contenders) inputs.contenders.set(cluster, key, record);
  }
  for (const [cluster, readings] of records.readings) {
    stageClusterReadings(engine, cluster, readings, records.registrations.has(cluster));
  }
}

/** Deletes invalid maps, so that a later start does not read them either. */
function dropInvalid(written: ClusterWriters, readings: ClusterReadings, isRegistered: boolean): void {
  const counts = countsOf(readings, isRegistered);
  if (!counts.results) written.results.drop();
  if (counts.snapshot) return;
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

/** Stages holds, and deletes those without a ledger entry. */
function stageHolds({ engine, records, fleet }: LedgerDeps): void {
  for (const [cluster, held] of records.held) {
    const entries = records.readings.get(cluster)?.entries;
    for (const [key, message] of held) {
      if (entries?.type === 'complete' && entries.map.values.has(key)) {
        engine.inputs.heldRemovals.set(cluster, key as ObjectKey, message);
        fleet.noted(recordKey.held(cluster, key), message);
      } else fleet.put(recordKey.held(cluster, key), null);
    }
  }
}
