import { type ObjectResult, STOP_BUTTON_REASON, stopButtonMessage } from '../../model/agent/agent.ts';
import { type Digest, type FleetName, quote } from '../../model/fleet/ids.ts';
import { creationRank, LAST_RANK } from '../../model/objects/apply-order.ts';
import {
  displayKey,
  isStatusKey,
  kindOf,
  type ObjectKey,
  objectRefOf,
  refOfObject,
} from '../../model/objects/object-key.ts';
import { statusProblem } from '../../model/objects/status-value.ts';
import { isJsonObject, type JsonObject } from '../../model/text/json.ts';
import { unreachable } from '../../model/values/result.ts';
import type { StoredObject } from '../../ports/agent-disk.ts';
import type { ApplyRequest, ClusterApi, InventoryRecord, Stamp } from '../../ports/cluster-api.ts';
import { toldDrift } from './found-drift.ts';
import { type Handovers, WAITS_FOR_OTHER, type Wait } from './handovers.ts';
import { contentOf, fleetOf, type Inventory } from './inventory.ts';

/** The result of one attempt to apply or remove an object. */
export interface Step {
  readonly result: Pick<ObjectResult, 'state' | 'reason' | 'message' | 'drift'>;
  /** Retry with back-off, without a new reason. */
  readonly retry: boolean;
  /** The attempt wrote the object. */
  readonly written?: true;
  /** Enters these fields in the inventory as given up; then the object is applied again. */
  readonly givesUp?: JsonObject;
  /** The cluster's identity of the object, for the inventory. */
  readonly identity?: string;
}

/** What {@link stepObject} is told beside the inventory. */
export interface StepOptions {
  /** False without a server: then nothing is removed. */
  readonly mayRemove: boolean;
  /** Of the object, where the inventory does not have it yet. */
  readonly identity?: string | undefined;
  readonly handovers: Pick<Handovers, 'waitToApply' | 'waitToRemove' | 'waitFor'>;
  /** Whether drift of an object is only reported. */
  readonly leavesDrift: (value: JsonObject) => boolean;
}

const CRD = 'apiextensions.k8s.io/CustomResourceDefinition';

/** The order of work; lower ranks are first. Removals are after all creations, and in the reverse order. */
export function workRank({ key, phase }: InventoryRecord): number {
  const creation = creationRank(key);
  return phase === 'held' ? creation : 2 * LAST_RANK + 1 - creation;
}

/** The request that applies an owned object. A class, because each new object with a getter of its own costs more than the rest of it. */
export class OwnedRequest implements ApplyRequest {
  readonly key: ObjectKey;
  readonly digest: Digest;
  readonly stamp: Stamp;
  readonly givenUp?: JsonObject;
  readonly leavesDrift?: true;
  readonly applied?: true;
  readonly #content: Pick<StoredObject, 'value'>;

  constructor(fleet: FleetName, record: InventoryRecord, content: Pick<StoredObject, 'value'>, leavesDrift = false) {
    const { key, digest, nonce, origins, scope, givenUp, applied } = record;
    this.key = key;
    this.digest = digest;
    this.stamp = { fleet, key, nonce, origins, scope };
    if (givenUp !== undefined) this.givenUp = givenUp;
    if (leavesDrift) this.leavesDrift = true;
    if (applied !== undefined) this.applied = applied;
    this.#content = content;
  }

  /** What is compared by its digest is not read. */
  get value(): JsonObject {
    return this.#content.value;
  }
}

/** The declared value of an owned object; undefined if it is not known, or the disk cannot read it any more. */
function declaredValue(inventory: Inventory, key: ObjectKey): JsonObject | undefined {
  try {
    return contentOf(inventory, key)?.value;
  } catch {
    return undefined;
  }
}

/**
 * Applies or removes one object as the inventory says; undefined if the key is not in the inventory, or waits for another one that has
 * no result yet.
 */
export async function stepObject(
  cluster: ClusterApi,
  inventory: Inventory,
  key: ObjectKey,
  options: StepOptions,
): Promise<Step | undefined> {
  const record = inventory.records.get(key);
  const fleet = fleetOf(inventory);
  if (record === undefined || fleet === undefined) return undefined;
  const value = declaredValue(inventory, key);
  if (record.phase === 'removing') {
    if (!options.mayRemove) return SERVER_AWAY;
    const wait = record.rebuilt === true ? 'none' : options.handovers.waitToRemove(key, value);
    return wait === 'none'
      ? removeObject(cluster, inventory, record, { fleet, declared: value, ...options })
      : waiting(cluster, 'removing', wait);
  }
  if (value === undefined) return CONTENT_UNKNOWN;
  const request = new OwnedRequest(fleet, record, { value }, options.leavesDrift(value));
  const wait = options.handovers.waitToApply(request);
  return wait === 'none' ? applyObject(cluster, request) : waiting(cluster, 'failed', wait);
}

/** No retry: the result of the other object wakes it. While the stop button holds the other one, it holds this one as well. */
function waiting(cluster: ClusterApi, state: 'failed' | 'removing', wait: Exclude<Wait, 'none'>): Step | undefined {
  if (wait === 'untold') return undefined;
  return wait.reason === STOP_BUTTON_REASON ? paused(cluster) : stepOf(state, WAITS_FOR_OTHER, wait.message);
}

