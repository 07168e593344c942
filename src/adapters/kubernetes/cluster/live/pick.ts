import type { JsonObject } from '../../../../model/text/json.ts';

/** The fields with these names, if the object has them. */
export function pick(value: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.filter((name) => value[name] !== undefined).map((name) => [name, value[name]]));
}
