import type { ObjectKey } from '../model/objects/object-key.ts';
import type { JsonObject } from '../model/text/json.ts';

/** Follows the custom resources of some kinds in one cluster. A failure is a state and a back-off, never an exit. */
export interface CustomResources {
  /**
   * Begins to follow them. `changed` is called with the key of each object that has changed, and without a key after a
   * change of a kind's state. It must not throw.
   */
  start(changed: (key?: ObjectKey) => void): void;
  /** The present state. */
  state(): CustomResourceState;
  stop(): Promise<void>;
}

export interface CustomResourceState {
  /** Each kind that was asked for. */
  readonly kinds: readonly CustomResourceKindState[];
  /** Custom resources as they were read last, also of unknown kinds. One map, which changes. */
  readonly objects: ReadonlyMap<ObjectKey, CustomResource>;
}

export interface CustomResourceKindState {
  /** `group/Kind`. */
  readonly kind: string;
  /** `pending`: not listed yet. `unknown`: it cannot be listed now, or is not there; never taken for empty. */
  readonly state: 'pending' | 'complete' | 'unknown';
  readonly message: string;
}

export interface CustomResource {
  readonly key: ObjectKey;
  readonly resourceVersion: string;
  /** Of the object: changes with its spec. */
  readonly generation: number;
  readonly uid: string;
  /** Without status and without what only an API server sets. */
  readonly value: JsonObject;
  /** The status as it is; undefined if there is none. */
  readonly status: JsonObject | undefined;
}
