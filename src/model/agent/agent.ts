import type { Drift } from '../fleet/drift.ts';
import type { ClusterId, ClusterName, Digest, FleetName } from '../fleet/ids.ts';
import type { AdmissionPosition, ObjectMeta, OutputPosition } from '../fleet/output.ts';
import type { KindScope } from '../objects/kinds.ts';
import type { ObjectHealth } from '../objects/object-health/health.ts';
import type { ObjectKey } from '../objects/object-key.ts';
import type { JsonObject } from '../text/json.ts';
import { given } from '../values/given.ts';

/** An object that fleetrelay owns in a cluster, or a status that it applies there, as the agent reports it. */
export interface InventoryEntry extends ObjectMeta {
  readonly key: ObjectKey;
  /** Of the content that the agent accepted last. */
  readonly digest: Digest;
  /** `removing`: the agent has accepted the removal, and the object still exists. */
  readonly phase: 'held' | 'removing';
  /** The agent does not have the content any more, so the server sends it again. */
  readonly lost?: true;
}

/** The inventory of an agent, which it reports at each connect. */
export interface AgentHolding {
  readonly position: OutputPosition;
  /** Snapshot digest over the entries in phase `held`. */
  readonly digest: Digest;
  /** Of the output that the agent accepted last; absent: its server sent none. A server with an earlier one sends nothing. */
  readonly admitted?: AdmissionPosition;
  /** Of the output that the agent accepted last (hex); absent: it had none. */
  readonly tag?: string;
  readonly entries: readonly InventoryEntry[];
}

/** The inventory of an agent without its entries, and the digest of all that they say. */
export interface HoldingClaim extends Omit<AgentHolding, 'entries'> {
  /** By `inventoryDigest`. */
  readonly inventory: Digest;
}

/** The identity of a connecting agent. */
export interface AgentHello {
  readonly cluster: ClusterName;
  readonly clusterId: ClusterId;
  /** A random id of the agent process: it tells a reconnecting agent from a second one. */
  readonly instance: string;
  readonly version: string;
  readonly capabilities: readonly string[];
  /** The fleet that its objects belong to; absent: its inventory is empty. */
  readonly fleet?: FleetName;
  /** Of the API server of the cluster, as `v1.36.3`; absent: it is not known, or the cluster has none. */
  readonly kubernetesVersion?: string;
  /** The namespace of the agent, which refuses objects in it; absent: it refuses none, or has no namespace (a directory). */
  readonly ownNamespace?: string;
  /** The largest object in bytes that it takes; absent: as large as the relay carries. */
  readonly objectBytes?: number;
}

/** The version of an API server, as `v1.36.3` or `v1.36.3+k3s1`. */
export const KUBERNETES_VERSION = /^v\d{1,3}\.\d{1,4}[\x21-\x7e]{0,50}$/;

/** Capability of an agent: its cluster does not know scopes of kinds, and takes namespaces as written (a directory). */
export const KINDS_AS_WRITTEN = 'kinds-as-written';

/** Capability of a server: a step of the input need not repeat the kinds. */
export const KEEPS_KINDS = 'keeps-kinds';

/** Capability of a server: the health of an object may be `suspended`. */
export const TAKES_SUSPENDED = 'suspended-health';

/** Capability of an agent: it accepts new root certificates. */
export const TAKES_ROOTS = 'roots';

/** Capability of an agent: it accepts the settings of the fleet. */
export const TAKES_SETTINGS = 'settings';

/** Capability of an agent: the settings of the fleet may say that opt-outs on live objects have no effect. */
export const TAKES_LIVE_OPT_OUTS = 'live-opt-outs';

/** Capability of an agent: the settings of the fleet may say how the health of kinds is judged. */
export const TAKES_HEALTH_CHECKS = 'health-checks';

/** Capability of an agent: it can only report drift. */
export const TAKES_DRIFT_MODE = 'drift-mode';

/** Capability of an agent: the settings of the fleet may say that what Placements and manifests say of drift has no effect. */
export const TAKES_DRIFT_MODE_BOUND = 'drift-mode-bound';

