import type { JsonObject } from '../model/json.ts';
import type { ObjectKey } from '../model/object-key.ts';

/** A custom resource that something is said about: this one, and not another of the same key. */
export interface StatusTarget {
  readonly key: ObjectKey;
  readonly uid: string;
  /** As it was seen last. */
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

/** What of an object's metadata is changed; all else stays. */
export interface MetadataChange {
  /** Labels that get these values. */
  readonly labels: Readonly<Record<string, string>>;
  /** Annotations that go. */
  readonly removeAnnotations: readonly string[];
}

/** `gone`: there is no such object, or another one of the same key. `retry`: it may work later. `refused`: it will not. */
export type StatusWriting =
  | { readonly type: 'written' | 'gone' }
  | { readonly type: 'retry' | 'refused'; readonly reason: string; readonly message: string };

/** Writes what is said about custom resources, in their cluster. */
export interface ResourceStatus {
  /** Makes these fields of the status be so, and takes back those that it said before and says no more; others' stay. */
  write(target: StatusTarget, status: JsonObject): Promise<StatusWriting>;
  /** Changes labels and annotations of this very object, and nothing else of it. */
  mark(target: StatusTarget, change: MetadataChange): Promise<StatusWriting>;
  /** Lost without harm. Never rejects. */
  event(target: StatusTarget, event: ResourceEvent): Promise<void>;
}
