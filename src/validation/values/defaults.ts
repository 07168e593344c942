import { isJsonObject, type JsonObject, type JsonValue } from '../../model/text/json.ts';
import { createMeter, type Meter, MOST_STEPS, TooMuchWork } from './meter.ts';
import type { Schema } from './schema.ts';

/**
 * Returns an object of a custom kind as an API server checks it: defaults are filled in, also for null where null is not
 * allowed, and other such nulls are left out. The same object if nothing changes. Undefined if that takes too many steps.
 */
export function withDefaults(schema: Schema, object: JsonObject): JsonObject | undefined {
  const meter = createMeter();
  meter.reset(MOST_STEPS);
  try {
    return filledMapping(schema, object, meter);
  } catch (error) {
    if (error instanceof TooMuchWork) return undefined;
    throw error;
  }
}

function filled(schema: Schema, value: JsonValue, meter: Meter): JsonValue {
  if (Array.isArray(value)) return filledList(schema, value, meter);
  return isJsonObject(value) ? filledMapping(schema, value, meter) : value;
}

/** The value, or the default in place of a null that is not allowed; undefined for such a null without default. */
function withoutNull({ nullable, default: initial }: Schema, value: JsonValue | undefined): JsonValue | undefined {
  return value === undefined || (value === null && nullable !== true) ? initial : value;
}

function filledMapping(schema: Schema, object: JsonObject, meter: Meter): JsonObject {
  const { properties, additionalProperties } = schema;
  let result: Record<string, JsonValue | undefined> | undefined;
  const set = (name: string, value: JsonValue | undefined): void => {
    if (value === object[name]) return;
    result ??= { ...object };
    if (value === undefined) delete result[name];
    else result[name] = value;
  };
  for (const name in properties) {
    const property = properties[name];
    if (property === undefined) continue;
    meter.charge(1);
    const value = withoutNull(property, Object.hasOwn(object, name) ? object[name] : undefined);
    set(name, value === undefined ? undefined : filled(property, value, meter));
  }
  if (typeof additionalProperties === 'object') {
    for (const [name, member] of Object.entries(object)) {
      meter.charge(1);
      if (properties !== undefined && Object.hasOwn(properties, name)) continue;
      const value = withoutNull(additionalProperties, member) ?? member;
      set(name, value === undefined ? undefined : filled(additionalProperties, value, meter));
    }
  }
  return result ?? object;
}

function filledList({ items }: Schema, list: readonly JsonValue[], meter: Meter): readonly JsonValue[] {
  if (items === undefined) return list;
  meter.charge(list.length);
  const result = list.map((item) => filled(items, withoutNull(items, item) ?? item, meter));
  return result.every((item, index) => item === list[index]) ? list : result;
}
