import type { AgentHolding, InventoryEntry, KindState } from '../model/agent/agent.ts';
import type { AgentSettings } from '../model/agent/agent-settings.ts';
import type { Diagnostic } from '../model/fleet/diagnostic.ts';
import type { ClusterId, Digest, FleetName } from '../model/fleet/ids.ts';
import type { ObjectMeta, RevisionRef } from '../model/fleet/output.ts';
import type { ObjectHealth } from '../model/objects/object-health/health.ts';
import { isStatusKey, type ObjectKey } from '../model/objects/object-key.ts';
import type { JsonObject } from '../model/text/json.ts';
import { given } from '../model/values/given.ts';
import type { ResourceEvent } from './resource-status.ts';

/**
 * One cluster, for its agent. One agent uses it at a time. The adapter holds only caches in memory: all state that must
 * outlast the process is in the cluster.
 */
export interface ClusterApi {
  /** The id of the cluster, which never changes while the cluster exists. */
  identity(): Promise<ClusterId>;
  /**
   * The cluster has statuses of objects: where a request names one (`statusKey`), `apply` writes the status of an object that others
   * own, with a field manager of its own, and never makes that object; `remove` takes the fields of that manager away. Such a status
   * has no stamp. Absent: no request names one.
   */
  readonly takesStatuses?: true;
  /** What releases the stop button, as an order: "remove the file ...". */
  readonly releaseStop: string;
  /**
   * Returns the live state. `complete` reads the complete cluster; `hinted` may read only the objects that hints named. Rejects
   * if the cluster cannot be read, which is different from an empty one. An unchanged object is the identical value again.
   */
  list(depth: 'hinted' | 'complete'): Promise<LiveState>;
  /**
   * Calls `hint` soon after an object or the stop button may have changed, except by this adapter. Hints can be missing or
   * superfluous. The returned function ends the watch.
   */
  watch(hint: () => void): () => void;
  /** Makes the live object equal to the declared one. Never rejects because of the object. */
  apply(request: ApplyRequest): Promise<ApplyOutcome>;
  /** True if a live object equals the declared one, stamp included, except for fields that others own by agreement. Pure. */
  matches(request: ApplyRequest, observed: ObservedObject): boolean;
  /** How a live object that does not match differs from the declared one, as far as it is known. Pure. */
  differences(request: ApplyRequest, observed: ObservedObject): Differences;
  /** Tells people in the cluster something about a live object (an Event). Never rejects. Absent: the cluster has no Events. */
  readonly tell?: (key: ObjectKey, event: ResourceEvent) => Promise<void>;
  /** Removes the object if fleetrelay owns it. Never rejects because of the object. */
  remove(request: RemoveRequest): Promise<RemoveOutcome>;
  /** Sets the settings of the fleet's policy for this agent; they take effect with the next `list`. */
  configure(settings: AgentSettings): void;
  loadInventory(): Promise<LoadedInventory>;
  /**
   * Applies a change completely or not at all; durable when it resolves. Also works while the stop button is on, because it
   * writes no object. Rejects with an error that {@link isTakenOver} recognises if another agent has taken the cluster over;
   * the caller must then stop.
   */
  saveInventory(change: InventoryChange): Promise<void>;
  /** Releases the cluster for another agent. No method may be called afterwards. */
  close(): Promise<void>;
}

/** All objects of a cluster at one moment. Never changed after it was returned. */
export interface LiveState {
  /**
   * Keys that differ from the state returned just before this one, removed keys included; undefined: any key may differ. A
   * caller that has missed a state must compare all keys.
   */
  readonly changed?: ReadonlySet<ObjectKey>;
  readonly objects: ReadonlyMap<ObjectKey, ObservedObject>;
  /** The statuses of the inventory whose objects exist, by their own keys. Absent: none. */
  readonly statuses?: ReadonlyMap<ObjectKey, ObservedObject>;
  /** As `changed`, of the statuses; absent: none. */
  readonly changedStatuses?: ReadonlySet<ObjectKey>;
  /** All kinds that the cluster offers. A kind that could not be read completely is unknown, never empty. */
  readonly kinds: readonly KindState[];
  readonly diagnostics: readonly Diagnostic[];
  /** Kinds (`group/Kind`) whose definition was made, changed or removed since the state before; absent: none. */
  readonly redefined?: ReadonlySet<string>;
  /** True while the stop button in the cluster is on. */
  readonly paused: boolean;
  /** Of the API server, as `v1.36.3`. Absent: it is not known, or the cluster has none (a directory). */
  readonly kubernetesVersion?: string;
}

