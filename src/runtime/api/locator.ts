import type { Engine } from '../../engine/graph.ts';
import type { FileProvenance } from '../../engine/inputs.ts';
import type { ValueRef } from '../../engine/status/diagnostic.ts';
import { locate, type Place } from '../../manifest/locate.ts';
import type { Location } from '../../model/diagnostic.ts';
import type { SourceTable } from '../source-table.ts';

/** Finds lines: they are no part of any value, so the blob is read and parsed again when somebody asks. */
export interface Locator {
  /**
   * Where a value or a document stands; only the path if it can no longer be found. An empty identity means the file.
   * `part`: what of a field is pointed at.
   */
  find(ref: ValueRef, part?: 'key' | 'value'): Promise<Location>;
}

/** Lines found so far are kept by blob, identity and field, up to this many. */
const CACHED = 10_000;

export function createLocator(deps: { readonly engine: Engine; readonly sources: SourceTable }): Locator {
  const { engine, sources } = deps;
  const found = new Map<string, Location>();

  const search = async ({ source, path, ...place }: ValueRef & Place, blob: string): Promise<Location> => {
    // A copy that cannot be read just now costs the line, never the answer.
    const bytes = await sources
      .get(source)
      ?.source.read(path, blob)
      .catch(() => undefined);
    return (bytes === undefined ? undefined : locate(path, bytes, place)) ?? { path };
  };

  return {
    find: async (ref, part = 'value') => {
      const blob = (
        engine.graph.why(engine.inputs.files, ref.source, ref.path)?.provenance as FileProvenance | undefined
      )?.blob;
      if (blob === undefined || ref.identity === '') return { path: ref.path };
      const key = `${ref.source}\u0000${ref.path}\u0000${blob}\u0000${ref.identity}\u0000${part}${JSON.stringify(ref.field ?? [])}`;
      const known = found.get(key);
      if (known !== undefined) return known;
      const location = await search({ ...ref, part }, blob);
      if (found.size >= CACHED) found.clear();
      found.set(key, location);
      return location;
    },
  };
}
