import type { AgentHolding, HoldingClaim, InventoryEntry } from '../../model/agent/agent.ts';
import { inventoryDigest } from '../../model/agent/inventory-digest.ts';
import type { Digest, FleetName } from '../../model/fleet/ids.ts';
import { claimOf, comparePositions, metaOf, type SequencedDelta } from '../../model/fleet/output.ts';
import { displayKey, type ObjectKey } from '../../model/objects/object-key.ts';
import { compareText } from '../../model/text/json.ts';
import { type BucketedMap, createBucketedMap } from '../../model/values/bucketed-map.ts';
import type { OutputStep, StoredObject } from '../../ports/agent-disk.ts';
import type { InventoryChange, InventoryRecord } from '../../ports/cluster-api.ts';

/**
 * The inventory of the cluster, with the statuses that are applied to objects of others, and the known contents. Immutable: a change
 * makes a new one, at its own cost.
 */
export interface Inventory {
  readonly state: InventoryChange['state'];
  readonly records: InventoryRecords;
  /** Declared contents by key, which are on the disk. A content whose digest is not the record's is out of date. */
  readonly contents: BucketedMap<ObjectKey, StoredObject>;
}

/** Their digest is the snapshot digest of the output; objects that are being removed do not count. */
export type InventoryRecords = BucketedMap<ObjectKey, InventoryRecord>;

/** The inventory of a cluster in which fleetrelay owns nothing yet. */
export const EMPTY_INVENTORY: Inventory = createEmptyInventory();

function createEmptyInventory(): Inventory {
  const records = recordsOf([]);
  const state = { position: { epoch: 0, sequence: 0 }, digest: records.digest(), revisions: [], fleet: undefined };
  return { state, records, contents: contentsOf([]) };
}

/** The records of an inventory. */
export function recordsOf(records: Iterable<InventoryRecord>): InventoryRecords {
  const entries = Array.from(records, (record) => [record.key, record] as const);
  return createBucketedMap(entries, ({ digest, phase }) => (phase === 'held' ? digest : undefined));
}

/** The contents of an inventory. */
export function contentsOf(contents: Iterable<readonly [ObjectKey, StoredObject]>): Inventory['contents'] {
  return createBucketedMap(contents, ({ digest }) => digest);
}

/** The inventory as the agent reports it to a server that does not remember it, in key order. */
export function toAgentHolding(inventory: Inventory): AgentHolding {
  const entries = entriesOf(inventory).sort((a, b) => compareText(a.key, b.key));
  return { ...headOf(inventory.state), entries };
}

/** The inventory as the agent claims it in its hello. */
export function toHoldingClaim(inventory: Inventory): HoldingClaim {
  return { ...headOf(inventory.state), inventory: inventoryDigest(entriesOf(inventory)) };
}

function entriesOf(inventory: Inventory): InventoryEntry[] {
  return Array.from(inventory.records.values(), ({ key, digest, phase, ...meta }) => {
    const isLost = phase === 'held' && contentOf(inventory, key) === undefined;
    return { key, digest, phase, ...metaOf(meta), ...(isLost ? { lost: true } : {}) };
  });
}

function headOf({ digest, ...state }: Inventory['state']): Omit<AgentHolding, 'entries'> {
  return { ...claimOf(state), digest };
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

/**
 * A verified delta: the contents that it adds to the disk, its change of the inventory, and the inventory after it, which has the
 * contents of before until those are on the disk.
 */
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
 * `newNonce`: of a new entry. A keep of an object that is being removed cancels the removal if only then the digest matches.
 */
export function acceptDelta(
  inventory: Inventory,
  delta: SequencedDelta,
  fleet: FleetName,
  newNonce: () => string,
): Acceptance | Rejection {
  const rejected = wrongOrigin(inventory, delta, fleet) ?? misnamedKey(inventory, delta);
  if (rejected !== undefined) return rejected;
  const put = changedRecords(inventory, delta, newNonce);
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
  // An object that is being removed can be gone before another attempt of that arrives.
  const touched = delta.touches.find(({ key, attempt }) => records.get(key)?.phase !== 'held' && attempt === undefined);
  return (
    touched && rejection('UnknownTouch', `the delta changes ${displayKey(touched.key)}, which is not in the inventory`)
  );
}

function changedRecords(
  { records }: Inventory,
  delta: SequencedDelta,
  newNonce: () => string,
): readonly InventoryRecord[] {
  return [
    ...delta.upserts.map(({ key, digest, ...meta }): InventoryRecord => {
      const known = records.get(key);
      // A stamp alone owns nothing: the entry of one is confirmed by a server that declares the content of the stamp.
      const nonce =
        known === undefined || (known.rebuilt === true && known.digest !== digest) ? newNonce() : known.nonce;
      return { key, digest, ...metaOf(meta), phase: 'held', nonce, ...lastingOf(known, digest) };
    }),
    ...delta.touches.flatMap(({ key, ...meta }) => {
      const record = records.get(key);
      if (record === undefined) return [];
      const { stopped: _, driftMode: _mode, ...rest } = record;
      return [{ ...rest, ...metaOf(meta) }];
    }),
    ...delta.removals.flatMap((key): InventoryRecord[] => {
      const record = records.get(key);
      if (record === undefined) return [];
      // If the removal is cancelled, the object is made anew.
      const { applied: _, ...rest } = record;
      return [{ ...rest, phase: 'removing' }];
    }),
  ];
}

/** What an entry keeps when it gets this content. */
function lastingOf(known: InventoryRecord | undefined, digest: Digest): Partial<InventoryRecord> {
  const { identity, givenUp, applied } = known ?? {};
  return {
    ...(givenUp === undefined ? {} : { givenUp }),
    ...(applied === undefined || known?.digest !== digest ? {} : { applied }),
    ...(identity === undefined ? {} : { identity }),
  };
}

function advance(
  before: Inventory,
  delta: SequencedDelta,
  fleet: FleetName,
  put: readonly InventoryRecord[],
): Acceptance {
  const records = before.records.with(put.map((record) => [record.key, record]));
  const { settings } = before.state;
  const head = { ...claimOf(delta), digest: records.digest(), revisions: delta.revisions };
  const state = { ...head, fleet, ...(settings === undefined ? {} : { settings }) };
  return {
    accepted: true,
    contents: delta.upserts,
    change: { state, put, drop: [] },
    next: { ...before, state, records },
  };
}

function at({ epoch, sequence }: SequencedDelta['position']): string {
  return `(${epoch}, ${sequence})`;
}

function rejection(reason: string, message: string): Rejection {
  return { accepted: false, reason, message };
}