/** One live object. */
export interface ObservedObject {
  readonly key: ObjectKey;
  /** Without the stamp and the fields that an API server manages. May be computed at each access: keep the result. */
  readonly value: JsonObject;
  /** The adapter does not keep `value`, and reads it again: then it may be newer than the rest. */
  readonly isReread?: true;
  /**
   * Canonical bytes of `value`, if the adapter keeps them. Present only if they contain nothing that must stay in the
   * cluster, like the values of a Secret.
   */
  readonly content?: Uint8Array;
  /** The stamp on the object; absent if there is none, or if it is unreadable. */
  readonly stamp?: Stamp;
  /**
   * Digest of the declared object at the last write, from the stamp. Absent if the cluster stores objects exactly as they
   * were written; an API server adds and removes fields.
   */
  readonly declared?: Digest;
  /** Its place for people: a path or an address. */
  readonly where: string;
  /** By the rules of its kind (`model/object-health`); absent if the cluster has no health (a directory). */
  readonly health?: ObjectHealth;
  /** True if the object cannot be read now, and this is its last known value. It matches no declared object. */
  readonly stale?: true;
}

/** Proves that an object was written for an entry of the inventory. */
export interface Ownership {
  readonly fleet: FleetName;
  readonly key: ObjectKey;
  /** Random, of the entry: what was stamped by others before the object was created does not have it. */
  readonly nonce: string;
}

/** Written onto each applied object. Fleetrelay owns an object only if its whole {@link Ownership} is equal to the inventory's. */
export interface Stamp extends ObjectMeta, Ownership {}

export interface ApplyRequest {
  readonly key: ObjectKey;
  /** May be read from the disk at each access. */
  readonly value: JsonObject;
  /** Of `value`; absent: not known. */
  readonly digest?: Digest;
  readonly stamp: Stamp;
  /** See {@link InventoryRecord.givenUp}. */
  readonly givenUp?: JsonObject;
  /** A live object that was applied with this content before, and was changed or removed by others since, is left as it is. */
  readonly leavesDrift?: true;
  /** See {@link InventoryRecord.applied}. */
  readonly applied?: true;
}

/** How a live object differs from the declared one. */
export interface Differences {
  /** The declared fields that differ. */
  readonly fields: readonly string[];
  /** Field managers that have these fields now. Empty: the cluster does not say, for example if a field was removed. */
  readonly managers: readonly string[];
}

/**
 * The object was not changed. `paused`: the stop button is on. `exempt`: an annotation on the object excludes it from
 * management, or the object of a status does not exist. `failed`: the caller tries again with back-off: the cause can end without a change of the object.
 */
type NotChanged =
  | { readonly type: 'paused' }
  | { readonly type: 'exempt'; readonly reason: string; readonly message: string }
  | { readonly type: 'failed'; readonly reason: string; readonly message: string };

/**
 * `applied`: it was written. `unchanged`: it was equal already. Both: no field that it gave up is live. `conflict`: another owner has
 * it, or fields of it. `drifted`: others have changed or removed it since it was applied, and it is left as it is. `givesUp`: it was
 * not changed, and would give up fields that other managers have too: the caller enters `fields` in the inventory, and applies it again.
 */
export type ApplyOutcome =
  | { readonly type: 'applied' | 'unchanged'; readonly identity?: string }
  | (Differences & { readonly type: 'drifted'; readonly drift: 'changed' | 'removed'; readonly identity?: string })
  | { readonly type: 'givesUp'; readonly fields: JsonObject }
  | { readonly type: 'conflict'; readonly owner: string; readonly message: string }
  | NotChanged;

