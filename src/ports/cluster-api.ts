import type { AgentHolding, InventoryEntry, KindState } from '../model/agent.ts';
import type { AgentSettings } from '../model/agent-settings.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { ClusterId, Digest, FleetName } from '../model/ids.ts';
import type { JsonObject } from '../model/json.ts';
import type { ObjectHealth } from '../model/object-health.ts';
import type { ObjectKey } from '../model/object-key.ts';
import type { ObjectMeta } from '../model/output.ts';

/**
 * One cluster as its agent uses it. An adapter is opened by its composition root, is used by one agent at a time, and
 * keeps nothing but caches in memory: what must outlast the process is in the cluster.
 */
export interface ClusterApi {
  /** What makes this cluster itself; never changes while the cluster lives. */
  identity(): Promise<ClusterId>;
  /**
   * Live state. `complete` reads everything anew and is authoritative; `hinted` may look only where a hint pointed. Rejects
   * if the cluster cannot be asked at all (which is not the same as empty). The same object is handed out again,
   * identical, while nothing about it changed.
   */
  list(depth: 'hinted' | 'complete'): Promise<LiveState>;
  /**
   * Calls back soon after something may have changed that this adapter did not do itself: an object, or the stop button.
   * A hint can be missing or superfluous. The returned function ends it.
   */
  watch(hint: () => void): () => void;
  /** Makes the object be as declared. Never rejects for a reason that lies in the object. */
  apply(request: ApplyRequest): Promise<ApplyOutcome>;
  /** Is a live object as declared, its stamp included? Pure; what others own by agreement does not count. */
  matches(request: ApplyRequest, observed: ObservedObject): boolean;
  /** Removes the object if it is ours. Never rejects for a reason that lies in the object. */
  remove(request: RemoveRequest): Promise<RemoveOutcome>;
  /** What the fleet's policy says to this agent; takes effect with the next look. */
  configure(settings: AgentSettings): void;
  loadInventory(): Promise<LoadedInventory>;
  /**
   * Durable, whole or not at all, when it resolves. Goes on while the stop button is on: it is no write of an object.
   * Rejects with an error that {@link isTakenOver} tells if another agent has taken the cluster over: this one must stop.
   */
  saveInventory(change: InventoryChange): Promise<void>;
  /** Releases the cluster for another agent; nothing may be called afterwards. */
  close(): Promise<void>;
}

/** Everything that lives in a cluster now. Never changed after it is handed out. */
export interface LiveState {
  /**
   * Keys that differ from the state handed out just before this one (also keys that are gone from it); undefined: any may.
   * Who has missed a state compares everything.
   */
  readonly changed?: ReadonlySet<ObjectKey>;
  readonly objects: ReadonlyMap<ObjectKey, ObservedObject>;
  /** Every kind that was ever seen here; a kind that could not be read whole is unknown, never empty. */
  readonly kinds: readonly KindState[];
  readonly diagnostics: readonly Diagnostic[];
  /** The stop button in the cluster is on. */
  readonly paused: boolean;
}

/** One live object. */
export interface ObservedObject {
  readonly key: ObjectKey;
  /** Without our stamp, and without what an API server keeps for itself. May be worked out at each reading: keep it. */
  readonly value: JsonObject;
  /**
   * Canonical bytes of `value`, where an adapter keeps these: then nothing is in them that has to stay in the cluster
   * (the values of a Secret), and nobody needs to work them out again.
   */
  readonly content?: Uint8Array;
  /** What the object says of its owner; absent: nothing, or nothing that can be read. */
  readonly stamp?: Stamp;
  /**
   * Digest of what was declared when it was written, as its stamp says. Absent: the cluster keeps objects as they are
   * written, and there is nothing else in `value` than that. An API server's objects have more in them, or less.
   */
  readonly declared?: Digest;
  /** Where it is, for people: a path, an address. */
  readonly where: string;
  /** By kstatus rules; absent: the cluster knows no such thing (a directory). */
  readonly health?: ObjectHealth;
  /** It cannot be read now; this is what was last seen. It matches nothing. */
  readonly stale?: true;
}

