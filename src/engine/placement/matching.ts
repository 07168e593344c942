import type { Origin } from '../../model/fleet/output.ts';
import { defaultRevisionLimits, MOST_STEPS_OF_PATH } from '../../model/limits/revision-limits.ts';
import { compileGlob, type Glob, selfAndAncestors } from '../../model/text/glob.ts';
import { compareText } from '../../model/text/json.ts';
import type { Collection, Entry, Graph, Index, Reader } from '../collections/types.ts';

/** The globs of a Placement by their base folders, so that a path is matched only against some of them. */
export type GlobsByFolder = ReadonlyMap<string, readonly Glob[]>;

/** Compiles the paths of a Placement. */
export function globsByFolder(paths: readonly string[]): GlobsByFolder {
  return Map.groupBy(paths.map(compileGlob), ({ base }) => base);
}

/** A Placement that is in force, or one that is refused. */
type Matched = { readonly globs: GlobsByFolder } & (
  | { readonly declared: { readonly origin: Origin } }
  | { readonly origin: Origin }
);

function sourceOf(value: Matched): string {
  return ('declared' in value ? value.declared : value).origin.source;
}

/** Indexes Placements by their source and the base folders of their globs. */
export function indexByFolder<Value extends Matched>(graph: Graph, placements: Collection<Value>): Index<Value> {
  return graph.index(`${placements.name}ByFolder`, placements, ({ value }) =>
    value.globs.keys().map((folder) => folderGroup(sourceOf(value), folder)),
  );
}

function folderGroup(source: string, folder: string): string {
  return `${source}\u0000${folder}`;
}

/** How Placements are looked for. */
interface Looking<Value> {
  /** See {@link indexByFolder}. */
  readonly byFolder: Index<Value>;
  /** The sources whose Placements are matched. */
  readonly sources: Iterable<string>;
  /** By source: the {@link shareOfPath} of each of its files. */
  readonly shares: Collection<number>;
  /** Inside a computation its reader. */
  readonly look?: Look;
}

/** Reads members and values. */
export type Look = Pick<Reader, 'members' | 'get'>;

/** Looks outside of a computation. */
export const fromOutside: Look = {
  members: (index, group) => index.members(group),
  get: (collection, partition, key) => collection.get(partition, key),
};

/** The Placements that select a file. */
export interface Selection<Value> {
  /** Those with a glob for the nearest folder first, then in canonical order. */
  readonly selecting: readonly Entry<Value>[];
  /** Sources whose Placements need too many steps for the path of the file: none of these is among `selecting`. */
  readonly leftOut: readonly string[];
}

/** The steps of matching one path with the Placements of another source: this number in any case. */
const FOREIGN_STEPS = 100_000;

/**
 * And this number for each character of the path. The steps of a glob grow with the path, so that the path, which another source
 * chooses, does not decide which globs are within the limit.
 */
const FOREIGN_STEPS_PER_CHARACTER = 800;

/**
 * The steps of matching all files of one source with the Placements of other sources. So no source decides about the files of another
 * one, and the steps of a source have a bound that does not depend on others. A source has the same default for its own Placements.
 */
export const MOST_FOREIGN_STEPS = defaultRevisionLimits.matchingSteps;

/**
 * Most steps of matching one file of a source with the Placements of one other source. All `files` with all `selectors` are then
 * within {@link MOST_FOREIGN_STEPS}. The number of files is rounded up by less than a fifth, so that a file more or less seldom
 * changes what is within the limit.
 *
 * @param files of the source that have documents
 * @param selectors sources that may select its files
 */
export function shareOfPath(files: number, selectors: number): number {
  const counted = 2 ** (Math.ceil(Math.log2(Math.max(files, 1)) * 4) / 4);
  return Math.floor(MOST_FOREIGN_STEPS / counted / Math.max(selectors, 1));
}

/**
 * Most steps of matching a path with all Placements of the source `by`. If `by` is the path's own source, the limits of a revision
 * bound them too. `share`: see {@link shareOfPath}.
 */
export function mostSteps({ source, path }: Origin, by: string, share = MOST_STEPS_OF_PATH): number {
  if (source === by) return MOST_STEPS_OF_PATH;
  return Math.min(MOST_STEPS_OF_PATH, share, Math.max(FOREIGN_STEPS, FOREIGN_STEPS_PER_CHARACTER * path.length));
}

/**
 * Finds the Placements that select a file. The steps of each source count apart: a source with Placements that need too many steps
 * does not affect other sources.
 */
export function selectFile<Value extends Matched>(
  file: Origin,
  { byFolder, sources, shares, look = fromOutside }: Looking<Value>,
): Selection<Value> {
  const { source, path } = file;
  const folders = selfAndAncestors(path);
  const selecting: { readonly entry: Entry<Value>; readonly depth: number }[] = [];
  const leftOut: string[] = [];
  for (const by of new Set(sources)) {
    const found = selectedBy(by);
    if (found === undefined) leftOut.push(by);
    else selecting.push(...found.values());
  }
  selecting.sort((a, b) => a.depth - b.depth || compareText(a.entry.key, b.entry.key));
  return { selecting: selecting.map(({ entry }) => entry), leftOut: leftOut.sort(compareText) };

  /** Undefined: they need too many steps. That does not depend on their order. */
  function selectedBy(by: string): ReadonlyMap<Value, (typeof selecting)[number]> | undefined {
    const share = by === source ? undefined : look.get(shares, '', source);
    const meter = createStepMeter(mostSteps(file, by, share));
    const found = new Map<Value, (typeof selecting)[number]>();
    for (const [depth, folder] of folders.entries()) {
      for (const entry of look.members(byFolder, folderGroup(by, folder))) {
        const { value } = entry;
        if (found.has(value)) continue;
        const isMatch = meter.matchesAny(value.globs.get(folder) ?? [], path);
        if (isMatch === undefined) return undefined;
        if (isMatch) found.set(value, { entry, depth });
      }
    }
    return found;
  }
}

/** Whether a Placement alone selects a file, within the steps that its source has for a path of this length. */
export function selects(placement: Matched, file: Origin): boolean {
  const meter = createStepMeter(mostSteps(file, sourceOf(placement)));
  const { path } = file;
  return selfAndAncestors(path).some((folder) => meter.matchesAny(placement.globs.get(folder) ?? [], path) === true);
}

/** Ends a match above a limit. */
class TooManySteps extends Error {}

/** Matches paths with at most this number of steps together. */
export function createStepMeter(most: number) {
  let spent = 0;
  const count = (steps: number): void => {
    spent += steps;
    if (spent > most) throw new TooManySteps();
  };
  return {
    /** Undefined: above the limit. */
    matchesAny: (globs: readonly Glob[], path: string): boolean | undefined => {
      try {
        return globs.some((glob) => glob.matchWith(path, count));
      } catch (error) {
        if (!(error instanceof TooManySteps)) throw error;
        return undefined;
      }
    },
    spent: (): number => spent,
  };
}
