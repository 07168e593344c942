import type { ClusterId, ClusterName, Digest, FleetName } from './ids.ts';
import type { JsonObject } from './json.ts';
import type { KindScope } from './kinds.ts';
import type { ObjectHealth } from './object-health.ts';
import type { ObjectKey } from './object-key.ts';
import type { AdmissionPosition, ObjectMeta, OutputPosition, RevisionRef } from './output.ts';

/** One object that fleetrelay owns in a cluster, as the agent reports it. */
export interface InventoryEntry extends ObjectMeta {
  readonly key: ObjectKey;
  /** Of the content that was last accepted. */
  readonly digest: Digest;
  /** `removing`: its removal is accepted, the object is still there. */
  readonly phase: 'held' | 'removing';
}

/** All that an agent holds of fleetrelay's: sent with each hello of the pull stream. */
export interface AgentHolding {
  readonly position: OutputPosition;
  /** Snapshot digest over the entries in phase `held`. */
  readonly digest: Digest;
  readonly revisions: readonly RevisionRef[];
  /** Of the output that was accepted last; absent: its server said none. A server that is behind it sends nothing. */
  readonly admitted?: AdmissionPosition;
  readonly entries: readonly InventoryEntry[];
}

/** Who is calling. */
export interface AgentHello {
  readonly cluster: ClusterName;
  readonly clusterId: ClusterId;
  /** One random id per agent process: the same agent coming back is told from a second one. */
  readonly instance: string;
  readonly version: string;
  readonly capabilities: readonly string[];
  /** The fleet that its objects belong to; absent: it holds none. */
  readonly fleet?: FleetName;
}

/** A capability that an agent states when its cluster takes kinds as they are written (a directory). */
export const KINDS_AS_WRITTEN = 'kinds-as-written';

/** A capability that a server states when a step of the input need not repeat the kinds. */
export const KEEPS_KINDS = 'keeps-kinds';

/** A capability that an agent states when it takes new roots. */
export const TAKES_ROOTS = 'roots';

/** A capability that an agent states when it takes the fleet's settings. */
export const TAKES_SETTINGS = 'settings';

/**
 * What became of one object: the last word of the agent about it.
 * `applied`: the cluster holds it as declared. `failed`: an error, retried with back-off. `conflict`: somebody else has
 * it; it was not touched. `paused`: the stop button is on. `removing`, `removed`: the way of a removal.
 */
export interface ObjectResult {
  readonly key: ObjectKey;
  /** The content that the result is about. */
  readonly digest: Digest;
  readonly state: 'applied' | 'failed' | 'conflict' | 'paused' | 'removing' | 'removed';
  /** Constant UpperCamelCase word. */
  readonly reason: string;
  readonly message: string;
  /** Of an applied object; absent: not known. */
  readonly health?: ObjectHealth;
}

/** One live object, trimmed, without our stamp. */
export interface LiveObject {
  readonly key: ObjectKey;
  /** May be worked out at each reading: keep it. */
  readonly value: JsonObject;
  /** Canonical bytes of `value`, where they are at hand. */
  readonly content?: Uint8Array;
  readonly digest: Digest;
}

/**
 * A kind in a cluster: could all its objects be listed? Unknown is never empty. `offered`: the cluster has the kind, and
 * its objects are not discovered.
 */
export interface KindState {
  /** `group/Kind`. */
  readonly kind: string;
  readonly state: 'complete' | 'unknown' | 'offered';
  readonly message: string;
  /** As the cluster's own API list says; stays known while the kind is unknown. Absent: the cluster has no such list. */
  readonly scope?: KindScope;
}

/** A step of an input snapshot from one digest to another (digests over all live objects). */
export interface InputDelta {
  readonly from: Digest;
  readonly to: Digest;
  readonly upserts: readonly LiveObject[];
  readonly removals: readonly ObjectKey[];
  /** All of them; absent: as after the step before. */
  readonly kinds?: readonly KindState[];
}
