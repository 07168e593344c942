import type { AgentHolding } from '../../model/agent.ts';
import { snapshotDigest } from '../../model/digest.ts';
import type { FleetName } from '../../model/ids.ts';
import { compareText } from '../../model/json.ts';
import { displayKey, type ObjectKey } from '../../model/object-key.ts';
import { comparePositions, type SequencedDelta } from '../../model/output.ts';
import type { OutputStep, StoredObject } from '../../ports/agent-disk.ts';
import type { InventoryChange, InventoryRecord } from '../../ports/cluster-api.ts';

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
  const { position, digest: owned, revisions, admitted } = state;
  const entries = [...records.values()]
    .sort((a, b) => compareText(a.key, b.key))
    .map(({ key, digest, phase, origins, scope }) => ({ key, digest, phase, origins, scope }));
  return { position, digest: owned, revisions, ...(admitted === undefined ? {} : { admitted }), entries };
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

/** A verified delta: its changes of the disk and of the inventory, the inventory after it, and the keys to work on. */
export interface Acceptance {
  readonly accepted: true;
  /** For the disk; the content of a removed object stays there until the object is gone. */
  readonly step: Omit<OutputStep, 'drop'>;
  readonly change: InventoryChange;
  readonly next: Inventory;
  readonly keys: readonly ObjectKey[];
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
  const { position, digest } = inventory.state;
  const owner = fleetOf(inventory);
  if (owner !== undefined && owner !== fleet) {
    return rejection('OtherFleet', `the inventory belongs to the fleet ${owner}, the delta to the fleet ${fleet}`);
  }
  if (comparePositions(delta.position, position) <= 0) {
    return rejection('OldPosition', `position ${at(delta.position)} does not come after ${at(position)}`);
  }
  const older = olderAdmission(delta, inventory);
  if (older !== undefined) return older;
  if (delta.from !== digest) {
    return rejection('DifferentBase', `the delta starts from ${delta.from}, the inventory has ${digest}`);
  }
  const misnamed = misnamedKey(inventory, delta);
  if (misnamed !== undefined) return misnamed;
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

/** Admissions of another fleet, or of a server that names none, cannot be compared. */
function olderAdmission({ admitted }: SequencedDelta, inventory: Inventory): Rejection | undefined {
  const before = inventory.state.admitted;
  if (admitted === undefined || before === undefined || fleetOf(inventory) === undefined) return undefined;
  if (comparePositions(admitted, before) >= 0) return undefined;
  return rejection(
    'AdmissionBehind',
    `the delta was computed from the admission ${at(admitted)}, the inventory from the later ${at(before)}`,
  );
}

function misnamedKey({ records }: Inventory, delta: SequencedDelta): Rejection | undefined {
  const seen = new Set<ObjectKey>();
  const named = [...delta.upserts.map(({ key }) => key), ...delta.touches.map(({ key }) => key), ...delta.removals];
  for (const key of named) {
    if (seen.has(key)) return rejection('RepeatedKey', `the delta names ${displayKey(key)} twice`);
    seen.add(key);
  }
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
    ...delta.upserts.map(({ key, digest, origins, scope }): InventoryRecord => {
      const identity = records.get(key)?.identity;
      return { key, digest, origins, scope, phase: 'held', ...(identity === undefined ? {} : { identity }) };
    }),
    ...delta.touches.flatMap(({ key, origins, scope }) => changed(key, { origins, scope })),
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
  const { position, revisions, admitted } = delta;
  const { admitted: _, ...kept } = before.state;
  const digest = inventoryDigest(records.values());
  const state = { ...kept, position, digest, revisions, fleet, ...(admitted === undefined ? {} : { admitted }) };
  return {
    accepted: true,
    step: { position, digest, put: delta.upserts.map(({ key, digest, value }) => ({ key, digest, value })) },
    change: { state, put, drop: [] },
    next: { state, records, contents },
    keys: put.map(({ key }) => key),
  };
}

function at({ epoch, sequence }: SequencedDelta['position']): string {
  return `(${epoch}, ${sequence})`;
}

function rejection(reason: string, message: string): Rejection {
  return { accepted: false, reason, message };
}