/** Reasons of failures that end when another object is created: the definition of the kind, the Namespace. */
export const NO_SUCH_KIND = 'NoSuchKind';
export const NAMESPACE_NOT_FOUND = 'NamespaceNotFound';

/** Reason of a failed apply: the Namespace is being deleted, and takes nothing new. */
export const NAMESPACE_TERMINATING = 'NamespaceTerminating';

export interface RemoveRequest extends Ownership {
  /** Id of the owned object; an object of the same key with another id is not removed. Absent: only the stamp is compared. */
  readonly identity?: string;
  /** The content that was declared last; absent: it is not known. */
  readonly declared?: JsonObject;
}

/**
 * `gone`: it does not exist now. `waiting`: its removal was accepted and has not finished (a finalizer). `notOwned`: another
 * owner has it; it was not changed. `exempt`: an annotation keeps it, and it is not owned any more.
 */
export type RemoveOutcome =
  | { readonly type: 'gone' }
  | { readonly type: 'waiting'; readonly message: string }
  | { readonly type: 'notOwned'; readonly owner: string; readonly message: string }
  | NotChanged;

/** An entry of the inventory as it is stored in the cluster. */
export interface InventoryRecord extends InventoryEntry {
  /** See {@link Ownership}. Entered with the key, before the object is created. */
  readonly nonce: string;
  /** Entered from the stamp of a live object, because the inventory was lost. Absent: a server has sent the content. */
  readonly rebuilt?: true;
  /**
   * Fields that were declared earlier and that other managers had too, in the notation `fieldsV1` of managedFields, until they are gone.
   * Absent: none.
   */
  readonly givenUp?: JsonObject;
  /**
   * The content of this digest has been applied. Entered while drift of the object is only reported, or its manifest says `report`; stays
   * until the content changes, or a removal begins.
   */
  readonly applied?: true;
  /** The cluster's id of the created object; absent if it is not created yet, or the cluster has no such ids. */
  readonly identity?: string;
}

/** `missing` and `damaged` differ only for people: in both cases no object is known to be owned. */
export type LoadedInventory =
  | {
      readonly type: 'found';
      readonly state: InventoryState;
      /** Of the objects that fleetrelay owns. */
      readonly records: readonly InventoryRecord[];
      /** Of the statuses that it applies to objects of others; absent: none. */
      readonly statuses?: readonly InventoryRecord[];
    }
  | { readonly type: 'missing' }
  | { readonly type: 'damaged'; readonly message: string };

/** Content of an inventory beside its records. */
export interface InventoryState extends Omit<AgentHolding, 'entries'> {
  /** That the records were computed from. */
  readonly revisions: readonly RevisionRef[];
  /** The fleet whose server sent the records; undefined if there was never a server. */
  readonly fleet: FleetName | undefined;
  /** The last settings of the fleet's policy, for a start without a server; absent if none arrived yet. */
  readonly settings?: AgentSettings;
}

/** Makes the error for an agent whose cluster another agent has taken over. */
export function takenOverError(message: string): Error & { readonly takenOver: true } {
  return Object.assign(new Error(message), { takenOver: true as const });
}

/** True for an error of {@link takenOverError}. */
export function isTakenOver(error: unknown): error is Error & { readonly takenOver: true } {
  return error instanceof Error && 'takenOver' in error && error.takenOver === true;
}

/** A change of the inventory: the state after it, and the records that are added, replaced or removed. */
export interface InventoryChange {
  readonly state: InventoryState;
  readonly put: readonly InventoryRecord[];
  readonly drop: readonly ObjectKey[];
}

/** The entries of an inventory as it is loaded: the objects, and apart from them the statuses. */
export function loadedRecords(
  all: Iterable<InventoryRecord>,
): Pick<Extract<LoadedInventory, { readonly type: 'found' }>, 'records' | 'statuses'> {
  const { objects = [], statuses } = Object.groupBy(all, ({ key }) => (isStatusKey(key) ? 'statuses' : 'objects'));
  return { records: objects, ...given({ statuses }) };
}
