import type { JsonObject } from '../model/json.ts';
import type { ObjectKey } from '../model/object-key.ts';

/** The custom resources of some kinds in one cluster, followed. Trouble is a state and a back-off, never an exit. */
export interface CustomResources {
  /** Begins; `changed` is called after anything of {@link state} may have changed, and must not throw. */
  start(changed: () => void): void;
  /** What is known now; never changed after it is handed out. */
  state(): CustomResourceState;
  stop(): Promise<void>;
}

export interface CustomResourceState {
  /** Each kind that was asked for. */
  readonly kinds: readonly CustomResourceKindState[];
  /** As they were seen last, also those of unknown kinds. */
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
  /** Without managedFields, last-applied annotation and status. */
  readonly value: JsonObject;
  /** The status as it is; undefined if there is none. */
  readonly status: JsonObject | undefined;
}
