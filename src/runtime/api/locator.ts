import type { EngineDiagnostic, ValueRef } from '../../engine/domain.ts';
import type { Engine } from '../../engine/graph.ts';
import type { FileProvenance } from '../../engine/inputs.ts';
import { engineDiagnostics } from '../../engine/status/diagnostics.ts';
import type { LocateAll, Place } from '../../manifest/locate.ts';
import { type Diagnostic, diagnosticOf, displayLocation, type Location } from '../../model/fleet/diagnostic.ts';
import { given } from '../../model/values/given.ts';
import type { SourceTable } from '../source-table.ts';

/** A place, and how close it is: the value, its nearest parent if it is not written, or only the file. */
interface FoundValue {
  readonly at: Location;
  readonly found: 'value' | 'parent' | 'file';
}

/** Largest number of remembered places, by blob, identity and field: as many as a revision may have findings. */
const CACHED = 100_000;

export type Locator = ReturnType<typeof createLocator>;

interface LocatorDeps {
  readonly engine: Engine;
  readonly sources: Pick<SourceTable, 'get'>;
  /** Absent: in this thread. */
  readonly locate: LocateAll;
}

/** A place that is asked for. */
interface Asked {
  readonly key: string;
  readonly place: Place;
  readonly answer: (found: FoundValue) => void;
}

/**
 * Finds lines. They are no part of any value, so the blob is read and parsed again on request: once for all places in it that
 * are asked for in the same turn.
 */
export function createLocator({ engine, sources, locate }: LocatorDeps) {
  const cache = new Map<string, FoundValue>();
  /** By source, path and blob, until the turn ends. */
  const waiting = new Map<string, Asked[]>();

  const answer = async ({ source, path }: Pick<ValueRef, 'source' | 'path'>, blob: string, asked: readonly Asked[]) => {
    const bytes = await sources
      .get(source)
      ?.source.read(path, blob)
      .catch(() => undefined);
    const places = asked.map(({ place }) => place);
    // A file that cannot be parsed in time has no lines.
    const found = bytes === undefined ? [] : await locate(path, bytes, places).catch(() => []);
    for (const [index, { key, answer: tell }] of asked.entries()) {
      const place = found[index];
      const value: FoundValue =
        place === undefined
          ? { at: { path }, found: 'file' }
          : { at: place.at, found: place.isParent ? 'parent' : 'value' };
      if (cache.size >= CACHED) cache.clear();
      // While the source cannot be read, the answer lacks the line.
      if (bytes !== undefined) cache.set(key, value);
      tell(value);
    }
  };

  const look = (ref: ValueRef, part: Place['part']): Promise<FoundValue> => {
    const { source, path, identity } = ref;
    const blob = (engine.inputs.files.provenance(source, path) as FileProvenance | undefined)?.blob;
    if (blob === undefined || identity === '') return Promise.resolve({ at: { path }, found: 'file' });
    const file = [source, path, blob].join('\u0000');
    const key = [file, identity, part, JSON.stringify(ref.field ?? [])].join('\u0000');
    const known = cache.get(key);
    if (known !== undefined) return Promise.resolve(known);
    const { promise, resolve } = Promise.withResolvers<FoundValue>();
    const asked = waiting.get(file) ?? [];
    if (asked.length === 0) {
      waiting.set(file, asked);
      queueMicrotask(() => {
        waiting.delete(file);
        void answer(ref, blob, asked);
      });
    }
    asked.push({ key, place: { identity, part, ...(ref.field && { field: ref.field }) }, answer: resolve });
    return promise;
  };

  return {
    /** The place of a value or a document; only the path if it cannot be found any more. An empty identity means the file. */
    find: async (ref: ValueRef): Promise<Location> => (await look(ref, 'value')).at,
    /** The place of a value; for a field, of its key. */
    findField: (ref: ValueRef): Promise<FoundValue> => look(ref, 'key'),
  };
}

/** Files that are read at once to find lines in them. */
const READ_AT_ONCE = 32;

/**
 * The engine's diagnostics with lines. A message names the places if there are several. Few files are read and parsed at a time, so
 * that memory does not grow with the number of findings.
 *
 * @param source absent: all sources
 * @param most see {@link engineDiagnostics}
 */
export async function locatedDiagnostics(
  engine: Engine,
  locator: Pick<Locator, 'find'>,
  source?: string,
  most?: number,
): Promise<readonly Diagnostic[]> {
  const wanted = engineDiagnostics(engine, most).filter(
    ({ at }) => source === undefined || at.length === 0 || at[0]?.source === source,
  );
  const located: Diagnostic[] = [];
  for (const portion of byFiles(wanted)) {
    located.push(...(await Promise.all(portion.map((finding) => locatedDiagnostic(finding, locator)))));
  }
  return located;
}

async function locatedDiagnostic(
  { severity, reason, message, hint, at }: EngineDiagnostic,
  locator: Pick<Locator, 'find'>,
): Promise<Diagnostic> {
  const places = await Promise.all(at.map(locator.find));
  const all = places.length < 2 ? message : `${message} (${places.map(displayLocation).join(' and ')})`;
  const [place] = places;
  const about = { severity, reason, message: all, ...given({ hint }) };
  return diagnosticOf({ ...about, ...given({ at: place }) });
}

/** The findings in portions of some files each. All findings of a file, which follow one another, are in one portion. */
function* byFiles(findings: readonly EngineDiagnostic[]): Generator<readonly EngineDiagnostic[]> {
  let portion: EngineDiagnostic[] = [];
  let files = 0;
  let last = '';
  for (const finding of findings) {
    const file = `${finding.at[0]?.source ?? ''} ${finding.at[0]?.path ?? ''}`;
    if (file !== last) files += 1;
    last = file;
    if (files > READ_AT_ONCE) {
      yield portion;
      [portion, files] = [[], 1];
    }
    portion.push(finding);
  }
  yield portion;
}
