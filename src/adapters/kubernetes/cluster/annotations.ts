import { isJsonObject, type JsonObject, type JsonValue } from '../../../model/json.ts';

/** What people write onto objects; each has its meaning in one place only. */
export const ADOPT = 'fleetrelay.dev/adopt';
export const REPLACE = 'fleetrelay.dev/replace';
export const FORCE_CONFLICTS = 'fleetrelay.dev/force-conflicts';
export const PRUNE = 'fleetrelay.dev/prune';
export const RECONCILE = 'fleetrelay.dev/reconcile';
export const DISCOVERY = 'fleetrelay.dev/discovery';
export const PAUSED = 'fleetrelay.dev/paused';
export const IGNORE_FIELDS = 'fleetrelay.dev/ignore-fields';

/** The metadata of an object; empty if it has none. */
export function metadataOf(value: JsonObject): JsonObject {
  return isJsonObject(value.metadata) ? value.metadata : {};
}

/** An annotation of an object; empty if it is not there or no text. */
export function annotationOf(value: JsonObject, name: string): string {
  const { annotations } = metadataOf(value);
  return isJsonObject(annotations) ? textOf(annotations[name]) : '';
}

/** A text; empty if it is something else. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** The objects of a list; empty if it is none. */
export function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