async function applyObject(cluster: ClusterApi, request: ApplyRequest): Promise<Step> {
  const invalid = invalidity(request);
  if (invalid !== undefined) return stepOf('failed', 'InvalidObject', invalid);
  const outcome = await cluster.apply(request);
  switch (outcome.type) {
    case 'applied':
    case 'unchanged':
      return {
        ...stepOf('applied', 'Applied', ''),
        ...(outcome.type === 'applied' ? { written: true } : {}),
        ...(outcome.identity === undefined ? {} : { identity: outcome.identity }),
      };
    case 'drifted': {
      const { drift, identity } = outcome;
      const applied = stepOf('applied', 'Applied', '');
      const result = { ...applied.result, drift: toldDrift(request.key, drift, outcome) };
      return { ...applied, result, ...(identity === undefined ? {} : { identity }) };
    }
    case 'givesUp':
      return { ...stepOf('failed', 'NotRecorded', NOT_RECORDED, true), givesUp: outcome.fields };
    case 'conflict':
      return stepOf('conflict', 'Conflict', outcome.message, true);
    case 'paused':
      return paused(cluster);
    case 'exempt':
      return stepOf('paused', outcome.reason, outcome.message);
    case 'failed':
      return stepOf('failed', outcome.reason, outcome.message, true);
    default:
      return unreachable(outcome);
  }
}

const NOT_RECORDED = 'the fields that it gives up could not be entered in the inventory';

/** Why the object is not the one that its key names: the key decides where it is written and who owns it. */
function invalidity({ key, value }: ApplyRequest): string | undefined {
  const named = refOfObject(value);
  if (!named.ok) return named.problem;
  const { group, kind, namespace, name } = objectRefOf(key);
  const same = named.value.group === group && named.value.kind === kind && named.value.name === name;
  const inside = named.value.namespace === namespace || named.value.namespace === '';
  if (same && inside) return statusProblem(key, value);
  return `the object calls itself ${quote(named.value.name)} and not ${displayKey(key)}`;
}

interface RemoveOptions extends Pick<StepOptions, 'identity' | 'handovers'> {
  readonly fleet: FleetName;
  readonly declared: JsonObject | undefined;
}

async function removeObject(
  cluster: ClusterApi,
  inventory: Inventory,
  record: InventoryRecord,
  { fleet, declared, identity = record.identity, handovers }: RemoveOptions,
): Promise<Step> {
  const { key, nonce } = record;
  if (record.rebuilt === true) {
    const why = 'after the loss of the inventory only its stamp says that fleetrelay owns it';
    return stepOf('removed', RELEASED, `${displayKey(key)} stays: ${why}`);
  }
  const occupant = occupantOf(record, declared, inventory.records.values());
  if (occupant !== undefined) {
    handovers.waitFor(key, occupant);
    return stepOf('removing', 'Occupied', `${displayKey(occupant)} is still in it`);
  }
  const outcome = await cluster.remove({
    key,
    fleet,
    nonce,
    ...(identity === undefined ? {} : { identity }),
    ...(declared === undefined ? {} : { declared }),
  });
  switch (outcome.type) {
    case 'gone':
      return stepOf('removed', 'Removed', '');
    case 'notOwned':
    case 'exempt':
      return stepOf('removed', RELEASED, outcome.message);
    case 'waiting':
      return stepOf('removing', 'Waiting', outcome.message, true);
    case 'paused':
      return paused(cluster);
    case 'failed':
      return stepOf('removing', outcome.reason, outcome.message, true);
    default:
      return unreachable(outcome);
  }
}

/**
 * An object of the inventory that is in this Namespace or of this CRD's kind, and so blocks its removal; undefined if there
 * is none, or if the record is of another kind. `value`: the last content of the CRD, if it is known.
 */
function occupantOf(
  record: InventoryRecord,
  value: JsonObject | undefined,
  records: Iterable<InventoryRecord>,
): ObjectKey | undefined {
  const kind = kindOf(record.key);
  if ((kind !== '/Namespace' && kind !== CRD) || isStatusKey(record.key)) return undefined;
  const { name } = objectRefOf(record.key);
  const defined = kind === CRD ? definedKind(name, value) : undefined;
  for (const { key } of records) {
    const ref = objectRefOf(key);
    const inside =
      defined === undefined
        ? ref.namespace === name
        : ref.group === defined.group && (defined.kind === undefined || ref.kind === defined.kind);
    // Statuses end before objects are removed, and hold none.
    if (inside && key !== record.key && !isStatusKey(key)) return key;
  }
  return undefined;
}

/** A CRD is named PLURAL.GROUP; without its content every kind of the group counts. */
function definedKind(name: string, value: JsonObject | undefined): { readonly group: string; readonly kind?: string } {
  const group = name.slice(name.indexOf('.') + 1);
  const spec = value?.spec;
  const names = isJsonObject(spec) ? spec.names : undefined;
  const kind = isJsonObject(names) ? names.kind : undefined;
  return typeof kind === 'string' ? { group, kind } : { group };
}

/** Reason of a result: the object is not owned any more, and stays. */
export const RELEASED = 'Released';

/** Releasing the button starts the work at once; the retry is for a release without a hint. */
function paused({ releaseStop }: ClusterApi): Step {
  return stepOf('paused', STOP_BUTTON_REASON, stopButtonMessage(releaseStop), true);
}

const SERVER_AWAY = stepOf(
  'removing',
  'ServerAway',
  'its removal waits for the server; without one nothing is removed',
);

/** Reason of a result: the content is not known, or the disk cannot read it any more. */
export const CONTENT_UNKNOWN_REASON = 'ContentUnknown';

const CONTENT_UNKNOWN = stepOf(
  'failed',
  CONTENT_UNKNOWN_REASON,
  'the agent has lost what it should be; the server sends it again',
);

function stepOf(state: ObjectResult['state'], reason: string, message: string, retry = false): Step {
  return { result: { state, reason, message }, retry };
}