/** What we write onto each object. It owns an object only if it names that very object and this fleet. */
export interface Stamp extends ObjectMeta {
  readonly fleet: FleetName;
  readonly key: ObjectKey;
}

export interface ApplyRequest {
  readonly key: ObjectKey;
  readonly value: JsonObject;
  readonly stamp: Stamp;
}

/**
 * `applied`: it was written. `unchanged`: it was so already. `conflict`: somebody else has it, and it was not touched.
 * `paused`: the stop button is on. `exempt`: a person has taken this object out of our hands, by an annotation on it.
 * `failed`: `retryable` says whether trying again without a change can help.
 */
export type ApplyOutcome =
  | { readonly type: 'applied' | 'unchanged'; readonly identity?: string }
  | { readonly type: 'conflict'; readonly owner: string; readonly message: string }
  | { readonly type: 'paused' }
  | { readonly type: 'exempt'; readonly reason: string; readonly message: string }
  | { readonly type: 'failed'; readonly retryable: boolean; readonly reason: string; readonly message: string };

/** Reasons of a failure that ends when something comes into the cluster: the kind of the object, its Namespace. */
export const NO_SUCH_KIND = 'NoSuchKind';
export const NAMESPACE_NOT_FOUND = 'NamespaceNotFound';

export interface RemoveRequest {
  readonly key: ObjectKey;
  readonly fleet: FleetName;
  /** The very object that was created; another one of the same key is not ours. Absent: the stamp alone decides. */
  readonly identity?: string;
}

/**
 * `gone`: it is not there (any more). `waiting`: its removal is accepted and not finished (a finalizer). `notOwned`: what is
 * there belongs to somebody else and was not touched. `exempt`: an annotation on it says that it is to stay; it is let go.
 */
export type RemoveOutcome =
  | { readonly type: 'gone' }
  | { readonly type: 'waiting'; readonly message: string }
  | { readonly type: 'notOwned'; readonly owner: string; readonly message: string }
  | { readonly type: 'paused' }
  | { readonly type: 'exempt'; readonly reason: string; readonly message: string }
  | { readonly type: 'failed'; readonly retryable: boolean; readonly reason: string; readonly message: string };

/** An entry of the inventory as it lies in the cluster. */
export interface InventoryRecord extends InventoryEntry {
  /** The cluster's own id of the object that was created for it; absent: none yet, or the cluster has no such ids. */
  readonly identity?: string;
}

/** `missing` and `damaged` are told apart for people; both mean that nothing is known to be owned. */
export type LoadedInventory =
  | {
      readonly type: 'found';
      readonly state: InventoryState;
      readonly records: readonly InventoryRecord[];
    }
  | { readonly type: 'missing' }
  | { readonly type: 'damaged'; readonly message: string };

/** What an inventory says beside its records. */
export interface InventoryState extends Omit<AgentHolding, 'entries'> {
  /** Whose server the records came from; undefined only while there was never one. */
  readonly fleet: FleetName | undefined;
  /** What the fleet's policy said last, for a start without a server; absent: nothing yet. */
  readonly settings?: AgentSettings;
}

/** The error for an agent whose cluster another agent has taken over. */
export function takenOverError(message: string): Error & { readonly takenOver: true } {
  return Object.assign(new Error(message), { takenOver: true as const });
}

/** Does this error say that another agent has taken the cluster over? */
export function isTakenOver(error: unknown): error is Error & { readonly takenOver: true } {
  return error instanceof Error && 'takenOver' in error && error.takenOver === true;
}

/** A step of the inventory. */
export interface InventoryChange {
  readonly state: InventoryState;
  readonly put: readonly InventoryRecord[];
  readonly drop: readonly ObjectKey[];
}