/** Capability of an agent: each object may have a mode of drift of its own. */
export const TAKES_OBJECT_DRIFT_MODE = 'object-drift-mode';

/** Capability of an agent: it sends no requests for objects that are stopped. */
export const TAKES_STOPPED = 'stopped';

/** Capability of an agent: it tries an object at once that has another attempt. */
export const TAKES_ATTEMPTS = 'attempts';

/** Capability of an agent: an output can be the status of an object that fleetrelay does not own. */
export const TAKES_STATUSES = 'statuses';

/** Reason of a result while the stop button of the cluster is on. */
export const STOP_BUTTON_REASON = 'Paused';

const STOP_BUTTON = 'the stop button in the cluster is on; to go on: ';

/** The message of such a result; `release` ends the stop. */
export function stopButtonMessage(release: string): string {
  return STOP_BUTTON + release;
}

/** What ends the stop, from the message of such a result; undefined if it does not say. */
export function stopButtonRelease(message: string): string | undefined {
  return message.startsWith(STOP_BUTTON) ? message.slice(STOP_BUTTON.length) : undefined;
}

/**
 * The latest report of an agent about one object.
 * `applied`: the cluster has the object as declared, or had it so until it drifted. `failed`: an error, which the agent retries with back-off. `conflict`:
 * another owner has the object, and the agent did not change it. `paused`: the cluster's stop button is on
 * ({@link STOP_BUTTON_REASON}), an annotation on the object excludes it, or the object of a status does not exist. `removing`, `removed`: the progress of a removal.
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
  /** What others have done to an applied object, which is left so. Absent: it is as declared. */
  readonly drift?: Drift;
  /**
   * Set by the server: since when all results about this content have been bad news, in milliseconds since 1970. Absent: the
   * object is applied, and is as declared.
   */
  readonly since?: number;
}

/** What the message of a removal begins with that waits for finalizers. */
export const HELD_BY_FINALIZERS = 'held by finalizers';

/** A live object, trimmed, without the stamp of fleetrelay. */
export interface LiveObject {
  readonly key: ObjectKey;
  /** May be parsed anew at each access: keep the result. */
  readonly value: JsonObject;
  /** The canonical bytes of `value`, if they are known. */
  readonly content?: Uint8Array;
  /** The text of `value` as its agent sent it, if it is known: canonical JSON. */
  readonly text?: string;
  /** Length of `text` in UTF-8. Absent: it is counted. */
  readonly bytes?: number;
  readonly digest: Digest;
}

/**
 * Whether the agent could list all objects of a kind. `unknown`: it could not, so the list proves no absence. `offered`: the
 * cluster has the kind, and the agent does not discover its objects.
 */
export interface KindState {
  /** `group/Kind`. */
  readonly kind: string;
  readonly state: 'complete' | 'unknown' | 'offered';
  readonly message: string;
  /** Of a complete kind: Namespaces that cannot be listed, each with why; at most {@link MOST_UNLISTED}. Absent: none. */
  readonly unlisted?: Readonly<Record<string, string>>;
  /** By the API discovery of the cluster; stays known while the kind is unknown. Absent: the cluster has no API discovery. */
  readonly scope?: KindScope;
}

/** Why a Namespace is unlisted on purpose. */
export const LEFT_OUT = 'the FleetPolicy or an annotation leaves this Namespace out of discovery';

/** Most Namespaces of a kind that cannot be listed; a kind with more is unknown. */
export const MOST_UNLISTED = 1_000;

/** The state of a kind that cannot be listed. */
export function unknownKind({ kind, scope }: KindState, message: string): KindState {
  return { kind, state: 'unknown', message, ...given({ scope }) };
}

/** A step of an input snapshot from one digest to another (digests over all live objects). */
export interface InputDelta {
  readonly from: Digest;
  readonly to: Digest;
  readonly upserts: readonly LiveObject[];
  readonly removals: readonly ObjectKey[];
  /** The complete list; absent: the same as after the previous step. */
  readonly kinds?: readonly KindState[];
}
