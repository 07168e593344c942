import type { DecodedFile, SourceDocument } from '../../model/fleet/desired.ts';
import { quote } from '../../model/fleet/ids.ts';
import {
  type Excess,
  MOST_STEPS_OF_PATH,
  MOST_WILDCARDS,
  type RevisionLimits,
} from '../../model/limits/revision-limits.ts';
import { compileGlob, type Glob, selfAndAncestors } from '../../model/text/glob.ts';
import { compareText, isSameList } from '../../model/text/json.ts';
import { IGNORE_FILE } from './ignore-file.ts';
import type { Pace } from './pace.ts';
import { BeyondLimit } from './revision-count.ts';

/** A Placement of a file, with its globs. */
export interface FilePlacement {
  readonly name: string;
  readonly globs: readonly Glob[];
}

/**
 * The Placements of a revision, and the steps of matching its manifests with their globs. As in the engine, each path is matched with
 * the globs that have a folder above it.
 */
export interface PlacementSteps {
  /** By the path of their file; a file without any is absent. */
  readonly placements: ReadonlyMap<string, readonly FilePlacement[]>;
  /** By the path of a manifest; one without any step is absent. */
  readonly ofPaths: ReadonlyMap<string, number>;
  readonly total: number;
}

export const noPlacements: PlacementSteps = { placements: new Map(), ofPaths: new Map(), total: 0 };

/** The Placements among the documents of a file. */
export function placementsIn(documents: readonly SourceDocument[]): readonly FilePlacement[] {
  return documents.flatMap(({ content }) =>
    content.type === 'declaration' && content.kind === 'Placement'
      ? [{ name: content.value.name, globs: content.value.paths.map(compileGlob) }]
      : [],
  );
}

/** How a revision differs from the one before it. */
export interface PlacementChanges {
  readonly before: PlacementSteps;
  /** Of changed files; empty: the file declares none, or is gone. */
  readonly placements: ReadonlyMap<string, readonly FilePlacement[]>;
  /** Paths that were manifests and are none. */
  readonly removed: readonly string[];
  /** Paths that are manifests and were none. */
  readonly added: readonly string[];
  /** All manifests of the revision. */
  readonly paths: () => Iterable<string>;
}

export interface PlacementLimits {
  readonly limits: RevisionLimits;
  /** The steps of the ignore rules, which count towards the same limit. */
  readonly others: number;
  readonly pace: Pace;
}

/**
 * Counts the steps of a revision, beginning with the counts of the revision before it: the cost follows the changes. The result is
 * the same as from nothing. Throws {@link BeyondLimit} above a limit.
 */
export async function countPlacementSteps(
  { before, placements: changed, removed, added, paths }: PlacementChanges,
  limited: PlacementLimits,
): Promise<PlacementSteps> {
  const { limits, others } = limited;
  const differing = [...changed].filter(([path, now]) => !isSamePlacements(before.placements.get(path) ?? [], now));
  const isBeyond = ({ ofPaths, total }: PlacementSteps): boolean =>
    others + total > limits.matchingSteps || ofPaths.values().some((steps) => steps > MOST_STEPS_OF_PATH);
  if (differing.length + removed.length + added.length === 0 && !isBeyond(before)) return before;
  const placements = new Map(before.placements);
  for (const [path, now] of differing) {
    if (now.length === 0) placements.delete(path);
    else placements.set(path, now);
  }
  refuseWildcards(placements);
  const all = globsByFolder(placements.values());
  const gone = globsByFolder(differing.map(([path]) => before.placements.get(path) ?? []));
  const come = globsByFolder(differing.map(([, now]) => now));
  const ofPaths = new Map(before.ofPaths);
  let { total } = before;
  const put = (path: string, steps: number): void => {
    total += steps - (ofPaths.get(path) ?? 0);
    if (steps === 0) ofPaths.delete(path);
    else ofPaths.set(path, steps);
  };
  for (const path of removed) put(path, 0);
  const work = { ...limited, left: limits.matchingSteps };
  try {
    for (const path of added) put(path, await stepsOf(path, all, work));
    const isAdded = new Set(added);
    if (differing.length > 0) {
      for (const path of paths()) {
        if (isAdded.has(path)) continue;
        const more = await stepsOf(path, come, work);
        put(path, (ofPaths.get(path) ?? 0) + more - (await stepsOf(path, gone, work)));
      }
    }
  } catch (error) {
    if (!(error instanceof WorkExceeded)) throw error;
    return fromNothing(placements, paths(), limited);
  }
  const counted = { placements, ofPaths, total };
  return isBeyond(counted) ? fromNothing(placements, paths(), limited) : counted;
}

/** Counts all paths in canonical order, so that every reader of the revision names the same path and Placement above a limit. */
async function fromNothing(
  placements: PlacementSteps['placements'],
  paths: Iterable<string>,
  limited: PlacementLimits,
): Promise<PlacementSteps> {
  const { limits, others } = limited;
  const globs = globsByFolder(placements.values());
  const ofPaths = new Map<string, number>();
  let total = 0;
  for (const path of [...paths].sort(compareText)) {
    const room = limits.matchingSteps - others - total;
    const most = Math.min(room, MOST_STEPS_OF_PATH);
    const steps = await stepsOf(path, globs, { ...limited, left: most }).catch((error: unknown) => {
      if (!(error instanceof WorkExceeded)) throw error;
      return most + 1;
    });
    if (steps > most) {
      const cause = await costliestAt(path, placements, limited);
      const excess: Excess =
        room < MOST_STEPS_OF_PATH
          ? { limit: 'matchingSteps', most: limits.matchingSteps, found: limits.matchingSteps + 1, path, cause }
          : { limit: 'matchingSteps', fixed: 'stepsOfPath', most: MOST_STEPS_OF_PATH, found: steps, path, cause };
      throw new BeyondLimit(excess);
    }
    total += steps;
    if (steps > 0) ofPaths.set(path, steps);
  }
  return { placements, ofPaths, total };
}

