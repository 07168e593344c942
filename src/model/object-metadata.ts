import type { JsonObject } from './json.ts';
import { objectOf, textOf } from './json-fields.ts';

/** The metadata of an object; empty if it has none. */
export function metadataOf(value: JsonObject): JsonObject {
  return objectOf(value.metadata);
}

/** The labels of an object; empty if it has none. */
export function labelsOf(value: JsonObject): JsonObject {
  return objectOf(metadataOf(value).labels);
}

/** An annotation of an object; empty if it is not there or no text. */
export function annotationOf(value: JsonObject, name: string): string {
  return textOf(objectOf(metadataOf(value).annotations)[name]);
}
