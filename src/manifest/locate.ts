import type { Location } from '../model/diagnostic.ts';
import type { FieldPath, WrittenPath } from '../model/field-path.ts';
import { isJsonObject, type JsonValue } from '../model/json.ts';
import { countedIdentity } from './decode-file.ts';
import { defaultDecodeLimits } from './limits.ts';
import { flattenLists } from './lists.ts';
import { readDocument } from './read-document.ts';
import { readFile } from './read-file.ts';

/** A part of a file that a location is asked for. */
export interface Place {
  /** As in `SourceDocument.identity`, the repetition mark included. */
  readonly identity: string;
  /** Absent: the document. A field that is missing is at its nearest parent. */
  readonly field?: WrittenPath;
  /** What of the field is pointed at. */
  readonly part: 'key' | 'value';
}

/** Where a place was found. */
export interface FoundPlace {
  readonly at: Location;
  /** The field is not written; `at` is its nearest parent. */
  readonly isParent: boolean;
}

/**
 * Finds a document, or a field of it, in the bytes that it was decoded from. Undefined if no document of that identity is
 * there.
 *
 * @param path for the location, and to tell JSON from YAML
 */
export function locate(
  path: string,
  bytes: Uint8Array,
  { identity, field = [], part: side }: Place,
): FoundPlace | undefined {
  const file = readFile(path, bytes, defaultDecodeLimits);
  const seen = new Map<string, number>();
  for (const document of file.documents) {
    for (const part of flattenLists(document.value)) {
      const reading = readDocument(part.value);
      // Only documents with content have been counted when the file was decoded.
      if (reading.identity === undefined || reading.content === undefined) continue;
      if (countedIdentity(reading.identity, seen) !== identity) continue;
      const { steps, isThere } = stepsIn(part.value, field);
      return { at: file.locate(document, [...part.path, ...steps], side), isParent: !isThere };
    }
  }
  return undefined;
}

/** The steps as they are written: an item that is named by its text gets its index, and one that is missing ends them. */
function stepsIn(document: JsonValue, field: WrittenPath): { readonly steps: FieldPath; readonly isThere: boolean } {
  // Kuma's documents outside Kubernetes have the fields of the metadata at their root.
  const isFlat = isJsonObject(document) && !Object.hasOwn(document, 'metadata');
  const steps: (string | number)[] = [];
  let value: JsonValue | undefined = document;
  for (const step of isFlat && field[0] === 'metadata' ? field.slice(1) : field) {
    const next: string | number = typeof step === 'object' ? indexOf(value, step.item) : step;
    if (next === -1) return { steps, isThere: false };
    steps.push(next);
    value = Array.isArray(value) ? value[Number(next)] : isJsonObject(value) ? value[String(next)] : undefined;
  }
  return { steps, isThere: value !== undefined };
}

function indexOf(list: JsonValue | undefined, item: string): number {
  return Array.isArray(list) ? list.indexOf(item) : -1;
}
