import type { Engine } from '../../engine/graph.ts';
import type { AgentHolding, InventoryEntry } from '../../model/agent.ts';
import type { ClusterName } from '../../model/ids.ts';
import type { LedgerEntry, Registration } from '../../model/ledger.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { OutputPosition } from '../../model/output.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Journal } from './journal.ts';
import { type LedgerRecords, recordKey } from './records.ts';

/** What must outlast a change or a restart: staged into the engine and written to the store, in one step each. */
export interface Ledger {
  readonly epoch: () => number;
  /** The store had no epoch marker: it is new, or was lost. */
  readonly wasLost: boolean;
  registration(cluster: string): Registration | undefined;
  registrations(): Iterable<Registration>;
  /** Null forgets the binding of the name to a cluster id. */
  setRegistration(cluster: string, registration: Registration | null): void;
  /** Takes the next position of a registered cluster; each is given out once. */
  nextPosition(cluster: string): OutputPosition;
  admittedRevision(source: string): string | undefined;
  setAdmittedRevision(source: string, revision: string): void;
  setEntry(cluster: string, key: ObjectKey, entry: LedgerEntry | null): void;
  /** An agent has said what its cluster holds: that is the truth about it, and results about anything else are void. */
  replaceEntries(cluster: string, holding: AgentHolding): void;
  /** The name belongs to another cluster now: what was known of the old one is not said of the new one. */
  forgetCluster(cluster: string): void;
}

/** The first position of a cluster that was never sent anything. */
const NEVER_SENT = 0;

export function createLedger(deps: {
  readonly engine: Engine;
  readonly journal: Journal;
  readonly records: LedgerRecords;
  readonly clock: Clock;
}): Ledger {
  const { engine, journal, records, clock } = deps;
  const registrations = new Map(records.registrations);
  const admitted = new Map([...records.sources].map(([source, { revision }]) => [source, revision]));
  const epoch = records.epoch ?? clock.now();
  if (records.epoch === undefined) journal.put(recordKey.epoch, { epoch });
  stageRecords(engine, records, clock.now());
  dropStaleHolds(engine, records, journal);

  const setEntry = (cluster: string, key: ObjectKey, entry: LedgerEntry | null): void => {
    if (entry === null) engine.inputs.ledger.delete(cluster, key);
    else engine.inputs.ledger.set(cluster, key, entry);
    journal.put(recordKey.entry(cluster, key), entry);
  };

  const setRegistration = (cluster: string, registration: Registration | null): void => {
    if (registration === null) registrations.delete(cluster);
    else registrations.set(cluster, registration);
    journal.put(recordKey.registration(cluster), registration);
  };

  return {
    epoch: () => epoch,
    wasLost: records.epoch === undefined,
    registration: (cluster) => registrations.get(cluster),
    registrations: () => registrations.values(),
    setRegistration,
    nextPosition: (cluster) => {
      const registration = registrations.get(cluster);
      if (registration === undefined) throw new Error(`cluster ${cluster} is not registered`);
      const last = registration.position;
      // An agent may have seen a later epoch than this store's: then its own goes on, and no other cluster's is moved.
      const position = last.epoch >= epoch ? { ...last, sequence: last.sequence + 1 } : { epoch, sequence: 1 };
      setRegistration(cluster, { ...registration, position });
      return position;
    },
    admittedRevision: (source) => admitted.get(source),
    setAdmittedRevision: (source, revision) => {
      if (admitted.get(source) === revision) return;
      admitted.set(source, revision);
      journal.put(recordKey.source(source), { revision });
    },
    setEntry,
    replaceEntries: (cluster, { entries }) => {
      const held = new Map(entries.map((entry) => [entry.key as string, entry]));
      for (const { key } of [...engine.inputs.ledger.entries(cluster)]) {
        if (!held.has(key)) setEntry(cluster, key as ObjectKey, null);
      }
      for (const entry of entries) {
        const next = entryOf(entry);
        if (!sameEntry(engine.inputs.ledger.get(cluster, entry.key), next)) setEntry(cluster, entry.key, next);
      }
      for (const { key } of [...engine.inputs.results.entries(cluster)]) {
        if (!held.has(key)) engine.inputs.results.delete(cluster, key);
      }
    },
    forgetCluster: (cluster) => {
      engine.inputs.results.drop(cluster);
      engine.inputs.live.drop(cluster);
      engine.inputs.kinds.drop(cluster);
      for (const { key } of [...engine.inputs.heldRemovals.entries(cluster)]) {
        engine.inputs.heldRemovals.delete(cluster, key);
        journal.put(recordKey.held(cluster, key), null);
      }
    },
  };
}

/** A registration for a cluster id that is seen for the first time. */
export function newRegistration(cluster: ClusterName, id: Registration['id']): Registration {
  return {
    cluster,
    id,
    warm: false,
    position: { epoch: NEVER_SENT, sequence: NEVER_SENT },
    connected: false,
    since: 0,
    released: false,
  };
}

function stageRecords(engine: Engine, records: LedgerRecords, now: number): void {
  const { inputs } = engine;
  for (const [cluster, { warm, connected, since }] of records.registrations) {
    // Who was connected when the server ended has been out of reach since this start, for all that is known.
    const agent = { connected: false, since: connected ? now : since, warm, trouble: '', kindsAsWritten: false };
    inputs.agents.set('', cluster, agent);
  }
  if (records.policy !== undefined) inputs.lastReadPolicy.set('', '', records.policy);
  for (const [name, lastRead] of records.placements) inputs.lastReadPlacements.set('', name, lastRead);
  for (const [cluster, lastRead] of records.clusters) inputs.lastReadClusters.set('', cluster, lastRead);
  for (const [cluster, entries] of records.entries) {
    for (const [key, entry] of entries) inputs.ledger.set(cluster, key, entry);
  }
}

/** A hold without a ledger entry has nothing left to hold. */
function dropStaleHolds(engine: Engine, records: LedgerRecords, journal: Journal): void {
  for (const [cluster, held] of records.held) {
    for (const [key, message] of held) {
      if (records.entries.get(cluster)?.has(key) === true) engine.inputs.heldRemovals.set(cluster, key, message);
      else journal.put(recordKey.held(cluster, key), null);
    }
  }
}

function entryOf({ digest, origins, scope, phase }: InventoryEntry): LedgerEntry {
  return { digest, origins, scope, phase: phase === 'held' ? 'accepted' : 'removing' };
}

function sameEntry(a: LedgerEntry | undefined, b: LedgerEntry): boolean {
  return a !== undefined && JSON.stringify(a) === JSON.stringify(b);
}