/** Says which path reaches the limit, and the Placement with the most steps for it. */
async function costliestAt(
  path: string,
  placements: PlacementSteps['placements'],
  limited: PlacementLimits,
): Promise<string> {
  let [most, what] = [-1, ''];
  for (const [file, ofFile] of [...placements].sort(([a], [b]) => compareText(a, b))) {
    for (const placement of ofFile) {
      const left = MOST_STEPS_OF_PATH;
      const steps = await stepsOf(path, globsByFolder([[placement]]), { ...limited, left }).catch(() => left + 1);
      if (steps > most) [most, what] = [steps, `Placement ${placement.name} in ${quote(file)}`];
    }
  }
  const needs = most > MOST_STEPS_OF_PATH ? `more than ${MOST_STEPS_OF_PATH}` : String(most);
  return `${what} needs ${needs} of them for the path ${quote(path)}`;
}

type GlobsByFolder = ReadonlyMap<string, readonly Glob[]>;

function globsByFolder(placements: Iterable<readonly FilePlacement[]>): GlobsByFolder {
  const globs = [...placements].flatMap((ofFile) => ofFile.flatMap((placement) => placement.globs));
  return Map.groupBy(globs, ({ base }) => base);
}

/** Ends matching that needs more steps than are left. */
class WorkExceeded extends Error {}

/** The steps of matching one path. The event loop may turn between two globs. */
async function stepsOf(
  path: string,
  globs: GlobsByFolder,
  work: Pick<PlacementLimits, 'pace'> & { left: number },
): Promise<number> {
  const { pace } = work;
  pace.path();
  let steps = 0;
  if (globs.size === 0) return steps;
  for (const folder of selfAndAncestors(path)) {
    for (const glob of globs.get(folder) ?? []) {
      glob.matchWith(path, (more) => {
        steps += more;
        pace.count(more);
        work.left -= more;
        if (work.left < 0) throw new WorkExceeded('matching needs more steps than are left');
      });
      if (pace.isDue()) await pace.turn();
    }
  }
  return steps;
}

function isSamePlacements(a: readonly FilePlacement[], b: readonly FilePlacement[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ name, globs }, index) => {
      const other = b[index];
      return name === other?.name && isSameList(textsOf(globs), textsOf(other.globs));
    })
  );
}

function textsOf(globs: readonly Glob[]): readonly string[] {
  return globs.map(({ text }) => text);
}

/** Throws {@link BeyondLimit} if the globs of all Placements have too many wildcards together. */
export function refuseWildcards(placements: PlacementSteps['placements']): void {
  let total = 0;
  let [most, what, path] = [-1, '', ''];
  for (const [file, ofFile] of [...placements].sort(([a], [b]) => compareText(a, b))) {
    for (const { name, globs } of ofFile) {
      const wildcards = globs.reduce((sum, glob) => sum + glob.wildcards, 0);
      total += wildcards;
      if (wildcards > most) [most, what, path] = [wildcards, `Placement ${name} in ${quote(file)}`, file];
    }
  }
  if (total <= MOST_WILDCARDS) return;
  const cause = `${what} has ${most} of them`;
  throw new BeyondLimit({
    limit: 'matchingSteps',
    fixed: 'wildcards',
    most: MOST_WILDCARDS,
    found: total,
    path,
    cause,
  });
}

/** The part of a node of a tree that matters here. */
interface Node {
  readonly file?: DecodedFile;
  readonly claim?: unknown;
}

/** A tree of which the paths `paths` may differ from the tree before it. */
export interface ChangedTree {
  readonly before: { readonly nodes: ReadonlyMap<string, Node>; readonly placementSteps: PlacementSteps };
  readonly nodes: ReadonlyMap<string, Node>;
  readonly paths: readonly string[];
}

/** Counts the steps of the Placements of a tree, beginning with the counts of the tree before. */
export function countPlacements(
  { before: { nodes: before, placementSteps }, nodes, paths }: ChangedTree,
  limited: PlacementLimits,
): Promise<PlacementSteps> {
  // Placements are matched with what a kustomization or chart claims, too.
  const isManifest = (node: Node | undefined, path: string): boolean =>
    (node?.file !== undefined || node?.claim !== undefined) && path !== IGNORE_FILE;
  const changed = paths.filter((path) => {
    const [is, was] = [nodes.get(path), before.get(path)];
    return is?.file !== was?.file || isManifest(is, path) !== isManifest(was, path);
  });
  const declaring = changed.flatMap((path) => {
    const reading = nodes.get(path)?.file?.reading;
    const placements = reading?.readable === true ? placementsIn(reading.documents) : [];
    return placements.length > 0 || placementSteps.placements.has(path) ? [[path, placements] as const] : [];
  });
  const manifests = function* (): Generator<string> {
    for (const [path, node] of nodes) if (isManifest(node, path)) yield path;
  };
  const changes = {
    before: placementSteps,
    placements: new Map(declaring),
    removed: changed.filter((path) => isManifest(before.get(path), path) && !isManifest(nodes.get(path), path)),
    added: changed.filter((path) => !isManifest(before.get(path), path) && isManifest(nodes.get(path), path)),
    paths: manifests,
  };
  return countPlacementSteps(changes, limited);
}
