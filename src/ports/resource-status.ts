import type { ObjectKey } from '../model/objects/object-key.ts';
import type { JsonObject } from '../model/text/json.ts';

/** The custom resource whose status is written: the object with this UID, not another one of the same key. */
export interface StatusTarget {
  readonly key: ObjectKey;
  readonly uid: string;
  /** Of the state from which the write was computed. */
  readonly resourceVersion: string;
  readonly apiVersion: string;
}

/** What `kubectl describe` shows. */
export interface ResourceEvent {
  readonly type: 'Normal' | 'Warning';
  /** Constant UpperCamelCase word. */
  readonly reason: string;
  readonly message: string;
}

/** A change of an object's metadata; all other metadata stays. */
export interface MetadataChange {
  /** Labels that get these values. */
  readonly labels: Readonly<Record<string, string>>;
  /** Annotations to remove, each as long as it has this value. */
  readonly removeAnnotations: Readonly<Record<string, string>>;
}

/**
 * `written`: the object has this resourceVersion since then. `gone`: the object does not exist, or another one has its key.
 * `retry`: a later write can succeed. `refused`: it cannot.
 */
export type StatusWriting =
  | { readonly type: 'written'; readonly resourceVersion: string }
  | { readonly type: 'gone' }
  | { readonly type: 'retry'; readonly reason: string; readonly message: string }
  | { readonly type: 'refused'; readonly reason: string; readonly message: string };

/** Writes the status of custom resources in their cluster. */
export interface ResourceStatus {
  /** Sets these fields of the status and removes those that an earlier write set and this one does not; others' stay. */
  write(target: StatusTarget, status: JsonObject): Promise<StatusWriting>;
  /** Changes labels and annotations of the object with this UID, and nothing else of it. */
  mark(target: StatusTarget, change: MetadataChange): Promise<StatusWriting>;
  /** Lost without harm. Never rejects. */
  event(target: StatusTarget, event: ResourceEvent): Promise<void>;
}
