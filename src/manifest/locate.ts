import type { Location } from '../model/fleet/diagnostic.ts';
import type { FieldPath, WrittenPath } from '../model/text/field-path.ts';
import { isJsonObject, type JsonValue } from '../model/text/json.ts';
import { readDocuments } from './decode-file.ts';
import type { Decoders } from './kinds/decoders.ts';
import { defaultDecodeLimits } from './limits.ts';
import { readFile } from './read-file.ts';

/** A document of a file, or a field of it. */
export interface Place {
  /** As in `SourceDocument.identity`, the repetition mark included. */
  readonly identity: string;
  /** Absent: the document. A field that is missing is at its nearest parent. */
  readonly field?: WrittenPath;
  readonly part: 'key' | 'value';
}

/** A place in a file. `isParent`: the field is missing, and this is the location of its nearest parent. */
export interface FoundPlace {
  readonly at: Location;
  readonly isParent: boolean;
}

/**
 * Finds a document, or a field of it, in the bytes that it was decoded from; undefined if no document has the identity.
 *
 * @param path for the location, and to tell JSON from YAML
 */
export function locate(decoders: Decoders, path: string, bytes: Uint8Array, place: Place): FoundPlace | undefined {
  return createLocator(decoders, path, bytes)(place);
}

/** Finds places in the bytes of a file, in their order. */
export type LocateAll = (
  path: string,
  bytes: Uint8Array,
  places: readonly Place[],
) => Promise<readonly (FoundPlace | undefined)[]>;

/** Like {@link locate}, for several places in one file: its bytes are parsed once. A file above the limits has no documents. */
export function createLocator(
  decoders: Decoders,
  path: string,
  bytes: Uint8Array,
  limits = defaultDecodeLimits,
): (place: Place) => FoundPlace | undefined {
  const file = readFile(path, bytes, limits);
  const documents = new Map([...readDocuments(file, decoders)].map((read) => [read.identity, read] as const));
  return ({ identity, field = [], part }) => {
    const found = documents.get(identity);
    if (found === undefined) return undefined;
    const { steps, isThere } = stepsIn(found.value, field);
    return { at: file.locate(found.document, [...found.path, ...steps], part), isParent: !isThere };
  };
}

/** Finds places in this thread. */
export function locateHere(decoders: Decoders): LocateAll {
  return async (path, bytes, places) => places.map(createLocator(decoders, path, bytes));
}

/** Replaces items by their indexes; the steps end before an item that is missing. */
function stepsIn(document: JsonValue, field: WrittenPath): { readonly steps: FieldPath; readonly isThere: boolean } {
  // Kuma's flat form has the metadata fields at its root.
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
