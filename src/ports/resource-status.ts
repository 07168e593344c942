import type { JsonObject } from '../model/json.ts';
import type { ObjectKey } from '../model/object-key.ts';

/** Writes what is said about custom resources, in their cluster. */
export interface ResourceStatus {
  /**
   * Makes these fields of the status be so; others' fields stay. `gone`: there is no such object, or another one of the
   * same key. `retry`: it may work later.
   */
  write(
    target: { readonly key: ObjectKey; readonly uid: string; readonly apiVersion: string },
    status: JsonObject,
  ): Promise<
    | { readonly type: 'written' | 'gone' }
    | { readonly type: 'retry' | 'refused'; readonly reason: string; readonly message: string }
  >;
  /** What `kubectl describe` shows; lost without harm. Never rejects. */
  event(
    target: { readonly key: ObjectKey; readonly uid: string; readonly apiVersion: string },
    event: { readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly message: string },
  ): Promise<void>;
}
