import type { FleetName } from '../../model/ids.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import { displayKey } from '../../model/object-key.ts';
import { comparePositions, type SequencedDelta } from '../../model/output.ts';
import type { OutputStep } from '../../ports/agent-disk.ts';
import type { InventoryChange, InventoryRecord } from '../../ports/cluster-api.ts';
import { digestOf, fleetOf, type Holding } from './holding.ts';

/** A delta that has passed: what to make durable, what is held then, and where there is work to do. */
export interface Acceptance {
  readonly accepted: true;
  /** For the disk; a content stays there until its object is gone. */
  readonly step: Omit<OutputStep, 'drop'>;
  readonly change: InventoryChange;
  readonly next: Holding;
  readonly work: readonly ObjectKey[];
}

export interface Objection {
  readonly accepted: false;
  readonly reason: string;
  readonly message: string;
}

/**
 * Judges a delta of a fleet's server against what is held: it is of the same fleet, comes later, was computed from
 * nothing older, starts from it, leads to the digest that it names, and removes only what is held. A keep of an object that is on its way out calls the removal off if the digest says so.
 */
export function acceptDelta(held: Holding, delta: SequencedDelta, fleet: FleetName): Acceptance | Objection {
  const { position, digest } = held.state;
  const owner = fleetOf(held);
  if (owner !== undefined && owner !== fleet) {
    return objection('OtherFleet', `what is held belongs to the fleet ${owner}, it comes from the fleet ${fleet}`);
  }
  if (comparePositions(delta.position, position) <= 0) {
    return objection('OldPosition', `position ${at(delta.position)} does not come after ${at(position)}`);
  }
  if (isBehind(delta, held)) return objection('AdmissionBehind', behindText(delta, held));
  if (delta.from !== digest) return objection('DifferentBase', `it starts from ${delta.from}, held is ${digest}`);
  const misnamed = misnamedKey(held, delta);
  if (misnamed !== undefined) return misnamed;
  const put = changedRecords(held, delta);
  const plain = advance(held, delta, fleet, put);
  if (plain.next.state.digest === delta.to) return plain;
  const calledOff = delta.keeps.flatMap(({ key }): InventoryRecord[] => {
    const record = held.records.get(key);
    return record?.phase === 'removing' ? [{ ...record, phase: 'held' }] : [];
  });
  const kept = advance(held, delta, fleet, [...put, ...calledOff]);
  return kept.next.state.digest === delta.to
    ? kept
    : objection('DigestMismatch', 'it does not lead to the digest that it names');
}

/** What another fleet has admitted, or a server that says nothing of it, cannot be compared. */
function isBehind({ admitted }: SequencedDelta, held: Holding): boolean {
  const before = held.state.admitted;
  if (admitted === undefined || before === undefined || fleetOf(held) === undefined) return false;
  return comparePositions(admitted, before) < 0;
}

function behindText({ admitted }: SequencedDelta, { state }: Holding): string {
  const [its, ours] = [admitted, state.admitted].map((position) => (position === undefined ? '' : at(position)));
  return `it was computed from the admission ${its}, what is held from the later ${ours}`;
}

function misnamedKey({ records }: Holding, delta: SequencedDelta): Objection | undefined {
  const seen = new Set<ObjectKey>();
  const named = [...delta.upserts.map(({ key }) => key), ...delta.touches.map(({ key }) => key), ...delta.removals];
  for (const key of named) {
    if (seen.has(key)) return objection('RepeatedKey', `it names ${displayKey(key)} twice`);
    seen.add(key);
  }
  const removed = delta.removals.find((key) => !records.has(key));
  if (removed !== undefined) return objection('UnknownRemoval', `it removes ${displayKey(removed)}, which is not held`);
  const touched = delta.touches.find(({ key }) => records.get(key)?.phase !== 'held');
  return touched && objection('UnknownTouch', `it changes ${displayKey(touched.key)}, which is not held`);
}

function changedRecords({ records }: Holding, delta: SequencedDelta): readonly InventoryRecord[] {
  const upserted = delta.upserts.map(({ key, digest, origins, scope }): InventoryRecord => {
    const identity = records.get(key)?.identity;
    return { key, digest, origins, scope, phase: 'held', ...(identity === undefined ? {} : { identity }) };
  });
  const touched = delta.touches.flatMap(({ key, origins, scope }): InventoryRecord[] => {
    const record = records.get(key);
    return record === undefined ? [] : [{ ...record, origins, scope }];
  });
  const removed = delta.removals.flatMap((key): InventoryRecord[] => {
    const record = records.get(key);
    return record === undefined ? [] : [{ ...record, phase: 'removing' }];
  });
  return [...upserted, ...touched, ...removed];
}

function advance(held: Holding, delta: SequencedDelta, fleet: FleetName, put: readonly InventoryRecord[]): Acceptance {
  const records = new Map(held.records);
  for (const record of put) records.set(record.key, record);
  const contents = new Map(held.contents);
  for (const { key, digest, value } of delta.upserts) contents.set(key, { digest, value });
  const { position, revisions, admitted } = delta;
  const { admitted: _, ...kept } = held.state;
  const digest = digestOf(records.values());
  const state = { ...kept, position, digest, revisions, fleet, ...(admitted === undefined ? {} : { admitted }) };
  return {
    accepted: true,
    step: {
      position: delta.position,
      digest: state.digest,
      put: delta.upserts.map(({ key, digest, value }) => ({ key, digest, value })),
    },
    change: { state, put, drop: [] },
    next: { state, records, contents },
    work: put.map(({ key }) => key),
  };
}

function at({ epoch, sequence }: SequencedDelta['position']): string {
  return `(${epoch}, ${sequence})`;
}

function objection(reason: string, message: string): Objection {
  return { accepted: false, reason, message };
}
