import type { AgentHolding } from '../../model/agent.ts';
import type { AgentSettings } from '../../model/agent-settings.ts';
import { snapshotDigest } from '../../model/digest.ts';
import type { FleetName } from '../../model/ids.ts';
import { createTurns, type InTurn } from '../../model/in-turn.ts';
import { compareText } from '../../model/json.ts';
import { displayKey, type ObjectKey } from '../../model/object-key.ts';
import { claimOf, comparePositions, metaOf, type SequencedDelta } from '../../model/output.ts';
import type { AgentDisk, OutputStep, StoredObject } from '../../ports/agent-disk.ts';
import type { Clock } from '../../ports/clock.ts';
import {
  type ClusterApi,
  type InventoryChange,
  type InventoryRecord,
  type InventoryState,
  isTakenOver,
} from '../../ports/cluster-api.ts';
import type { Log } from '../../ports/log.ts';

/** The inventory of the cluster and the known contents of its objects. Immutable: a change makes a new one. */
export interface Inventory {
  readonly state: InventoryChange['state'];
  readonly records: ReadonlyMap<ObjectKey, InventoryRecord>;
  /** Declared contents by key. A content whose digest is not the record's is out of date. */
  readonly contents: ReadonlyMap<ObjectKey, StoredObject>;
}

/** The inventory of a cluster in which fleetrelay owns nothing yet. */
export const EMPTY_INVENTORY: Inventory = {
  state: { position: { epoch: 0, sequence: 0 }, digest: snapshotDigest([]), revisions: [], fleet: undefined },
  records: new Map(),
  contents: new Map(),
};

/** The snapshot digest of the owned objects; objects that are being removed do not count. */
export function inventoryDigest(records: Iterable<InventoryRecord>): InventoryChange['state']['digest'] {
  const owned: [ObjectKey, InventoryRecord['digest']][] = [];
  for (const { key, digest, phase } of records) if (phase === 'held') owned.push([key, digest]);
  return snapshotDigest(owned);
}

/** The inventory as the agent reports it to the server, in key order. */
export function toAgentHolding({ state, records }: Inventory): AgentHolding {
  const { fleet: _fleet, settings: _settings, ...head } = state;
  const entries = [...records.values()]
    .sort((a, b) => compareText(a.key, b.key))
    .map(({ key, digest, phase, ...meta }) => ({ key, digest, phase, ...metaOf(meta) }));
  return { ...head, entries };
}

/** The fleet that owns the cluster's objects; undefined if the inventory is empty: any fleet may take the cluster. */
export function fleetOf({ state, records }: Inventory): FleetName | undefined {
  return records.size === 0 ? undefined : state.fleet;
}

/** The declared content of an owned object; undefined if it is not known. */
export function contentOf({ records, contents }: Inventory, key: ObjectKey): StoredObject | undefined {
  const content = contents.get(key);
  return content?.digest === records.get(key)?.digest ? content : undefined;
}

/** A verified delta: the contents that it adds to the disk, its change of the inventory, and the inventory after it. */
export interface Acceptance {
  readonly accepted: true;
  readonly contents: OutputStep['put'];
  readonly change: InventoryChange;
  readonly next: Inventory;
}

export interface Rejection {
  readonly accepted: false;
  readonly reason: string;
  readonly message: string;
}

/**
 * Verifies a delta against the inventory. The delta must be of the same fleet, have a later position and no older
 * admission, start from the inventory's digest, lead to the digest that it names, and remove only objects in the inventory.
 * A keep of an object that is being removed cancels the removal if only then the digest matches.
 */
export function acceptDelta(inventory: Inventory, delta: SequencedDelta, fleet: FleetName): Acceptance | Rejection {
  const rejected = wrongOrigin(inventory, delta, fleet) ?? misnamedKey(inventory, delta);
  if (rejected !== undefined) return rejected;
  const put = changedRecords(inventory, delta);
  const plain = advance(inventory, delta, fleet, put);
  if (plain.next.state.digest === delta.to) return plain;
  const cancelled = delta.keeps.flatMap(({ key }): InventoryRecord[] => {
    const record = inventory.records.get(key);
    return record?.phase === 'removing' ? [{ ...record, phase: 'held' }] : [];
  });
  const kept = advance(inventory, delta, fleet, [...put, ...cancelled]);
  return kept.next.state.digest === delta.to
    ? kept
    : rejection('DigestMismatch', 'the delta does not lead to the digest that it names');
}

