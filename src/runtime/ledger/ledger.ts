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

/** What must outlast a change or a restart: staged into the engine and written to the store, in one step each. */
export interface Ledger extends ClusterState, Registrations {
  readonly epoch: () => number;
  /** Another process has begun this one; a lower one changes nothing. */
  raiseEpoch(epoch: number): void;
  /** The store had no epoch marker: it is new, or was lost. */
  readonly wasLost: boolean;
  admittedRevision(source: string): string | undefined;
  setAdmittedRevision(source: string, revision: string): void;
  /** The name belongs to another cluster now: what was known of the old one is not said of the new one. */
  forgetCluster(cluster: string): void;
  /**
   * Nobody declares the cluster any more: the name is free, its certificates are void, and nothing is known of what lives
   * there. What it holds stays there, and in the ledger.
   */
  endRegistration(cluster: string): void;
  /**
   * This process writes the cluster's records from now on, or goes on with it, as they are in the engine (committed);
   * `readings`: what the store has of it, as far as is known.
   */
  own(cluster: string, readings: ClusterReadings, guard?: WriteGuard): void;
  /**
   * Deletes the assumed-warm record of the cluster in the same batch that writes its registration and maps. False:
   * another process writes the cluster's records.
   */
  endAssumedWarm(cluster: string): boolean;
  /** What guards the writing of the cluster's records may hold now. */
  resume(cluster: string): void;
  /** Another process writes the cluster's records from now on. */
  disown(cluster: string): void;
  /**
   * Another process has written this; undefined: there is no registration of the cluster, and none of its name was over.
   */
  replicateRegistration(
    cluster: string,
    registration: Registration | undefined,
    revocation: Revocation | undefined,
  ): void;
  /**
   * Writes once what is known of a cluster that no process serves, after the store has lost it; `check`: still nobody
   * serves it.
   */
  restore(cluster: string, check: StoreWrite): void;
}

interface LedgerDeps {
  readonly engine: Engine;
  readonly journal: Journal;
  /** Writes what belongs to the fleet and not to one cluster. */
  readonly fleet: RecordWriter;
  readonly records: LedgerRecords;
  readonly clock: Clock;
}

/** The first position of a cluster that was never sent anything. */
const NEVER_SENT = 0;
/** How long what is written once may take, and what comes after it may wait. */
const WRITE_ONCE_MS = 10 * 60 * 1000;

/** `ownsAll`: no other process writes to the store; else clusters are written once they are `own`, and the epoch is not. */
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
    dropUncounted(written, readings, registration !== undefined);
  };
  noteRecords(deps);
  stageRecords(deps);
  if (ownsAll) {
    if (records.epoch === undefined) journal.put(recordKey.epoch, { epoch });
    else journal.noted(recordKey.epoch, { epoch });
    for (const cluster of knownClusters(records)) own(cluster, records.readings.get(cluster) ?? {});
  }
  dropStaleHolds(deps);

  /** There is a registration now: what waits to be written about the end of an earlier one is over. */
  const forgetEarlier = (cluster: string): void => {
    for (const key of fleetKeysOf(cluster)) fleet.noted(key, null);
  };
  const state = createClusterState(engine, writers, wholeClusters(records));
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

/** Writes once what is known of a cluster, one write of each at a time. */
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

/** Records of a cluster that are written with the fleet's when nobody serves the cluster. */
function fleetKeysOf(cluster: string): readonly string[] {
  return [recordKey.registration(cluster), ...snapshotMaps.map((kind) => clusterMapName(cluster, kind))];
}

/** What belongs to a registration; their manifests are the records of these names. */
const snapshotMaps = ['live', 'kinds', 'results'] as const;

/** A registration for a cluster id that is seen for the first time; so many of its name are over. */
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

/** An agent that was never seen. */
export const unseenAgent: AgentValue = {
  connected: false,
  since: 0,
  trouble: '',
  warm: false,
  assumedWarm: false,
  kindsAsWritten: false,
};

/** What is in the store already is remembered: it is written again if the store loses it. */
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
    // Who was connected when the server ended has been out of reach since this start, for all that is known.
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

/** What does not count here must not come back from the store either. */
function dropUncounted(written: ClusterWriters, readings: ClusterReadings, isRegistered: boolean): void {
  const counts = countsOf(readings, isRegistered);
  if (!counts.results) written.results.drop();
  if (counts.snapshot) return;
  written.live.drop();
  written.kinds.drop();
}

/** Clusters whose entries were read whole. */
function wholeClusters({ readings }: LedgerRecords): readonly string[] {
  return [...readings].filter(([, { entries }]) => entries?.type === 'complete').map(([cluster]) => cluster);
}

function knownClusters({ registrations, readings }: LedgerRecords): ReadonlySet<string> {
  return new Set([...registrations.keys(), ...readings.keys()]);
}

/** A hold without a ledger entry has nothing left to hold. */
function dropStaleHolds({ engine, records, fleet }: LedgerDeps): void {
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
