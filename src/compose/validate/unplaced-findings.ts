import { createLocator, type Place } from '../../manifest/locate.ts';
import { type Diagnostic, diagnosticOf, displayLocation, type Location } from '../../model/diagnostic.ts';
import type { JsonObject } from '../../model/json.ts';
import type { ReadBytes } from './file-bytes.ts';
import type { FileFacts } from './file-facts.ts';
import { bytesOf, type InputFile } from './inputs.ts';

/** A file with its facts. */
export interface FactsOfFile {
  readonly file: InputFile;
  readonly facts: FileFacts;
  /** The CustomResourceDefinitions in it. */
  readonly definitions: readonly JsonObject[];
}

/** A finding before its place is known. */
export interface UnplacedFinding extends Pick<Diagnostic, 'severity' | 'reason' | 'message'> {
  /** The name of its file. */
  readonly path: string;
  readonly place: Pick<Place, 'identity' | 'field'>;
  /** Another place, which ends the message. */
  readonly other?: { readonly path: string; readonly place: Pick<Place, 'identity' | 'field'> };
}

/** Finds the places; parses each file once. A finding whose document is gone meanwhile is at its file. */
export function* locateFindings(
  findings: readonly UnplacedFinding[],
  files: readonly FactsOfFile[],
  read: ReadBytes,
): Generator<Diagnostic> {
  const wanted = Map.groupBy(
    findings.flatMap(({ other, ...own }) => [own, ...(other === undefined ? [] : [other])]),
    ({ path }) => path,
  );
  const places = new Map<object, Location>();
  for (const { file } of files) {
    const inFile = wanted.get(file.name);
    const content = inFile === undefined ? undefined : bytesOf(file, read);
    if (inFile === undefined || content?.ok !== true) continue;
    const find = createLocator(file.name, content.bytes);
    for (const { place } of inFile) {
      const at = find({ ...place, part: 'value' })?.at;
      if (at !== undefined) places.set(place, at);
    }
  }
  for (const { severity, reason, message, path, place, other } of findings) {
    const end = other === undefined ? '' : ` ${displayLocation(places.get(other.place) ?? { path: other.path })}`;
    yield diagnosticOf({ severity, reason, message: `${message}${end}`, at: places.get(place) ?? { path } });
  }
}
