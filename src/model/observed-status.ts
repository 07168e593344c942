import { type Condition, readConditions } from './conditions.ts';
import { isJsonObject, type JsonObject, type JsonValue } from './json.ts';

/** The status of an object of an engine kind as it was written last. Addresses are those of the statuses. */
export interface ObservedStatus {
  readonly conditions: readonly Condition[];
  /** Beside the conditions, as written. */
  readonly fields: JsonObject;
}

/** Reads what a status file or a custom resource has as `status`; undefined: nothing was written. */
export function readObserved(status: JsonValue | undefined): ObservedStatus | undefined {
  if (status === undefined || !isJsonObject(status)) return undefined;
  const { conditions, ...fields } = status;
  return { conditions: readConditions(conditions), fields };
}
