import type { Engine } from '../../engine/graph.ts';
import type { FileProvenance } from '../../engine/inputs.ts';
import type { EngineDiagnostic, ValueRef } from '../../engine/status/diagnostic.ts';
import { engineDiagnostics } from '../../engine/status/diagnostics.ts';
import { locate, type Place } from '../../manifest/locate.ts';
import { type Diagnostic, diagnosticOf, displayLocation, type Location } from '../../model/diagnostic.ts';
import type { SourceTable } from '../source-table.ts';

/** Where something stands. */
export interface FoundValue {
  readonly at: Location;
  /** What stands there: the value itself, its nearest parent if it is not written, or nothing closer than the file. */
  readonly found: 'value' | 'parent' | 'file';
}

/** Finds lines: they are no part of any value, so the blob is read and parsed again when somebody asks. */
export interface Locator {
  /** Where a value or a document stands; only the path if it can no longer be found. An empty identity means the file. */
  find(ref: ValueRef): Promise<Location>;
  /** The same, and what is found there. Of a field its key is pointed at. */
  findField(ref: ValueRef): Promise<FoundValue>;
}

/** Places found so far are kept by blob, identity and field, up to this many. */
const CACHED = 10_000;

export function createLocator(deps: { readonly engine: Engine; readonly sources: SourceTable }): Locator {
  const { engine, sources } = deps;
  const cache = new Map<string, FoundValue>();

  const search = async ({ source, path, ...place }: ValueRef & Place, blob: string): Promise<FoundValue> => {
    // A copy that cannot be read just now costs the line, never the answer.
    const bytes = await sources
      .get(source)
      ?.source.read(path, blob)
      .catch(() => undefined);
    const there = bytes === undefined ? undefined : locate(path, bytes, place);
    if (there === undefined) return { at: { path }, found: 'file' };
    return { at: there.at, found: there.isParent ? 'parent' : 'value' };
  };

  const look = async (ref: ValueRef, part: Place['part']): Promise<FoundValue> => {
    const blob = (engine.graph.why(engine.inputs.files, ref.source, ref.path)?.provenance as FileProvenance | undefined)
      ?.blob;
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
    find: async (ref) => (await look(ref, 'value')).at,
    findField: (ref) => look(ref, 'key'),
  };
}

/** What the engine has to say, with lines; about one source or all of them. Several places are named in the message. */
export async function locatedDiagnostics(
  engine: Engine,
  locator: Pick<Locator, 'find'>,
  source?: string,
): Promise<readonly Diagnostic[]> {
  const wanted = engineDiagnostics(engine).filter(
    ({ at }) => source === undefined || at.length === 0 || at[0]?.source === source,
  );
  return Promise.all(wanted.map((diagnostic) => locateOne(diagnostic, locator)));
}

async function locateOne(
  { severity, reason, message, at }: EngineDiagnostic,
  locator: Pick<Locator, 'find'>,
): Promise<Diagnostic> {
  const places = await Promise.all(at.map((ref) => locator.find(ref)));
  const [first] = places;
  const all = places.length < 2 ? message : `${message} (${places.map(displayLocation).join(' and ')})`;
  return diagnosticOf({ severity, reason, message: all, ...(first === undefined ? {} : { at: first }) });
}
