import type { FieldPath } from '../model/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../model/json.ts';

/** One manifest inside a YAML document. */
export interface Part {
  readonly value: JsonValue;
  /** From the root of the YAML document. */
  readonly path: FieldPath;
}

/** A document, or the items of a `v1 List` (nested ones too); an empty document is none. */
export function* flattenLists(value: JsonValue, path: FieldPath = []): Generator<Part> {
  if (value === null) return;
  if (!isJsonObject(value) || !isList(value)) {
    yield { value, path };
    return;
  }
  for (const [index, item] of value.items.entries()) yield* flattenLists(item, [...path, 'items', index]);
}

function isList(value: JsonObject): value is JsonObject & { readonly items: readonly JsonValue[] } {
  return value.apiVersion === 'v1' && value.kind === 'List' && Array.isArray(value.items);
}
