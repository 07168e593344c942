import { decoders } from '../../../domains/decoders.ts';
import { readDocuments } from '../../../manifest/decode-file.ts';
import { defaultDecodeLimits } from '../../../manifest/limits.ts';
import { createLocator, type Place } from '../../../manifest/locate.ts';
import { readFile } from '../../../manifest/read-file.ts';
import { type Diagnostic, diagnosticOf, displayLocation, type Location } from '../../../model/fleet/diagnostic.ts';
import { isJsonObject, type JsonObject } from '../../../model/text/json.ts';
import { factsOf } from '../../../validation/across-files/facts.ts';
import type { ReadBytes } from '../file-bytes.ts';
import type { FileFacts } from '../file-facts.ts';
import { bytesOf, type InputFile } from '../inputs.ts';

/** A file with its facts. */
export interface FactsOfFile {
  readonly file: InputFile;
  readonly facts: FileFacts;
  /** The CustomResourceDefinitions in it. */
  readonly definitions: readonly JsonObject[];
}

/** A document, or a field of it. */
export interface UnlocatedPlace extends Pick<Place, 'identity' | 'field'> {
  /** The name of the file. */
  readonly path: string;
  /** The identity counts the objects of `FileFacts`, which has those with an error too. */
  readonly isOfFacts?: boolean;
}

/** A finding before the line of its place is known. */
export interface UnplacedFinding extends Pick<Diagnostic, 'severity' | 'reason' | 'message' | 'hint'> {
  readonly place: UnlocatedPlace;
  /** All places of a conflict, the one that counts first; the message ends with them. */
  readonly conflict?: readonly UnlocatedPlace[];
}

/** Finds the places; parses each file once. A finding whose document is gone meanwhile is at its file. */
export function* locateFindings(
  findings: readonly UnplacedFinding[],
  files: readonly FactsOfFile[],
  read: ReadBytes,
): Generator<Diagnostic> {
  const wanted = Map.groupBy(
    findings.flatMap(({ place, conflict = [] }) => [place, ...conflict]),
    ({ path }) => path,
  );
  const places = new Map<UnlocatedPlace, Location>();
  const locationOf = (place: UnlocatedPlace): Location => places.get(place) ?? { path: place.path };
  for (const { file } of files) {
    const inFile = wanted.get(file.name);
    const content = inFile === undefined ? undefined : bytesOf(file, read);
    if (inFile === undefined || content?.ok !== true) continue;
    const find = createLocator(decoders, file.name, content.bytes);
    const findObject = inFile.some(({ isOfFacts }) => isOfFacts) ? objectLocator(file.name, content.bytes) : undefined;
    for (const place of inFile) {
      const at = place.isOfFacts === true ? findObject?.(place) : find({ ...place, part: 'value' })?.at;
      if (at !== undefined) places.set(place, at);
    }
  }
  for (const { place, conflict = [], message, ...about } of findings) {
    const end =
      conflict.length === 0 ? '' : ` (${conflict.map((each) => displayLocation(locationOf(each))).join(' and ')})`;
    yield diagnosticOf({ ...about, message: `${message}${end}`, at: locationOf(place) });
  }
}

/** Finds the names of the objects that `FileFacts` has, by their identities. */
function objectLocator(path: string, bytes: Uint8Array): (place: UnlocatedPlace) => Location | undefined {
  const file = readFile(path, bytes, defaultDecodeLimits);
  const counts = new Map<string, number>();
  const names = new Map<string, Location>();
  for (const { document, path: steps, value } of readDocuments(file, decoders)) {
    const key = isJsonObject(value) ? factsOf(value)?.key : undefined;
    if (key === undefined) continue;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    const identity = count === 1 ? key : `${key}#${count}`;
    names.set(identity, file.locate(document, [...steps, 'metadata', 'name'], 'value'));
  }
  return ({ identity }) => names.get(identity);
}
