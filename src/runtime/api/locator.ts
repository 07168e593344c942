import type { ValueRef } from '../../engine/domain.ts';
import type { Engine } from '../../engine/graph.ts';
import type { FileProvenance } from '../../engine/inputs.ts';
import { engineDiagnostics } from '../../engine/status/diagnostics.ts';
import { locate, type Place } from '../../manifest/locate.ts';
import { type Diagnostic, diagnosticOf, displayLocation, type Location } from '../../model/diagnostic.ts';
import type { SourceTable } from '../source-table.ts';

/** A place, and how close it is: the value, its nearest parent if it is not written, or only the file. */
interface FoundValue {
  readonly at: Location;
  readonly found: 'value' | 'parent' | 'file';
}

/** Largest number of remembered places, by blob, identity and field. */
const CACHED = 10_000;

export type Locator = ReturnType<typeof createLocator>;

/** Finds lines. They are no part of any value, so the blob is read and parsed again on request. */
export function createLocator(deps: { readonly engine: Engine; readonly sources: Pick<SourceTable, 'get'> }) {
  const { engine, sources } = deps;
  const cache = new Map<string, FoundValue>();

  const search = async ({ source, path, ...part }: ValueRef & Place, blob: string): Promise<FoundValue> => {
    // If the source cannot be read now, the answer lacks the line.
    const bytes = await sources
      .get(source)
      ?.source.read(path, blob)
      .catch(() => undefined);
    const place = bytes === undefined ? undefined : locate(path, bytes, part);
    if (place === undefined) return { at: { path }, found: 'file' };
    return { at: place.at, found: place.isParent ? 'parent' : 'value' };
  };

  const look = async (ref: ValueRef, part: Place['part']): Promise<FoundValue> => {
    const blob = (engine.inputs.files.provenance(ref.source, ref.path) as FileProvenance | undefined)?.blob;
    if (blob === undefined || ref.identity === '') return { at: { path: ref.path }, found: 'file' };
    const field = JSON.stringify(ref.field ?? []);
    const key = [ref.source, ref.path, blob, ref.identity, part, field].join('\u0000');
    const known = cache.get(key);
    if (known !== undefined) return known;
    const found = await search({ ...ref, part }, blob);
    if (cache.size >= CACHED) cache.clear();
    cache.set(key, found);
    return found;
  };

  return {
    /** The place of a value or a document; only the path if it cannot be found any more. An empty identity means the file. */
    find: async (ref: ValueRef): Promise<Location> => (await look(ref, 'value')).at,
    /** The place of a value, of a field that of its key. */
    findField: (ref: ValueRef): Promise<FoundValue> => look(ref, 'key'),
  };
}

/** The engine's diagnostics with lines, of one source or of all. A message names the places if there are several. */
export async function locatedDiagnostics(
  engine: Engine,
  locator: Pick<Locator, 'find'>,
  source?: string,
): Promise<readonly Diagnostic[]> {
  const wanted = engineDiagnostics(engine).filter(
    ({ at }) => source === undefined || at.length === 0 || at[0]?.source === source,
  );
  return Promise.all(
    wanted.map(async ({ severity, reason, message, hint, at }) => {
      const places = await Promise.all(at.map(locator.find));
      const all = places.length < 2 ? message : `${message} (${places.map(displayLocation).join(' and ')})`;
      const [place] = places;
      const about = { severity, reason, message: all, ...(hint === undefined ? {} : { hint }) };
      return diagnosticOf({ ...about, ...(place === undefined ? {} : { at: place }) });
    }),
  );
}