/** Checks the fleet, the position, the admission and the base of a delta. */
function wrongOrigin(inventory: Inventory, delta: SequencedDelta, fleet: FleetName): Rejection | undefined {
  const { position, digest, admitted } = inventory.state;
  const owner = fleetOf(inventory);
  if (owner !== undefined && owner !== fleet) {
    return rejection('OtherFleet', `the inventory belongs to the fleet ${owner}, the delta to the fleet ${fleet}`);
  }
  if (comparePositions(delta.position, position) <= 0) {
    return rejection('OldPosition', `position ${at(delta.position)} does not come after ${at(position)}`);
  }
  // Admissions of another fleet, or of a server that names none, cannot be compared.
  const isComparable = delta.admitted !== undefined && admitted !== undefined && owner !== undefined;
  if (isComparable && comparePositions(delta.admitted, admitted) < 0) {
    const message = `the delta was computed from the admission ${at(delta.admitted)}, the inventory from the later ${at(admitted)}`;
    return rejection('AdmissionBehind', message);
  }
  if (delta.from === digest) return undefined;
  return rejection('DifferentBase', `the delta starts from ${delta.from}, the inventory has ${digest}`);
}

function misnamedKey({ records }: Inventory, delta: SequencedDelta): Rejection | undefined {
  const named = [...delta.upserts.map(({ key }) => key), ...delta.touches.map(({ key }) => key), ...delta.removals];
  const seen = new Set<ObjectKey>();
  const repeated = named.find((key) => seen.size === seen.add(key).size);
  if (repeated !== undefined) return rejection('RepeatedKey', `the delta names ${displayKey(repeated)} twice`);
  const removed = delta.removals.find((key) => !records.has(key));
  if (removed !== undefined) {
    return rejection('UnknownRemoval', `the delta removes ${displayKey(removed)}, which is not in the inventory`);
  }
  const touched = delta.touches.find(({ key }) => records.get(key)?.phase !== 'held');
  return (
    touched && rejection('UnknownTouch', `the delta changes ${displayKey(touched.key)}, which is not in the inventory`)
  );
}

function changedRecords({ records }: Inventory, delta: SequencedDelta): readonly InventoryRecord[] {
  const changed = (key: ObjectKey, by: Partial<InventoryRecord>): InventoryRecord[] => {
    const record = records.get(key);
    return record === undefined ? [] : [{ ...record, ...by }];
  };
  return [
    ...delta.upserts.map(({ key, digest, ...meta }): InventoryRecord => {
      const identity = records.get(key)?.identity;
      return { key, digest, ...metaOf(meta), phase: 'held', ...(identity === undefined ? {} : { identity }) };
    }),
    ...delta.touches.flatMap(({ key, ...meta }) => {
      const record = records.get(key);
      if (record === undefined) return [];
      const { stopped: _, ...rest } = record;
      return [{ ...rest, ...metaOf(meta) }];
    }),
    ...delta.removals.flatMap((key) => changed(key, { phase: 'removing' })),
  ];
}

function advance(
  before: Inventory,
  delta: SequencedDelta,
  fleet: FleetName,
  put: readonly InventoryRecord[],
): Acceptance {
  const records = new Map(before.records);
  for (const record of put) records.set(record.key, record);
  const contents = new Map(before.contents);
  for (const { key, digest, value } of delta.upserts) contents.set(key, { digest, value });
  const { settings } = before.state;
  const head = { ...claimOf(delta), digest: inventoryDigest(records.values()), revisions: delta.revisions };
  const state = { ...head, fleet, ...(settings === undefined ? {} : { settings }) };
  return {
    accepted: true,
    contents: delta.upserts.map(({ key, digest, value }) => ({ key, digest, value })),
    change: { state, put, drop: [] },
    next: { state, records, contents },
  };
}

function at({ epoch, sequence }: SequencedDelta['position']): string {
  return `(${epoch}, ${sequence})`;
}

function rejection(reason: string, message: string): Rejection {
  return { accepted: false, reason, message };
}

export interface StoreDeps {
  readonly cluster: ClusterApi;
  readonly disk: AgentDisk;
  readonly clock: Clock;
  readonly log: Log;
  /** Another agent has taken the cluster over. */
  readonly takenOver: (error: Error) => void;
}

/** Identities that arrive within this time share one write. */
const GATHER_IDENTITIES_MS = 100;
/** Pause after a failed write of identities. */
const RETRY_IDENTITIES_MS = 5_000;

