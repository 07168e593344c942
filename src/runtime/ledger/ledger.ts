import type { Change } from '../../engine/collections/types.ts';
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
  /** Makes the epoch higher than one that an agent has seen. */
  raiseEpochAbove(epoch: number): void;
  registration(cluster: string): Registration | undefined;
  registrations(): Iterable<Registration>;
  /** Null forgets the binding of the name to a cluster id. */
  setRegistration(cluster: string, registration: Registration | null): void;
  /** Takes the next position of a registered cluster; each is given out once. */
  nextPosition(cluster: string): OutputPosition;
  admittedRevision(source: string): string | undefined;
  setAdmittedRevision(source: string, revision: string): void;
  setEntry(cluster: string, key: ObjectKey, entry: LedgerEntry | null): void;
  /** An agent has said what its cluster holds: that is the truth about it. */
  replaceEntries(cluster: string, holding: AgentHolding): void;
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
  let epoch = records.epoch ?? clock.now();
  if (records.epoch === undefined) journal.put(recordKey.epoch, { epoch });
  stageRecords(engine, records, clock.now());

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
    raiseEpochAbove: (other) => {
      if (other < epoch) return;
      epoch = other + 1;
      journal.put(recordKey.epoch, { epoch });
    },
    registration: (cluster) => registrations.get(cluster),
    registrations: () => registrations.values(),
    setRegistration,
    nextPosition: (cluster) => {
      const registration = registrations.get(cluster);
      if (registration === undefined) throw new Error(`cluster ${cluster} is not registered`);
      const last = registration.position;
      const position = { epoch, sequence: last.epoch === epoch ? last.sequence + 1 : 1 };
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

/** Remembers declarations as they were last read; forgets those that are proven gone. */
export function createDeclarationKeeper(engine: Engine, journal: Journal): () => boolean {
  const clusters = engine.graph.watch(engine.clusters);
  const policy = engine.graph.watch(engine.policy);
  return () => {
    const changes = [...clusters.take(), ...policy.take()].filter(({ after }) => after?.asLastRead !== true);
    for (const { after, key, before } of changes) {
      const lastRead = after === undefined ? null : { value: after.value, origin: after.origin };
      const isCluster = 'name' in (after ?? before ?? { value: {} }).value;
      if (isCluster) remember(engine.inputs.lastReadClusters, key, lastRead);
      else remember(engine.inputs.lastReadPolicy, key, lastRead);
      journal.put(isCluster ? recordKey.cluster(key) : recordKey.policy, lastRead);
    }
    return changes.length > 0;
  };
}

function remember(
  input: { set(partition: string, key: string, value: never): void; delete(partition: string, key: string): void },
  key: string,
  lastRead: unknown,
): void {
  if (lastRead === null) input.delete('', key);
  else input.set('', key, lastRead as never);
}

/** Remembers which removals are held, so that they stay held, and drops approvals that were used or have nothing left to approve. */
export function createHoldKeeper(engine: Engine, journal: Journal): () => boolean {
  const outputs = engine.graph.watch(engine.outputs);
  return () => {
    let staged = false;
    for (const change of outputs.take()) staged = noteHold(engine, journal, change) || staged;
    return staged;
  };
}

function noteHold(
  engine: Engine,
  journal: Journal,
  change: Change<{ readonly type: string; readonly message?: string }>,
): boolean {
  const { partition: cluster, key, before, after } = change;
  let staged = false;
  if (after?.type === 'held' && engine.inputs.heldRemovals.get(cluster, key) === undefined) {
    engine.inputs.heldRemovals.set(cluster, key, after.message ?? '');
    journal.put(recordKey.held(cluster, key), after.message ?? '');
    staged = true;
  }
  if (before?.type === 'held' && after?.type !== 'held') {
    engine.inputs.heldRemovals.delete(cluster, key);
    journal.put(recordKey.held(cluster, key), null);
    staged = true;
  }
  // An approval lasts until the object is gone: a removal that was lost on the way is not asked for twice.
  const approvable = after?.type === 'held' || after?.type === 'remove' || after?.type === 'removing';
  if (!approvable && engine.inputs.approvals.get(cluster, key) !== undefined) {
    engine.inputs.approvals.delete(cluster, key);
    journal.put(recordKey.approval(cluster, key), null);
    staged = true;
  }
  return staged;
}

function stageRecords(engine: Engine, records: LedgerRecords, now: number): void {
  const { inputs } = engine;
  for (const [cluster, { warm, connected, since }] of records.registrations) {
    // Who was connected when the server ended has been out of reach since this start, for all that is known.
    const agent = { connected: false, since: connected ? now : since, inventory: false, warm, kindsAsWritten: false };
    inputs.agents.set('', cluster, agent);
  }
  if (records.policy !== undefined) inputs.lastReadPolicy.set('', '', records.policy);
  for (const [cluster, lastRead] of records.clusters) inputs.lastReadClusters.set('', cluster, lastRead);
  for (const [cluster, entries] of records.entries) {
    for (const [key, entry] of entries) inputs.ledger.set(cluster, key, entry);
  }
  for (const [cluster, held] of records.held) {
    for (const [key, message] of held) inputs.heldRemovals.set(cluster, key, message);
  }
}

function entryOf({ digest, origins, scope, phase }: InventoryEntry): LedgerEntry {
  return { digest, origins, scope, phase: phase === 'held' ? 'accepted' : 'removing' };
}

function sameEntry(a: LedgerEntry | undefined, b: LedgerEntry): boolean {
  return a !== undefined && JSON.stringify(a) === JSON.stringify(b);
}
