import type { ObjectResult } from '../../model/agent.ts';
import { type FleetName, quote } from '../../model/ids.ts';
import { displayKey, type ObjectKey, objectRefOf, refOfObject } from '../../model/object-key.ts';
import { unreachable } from '../../model/result.ts';
import type { StoredObject } from '../../ports/agent-disk.ts';
import type { ApplyRequest, ClusterApi, InventoryRecord, RemoveOutcome } from '../../ports/cluster-api.ts';
import { contentOf, fleetOf, type Holding } from './holding.ts';
import { occupantOf } from './order.ts';

/** What became of one look at one object. */
export interface Step {
  readonly result: Pick<ObjectResult, 'state' | 'reason' | 'message'>;
  /** Try again by itself, with back-off. */
  readonly retry: boolean;
  /** It was written just now. */
  readonly written?: true;
  /** The cluster's id of the object, to be entered. */
  readonly identity?: string;
}

/** The write that makes a held object be as declared. */
export function applyRequest(fleet: FleetName, record: InventoryRecord, { value }: StoredObject): ApplyRequest {
  const { key, origins, scope } = record;
  return { key, value, stamp: { fleet, key, origins, scope } };
}

/**
 * Makes one object be as it is held; undefined if it is not held. Without a server nothing is removed. `newId`: the id of
 * the object, where the inventory does not know it yet.
 */
export async function reconcile(
  cluster: ClusterApi,
  holding: Holding,
  key: ObjectKey,
  mayRemove: boolean,
  newId?: string,
): Promise<Step | undefined> {
  const record = holding.records.get(key);
  const fleet = fleetOf(holding);
  if (record === undefined || fleet === undefined) return undefined;
  if (record.phase === 'removing') return mayRemove ? removeOne(cluster, fleet, holding, record, newId) : SERVER_AWAY;
  const content = contentOf(holding, key);
  return content === undefined ? CONTENT_UNKNOWN : applyOne(cluster, applyRequest(fleet, record, content));
}

async function applyOne(cluster: ClusterApi, request: ApplyRequest): Promise<Step> {
  const invalid = invalidity(request);
  if (invalid !== undefined) return failed('InvalidObject', invalid, false);
  const outcome = await cluster.apply(request);
  switch (outcome.type) {
    case 'applied':
    case 'unchanged':
      return {
        result: { state: 'applied', reason: 'Applied', message: '' },
        retry: false,
        ...(outcome.type === 'applied' ? { written: true } : {}),
        ...(outcome.identity === undefined ? {} : { identity: outcome.identity }),
      };
    case 'conflict':
      return { result: { state: 'conflict', reason: 'Conflict', message: outcome.message }, retry: true };
    case 'paused':
      return PAUSED;
    case 'exempt':
      return { result: { state: 'paused', reason: outcome.reason, message: outcome.message }, retry: false };
    case 'failed':
      return failed(outcome.reason, outcome.message, outcome.retryable);
    default:
      return unreachable(outcome);
  }
}

/** An object must be the one that its key names: the key decides where it is written and who owns it. */
function invalidity({ key, value }: ApplyRequest): string | undefined {
  const said = refOfObject(value);
  if (!said.ok) return said.problem;
  const { group, kind, namespace, name } = objectRefOf(key);
  const same = said.value.group === group && said.value.kind === kind && said.value.name === name;
  const inside = said.value.namespace === namespace || said.value.namespace === '';
  return same && inside ? undefined : `the object calls itself ${quote(said.value.name)} and not ${displayKey(key)}`;
}

async function removeOne(
  cluster: ClusterApi,
  fleet: FleetName,
  holding: Holding,
  record: InventoryRecord,
  newId: string | undefined,
): Promise<Step> {
  const { key } = record;
  const identity = newId ?? record.identity;
  const occupant = occupantOf(record, holding.contents.get(key)?.value, holding.records.values());
  if (occupant !== undefined) return removing('Occupied', `${displayKey(occupant)} is still in it`, false);
  const outcome = await cluster.remove({ key, fleet, ...(identity === undefined ? {} : { identity }) });
  return removalStep(outcome);
}

function removalStep(outcome: RemoveOutcome): Step {
  switch (outcome.type) {
    case 'gone':
      return { result: { state: 'removed', reason: 'Removed', message: '' }, retry: false };
    case 'notOwned':
      return { result: { state: 'removed', reason: 'Released', message: outcome.message }, retry: false };
    case 'waiting':
      return removing('Waiting', outcome.message, true);
    case 'paused':
      return PAUSED;
    case 'exempt':
      return { result: { state: 'removed', reason: 'Released', message: outcome.message }, retry: false };
    case 'failed':
      return removing(outcome.reason, outcome.message, outcome.retryable);
    default:
      return unreachable(outcome);
  }
}

/** Reason of a result while the stop button is on. */
export const PAUSED_REASON = 'Paused';

const PAUSED: Step = {
  result: { state: 'paused', reason: PAUSED_REASON, message: 'the stop button in the cluster is on' },
  // Releasing the button starts it at once; the retry is for a release that nobody noticed.
  retry: true,
};

const SERVER_AWAY: Step = removing(
  'ServerAway',
  'its removal waits for the server; without one nothing is removed',
  false,
);

const CONTENT_UNKNOWN: Step = failed(
  'ContentUnknown',
  'the agent has lost what it should be; the server sends it again',
  false,
);

function failed(reason: string, message: string, retry: boolean): Step {
  return { result: { state: 'failed', reason, message }, retry };
}

function removing(reason: string, message: string, retry: boolean): Step {
  return { result: { state: 'removing', reason, message }, retry };
}