/** A change of one record after work on its object. */
interface RecordChange {
  /** The record when the work began. */
  readonly record: InventoryRecord;
  /** The identity of the object; undefined: the object is gone. */
  readonly identity: string | undefined;
}

/**
 * Keeps the inventory in memory and makes its changes durable, one write at a time: contents on the disk, the inventory in the
 * cluster. `isDurable`: both hold `recovered`.
 */
export function createInventoryStore(deps: StoreDeps, recovered: Inventory, isDurable: boolean) {
  const inTurn = createTurns();
  const storage = createStorage(deps, recovered, isDurable);
  // The disk drops the contents of removed objects; memory does not need them.
  let inventory: Inventory = {
    ...recovered,
    contents: new Map([...recovered.contents].filter(([key]) => recovered.records.has(key))),
  };
  let newestSettings: AgentSettings | undefined;
  const replace = (next: Inventory): void => {
    inventory = next;
  };
  const runInTurn = (failure: string, work: () => Promise<void>): void =>
    void inTurn(work).catch((error: unknown) => deps.log.error(failure, { error }));

  return {
    current: (): Inventory => inventory,
    replace,
    /** Runs one change after the other; a failed one does not stop the next. */
    inTurn,
    /** Writes an accepted delta; to be called in turn. Calls `contentIsDurable` between the disk and the inventory. */
    writeDelta: storage.writeDelta,
    /** Writes settings into the inventory; of several that wait, the newest only. Logs failures. */
    writeSettings: (settings: AgentSettings): void => {
      newestSettings = settings;
      runInTurn('the settings could not be made durable', async () => {
        // An earlier turn has written the newest settings.
        if (newestSettings === undefined) return;
        replace({ ...inventory, state: { ...inventory.state, settings: newestSettings } });
        newestSettings = undefined;
        await storage.writeState(inventory.state);
      });
    },
    /** Writes everything, unless the recovered inventory is durable already. Logs failures. */
    writeRecovered: (): void =>
      runInTurn('the inventory could not be made durable', () => storage.writeRecovered(inventory)),
    ...createRecordChanges(deps, inTurn, async (changes) => {
      const changed = withRecordChanges(inventory, changes);
      if (changed === undefined) return [];
      await storage.writeChange(changed.change, changed.next);
      replace(changed.next);
      return changed.change.put;
    }),
  };
}

/** Changes of records after work on their objects, several in one write. `write` returns the records with new identities. */
function createRecordChanges(
  { clock, log }: StoreDeps,
  inTurn: InTurn,
  write: (changes: readonly RecordChange[]) => Promise<readonly InventoryRecord[]>,
) {
  /** Changes for the next write, and that write. */
  const waiting: RecordChange[] = [];
  let nextWrite: Promise<void> | undefined;
  const identities = new Map<ObjectKey, string>();
  let cancelGathering: (() => void) | undefined;
  let stopping = false;

  return {
    /**
     * Drops the record of a removed object. Resolves when that is durable, or when a newer delta has changed the record.
     * Rejects if the write fails.
     */
    writeRemoval: (record: InventoryRecord): Promise<void> => {
      waiting.push({ record, identity: undefined });
      return writeWaiting();
    },
    /** Writes the identity of a created object, later: the key is in the inventory before the object is created. */
    writeIdentity: (record: InventoryRecord, identity: string): void => {
      if (identity === (identities.get(record.key) ?? record.identity)) return;
      identities.set(record.key, identity);
      waiting.push({ record, identity });
      cancelGathering ??= clock.schedule(GATHER_IDENTITIES_MS, writeGathered);
    },
    /** Identities of created objects that are not in the inventory yet, by key. */
    identities,
    /** Writes what waits, without retries. Resolves when nothing is being written. */
    stop: async (): Promise<void> => {
      stopping = true;
      if (cancelGathering !== undefined) writeGathered();
      await inTurn(async () => undefined);
    },
  };

  function writeGathered(): void {
    cancelGathering?.();
    cancelGathering = undefined;
    writeWaiting().catch((error: unknown) => log.warn('identities of new objects could not be written', { error }));
  }

  function writeWaiting(): Promise<void> {
    nextWrite ??= inTurn(writeRecords);
    return nextWrite;
  }

  async function writeRecords(): Promise<void> {
    const changes = waiting.splice(0);
    nextWrite = undefined;
    try {
      for (const { key, identity } of await write(changes))
        if (identities.get(key) === identity) identities.delete(key);
    } catch (error) {
      // The caller of `writeRemoval` retries by itself. In front: an identity that has arrived since is newer.
      waiting.unshift(...changes.filter(({ identity }) => identity !== undefined));
      if (waiting.length > 0 && !stopping) cancelGathering ??= clock.schedule(RETRY_IDENTITIES_MS, writeGathered);
      throw error;
    }
  }
}

