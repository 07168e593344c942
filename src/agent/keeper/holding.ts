import type { AgentHolding } from '../../model/agent.ts';
import { snapshotDigest } from '../../model/digest.ts';
import type { FleetName } from '../../model/ids.ts';
import { compareText } from '../../model/json.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { StoredObject } from '../../ports/agent-disk.ts';
import type { InventoryChange, InventoryRecord } from '../../ports/cluster-api.ts';

/** What the agent holds, as its inventory says, and the contents of it that are known. Replaced as a whole, never changed. */
export interface Holding {
  readonly state: InventoryChange['state'];
  readonly records: ReadonlyMap<ObjectKey, InventoryRecord>;
  /** By key; a content counts only if its digest is the record's. */
  readonly contents: ReadonlyMap<ObjectKey, StoredObject>;
}

/** Of a cluster in which fleetrelay owns nothing yet. */
export const EMPTY_HOLDING: Holding = {
  state: { position: { epoch: 0, sequence: 0 }, digest: snapshotDigest([]), revisions: [], fleet: undefined },
  records: new Map(),
  contents: new Map(),
};

/** Digest over what is held; what is on its way out does not count. */
export function digestOf(records: Iterable<InventoryRecord>): InventoryChange['state']['digest'] {
  const held: [ObjectKey, InventoryRecord['digest']][] = [];
  for (const { key, digest, phase } of records) if (phase === 'held') held.push([key, digest]);
  return snapshotDigest(held);
}

/** As it is told to the server, in key order. */
export function toldHolding({ state, records }: Holding): AgentHolding {
  const { position, digest: held, revisions, admitted } = state;
  const entries = [...records.values()]
    .sort((a, b) => compareText(a.key, b.key))
    .map(({ key, digest, phase, origins, scope }) => ({ key, digest, phase, origins, scope }));
  return { position, digest: held, revisions, ...(admitted === undefined ? {} : { admitted }), entries };
}

/** The fleet that what is held belongs to; undefined if nothing is held: then any fleet may have the cluster. */
export function fleetOf({ state, records }: Holding): FleetName | undefined {
  return records.size === 0 ? undefined : state.fleet;
}

/** The declared content of a held object; undefined if it is not known. */
export function contentOf({ records, contents }: Holding, key: ObjectKey): StoredObject | undefined {
  const content = contents.get(key);
  return content?.digest === records.get(key)?.digest ? content : undefined;
}