/** The disk and the inventory in the cluster. A recovered inventory that is not durable is written by the first change. */
function createStorage({ cluster, disk, takenOver }: StoreDeps, recovered: Inventory, isDurable: boolean) {
  let unwritten = !isDurable;
  /** The disk may be ahead of the inventory: the next delta replaces its content. */
  let diskAhead = !isDurable;
  /** Keys whose contents are still on the disk although the objects are gone. */
  const gone = new Set([...recovered.contents.keys()].filter((key) => !recovered.records.has(key)));

  const writeRecovered = async (inventory: Inventory): Promise<void> =>
    unwritten ? writeAll(inventory, []) : undefined;
  return { writeDelta, writeChange, writeState, writeRecovered };

  /** First the disk, then the inventory: the inventory never names a content that the disk lacks. */
  async function writeDelta({ contents: put, change, next }: Acceptance, contentIsDurable: () => void): Promise<void> {
    const { position, digest } = change.state;
    const keys = new Set(put.map(({ key }) => key));
    if (diskAhead) await replaceDisk(next);
    else await disk.append({ position, digest, put, drop: [...gone].filter((key) => !keys.has(key)) });
    diskAhead = true;
    gone.clear();
    contentIsDurable();
    await saveInventory(unwritten ? { ...change, put: [...next.records.values()] } : change);
    diskAhead = false;
    unwritten = false;
  }

  /** Writes a change of the inventory alone, which leads to `next`. */
  async function writeChange(change: InventoryChange, next: Inventory): Promise<void> {
    if (unwritten) return writeAll(next, change.drop);
    await saveInventory(change);
    for (const key of change.drop) gone.add(key);
  }

  /** Leaves an unwritten inventory unwritten: the write that makes it durable contains the state. */
  async function writeState(state: InventoryState): Promise<void> {
    if (!unwritten) await saveInventory({ state, put: [], drop: [] });
  }

  async function writeAll(next: Inventory, drop: readonly ObjectKey[]): Promise<void> {
    await replaceDisk(next);
    await saveInventory({ state: next.state, put: [...next.records.values()], drop });
    diskAhead = false;
    unwritten = false;
  }

  async function replaceDisk({ state, records, contents }: Inventory): Promise<void> {
    // With the contents of objects that are being removed: the server can cancel a removal without sending the content.
    const objects = new Map([...contents].filter(([key, { digest }]) => records.get(key)?.digest === digest));
    await disk.replace({ position: state.position, digest: state.digest, objects });
    gone.clear();
  }

  async function saveInventory(change: InventoryChange): Promise<void> {
    try {
      await cluster.saveInventory(change);
    } catch (error) {
      if (isTakenOver(error)) takenOver(error);
      throw error;
    }
  }
}

/** Whether the record is still the same as when the work on its object began. */
export function isUnchanged({ records }: Inventory, { key, digest, phase }: InventoryRecord): boolean {
  const now = records.get(key);
  return now?.digest === digest && now.phase === phase;
}

/** One change of the inventory with all of these; undefined if newer deltas have overtaken every one of them. */
function withRecordChanges(
  inventory: Inventory,
  changes: readonly RecordChange[],
): { readonly change: InventoryChange; readonly next: Inventory } | undefined {
  const drop = changes.flatMap(({ record, identity }) =>
    identity === undefined && isUnchanged(inventory, record) ? [record.key] : [],
  );
  const dropped = new Set(drop);
  // The identity is that of the live object, whichever delta came since.
  const put = changes.flatMap(({ record, identity }): InventoryRecord[] => {
    const now = dropped.has(record.key) ? undefined : inventory.records.get(record.key);
    return identity === undefined || now === undefined ? [] : [{ ...now, identity }];
  });
  if (drop.length === 0 && put.length === 0) return undefined;
  const records = new Map(inventory.records);
  const contents = new Map(inventory.contents);
  for (const key of drop) {
    records.delete(key);
    contents.delete(key);
  }
  for (const record of put) records.set(record.key, record);
  return { change: { state: inventory.state, put, drop }, next: { ...inventory, records, contents } };
}
