import { selfAndAncestors } from '../../model/glob.ts';
import { compareText } from '../../model/json.ts';
import { structurallyEqual } from '../collections/equality.ts';
import type { Change, Collection, Graph, Index, Input } from '../collections/types.ts';
import type { PlacementValue } from '../placement/placements.ts';
import { worstFirst } from './conditions.ts';
import { type HealthCounts, healthStates } from './health-counts.ts';
import { constantTroubleOf, type Trouble, tally } from './lookups.ts';
import { type Progress, type ProgressState, progressGroup, progressStates } from './progress.ts';

/** How far that has got which a Placement sends to its clusters. Partition empty, key its name. */
export interface Tally {
  readonly states: Readonly<Record<ProgressState, number>>;
  readonly health: HealthCounts;
  /** What a person should hear of first; absent: everything is applied. */
  readonly worst?: Trouble;
}

/** Of a Placement that sends nothing. */
export const noTally: Tally = { states: tally(progressStates, () => 0), health: tally(healthStates, () => 0) };

/**
 * Counts for each Placement what became of its objects. Placements and objects meet by paths, many to many, so that no
 * index has them by Placement without an entry for each pair: this counts what each commit has changed instead.
 */
export interface Tallies {
  /** Counts what the last commit has changed and stages what differs; true if it has staged something. */
  stage(): boolean;
}

interface TallyDeps {
  readonly placements: Collection<PlacementValue>;
  /** Groups are the folders that the Placements' globs look into. */
  readonly placementsByFolder: Index<PlacementValue>;
  readonly progress: Collection<Progress>;
  /** Groups are {@link progressGroup}. */
  readonly progressByState: Index<Progress>;
  readonly tallies: Input<Tally>;
}

interface Counts {
  readonly states: Record<ProgressState, number>;
  readonly health: Record<keyof HealthCounts, number>;
}

/** What is counted of one Placement. */
interface Counted {
  readonly clusters: Map<string, Counts>;
  readonly total: Counts;
  /** The first in order of state, cluster and key of those whose trouble depends on the object; if there are any. */
  example: Example | undefined;
  /** The example is not an example any more: the next one must be looked for. */
  isExampleGone: boolean;
}

interface Example extends Trouble {
  readonly state: ProgressState;
  readonly cluster: string;
  readonly key: string;
}

/** Starts counting. Whoever commits the graph calls {@link Tallies.stage} after each commit, and commits once more if told. */
export function createTallies(graph: Graph, deps: TallyDeps): Tallies {
  const moved = graph.watch(deps.progress);
  const declared = graph.watch(deps.placements);
  const known = new Map<string, Counted>();
  return {
    stage: () => {
      const changes = moved.take();
      const touched = new Set<string>();
      const placementsOf = routes(deps.placementsByFolder);
      const recounts = declare(deps, known, declared.take(), touched);
      for (const { partition: cluster, key, before, after } of changes) {
        for (const [value, by] of [[before, -1] as const, [after, 1] as const]) {
          if (value === undefined) continue;
          for (const name of placementsOf(value)) {
            const counted = known.get(name);
            if (counted?.clusters.has(cluster) !== true || recounts.get(cluster)?.has(name) === true) continue;
            touched.add(name);
            count(counted, cluster, key, value, by);
          }
        }
      }
      for (const [cluster, names] of recounts) {
        for (const { key, value } of deps.progress.entries(cluster)) {
          for (const name of placementsOf(value)) {
            const counted = known.get(name);
            if (counted !== undefined && names.has(name)) count(counted, cluster, key, value, 1);
          }
        }
      }
      let hasStaged = false;
      for (const name of touched) hasStaged = stageOne(deps, known, name, placementsOf) || hasStaged;
      return hasStaged;
    },
  };
}

/** Takes over what Placements have become; returns which of them are to be counted anew, by cluster. */
function declare(
  { tallies }: TallyDeps,
  known: Map<string, Counted>,
  changes: readonly Change<PlacementValue>[],
  touched: Set<string>,
): ReadonlyMap<string, ReadonlySet<string>> {
  const recounts = new Map<string, Set<string>>();
  for (const { key: name, before, after } of changes) {
    touched.add(name);
    if (after === undefined) {
      known.delete(name);
      tallies.delete('', name);
      continue;
    }
    const counted = known.get(name) ?? nothingCounted();
    known.set(name, counted);
    const selected = new Set(after.clusters);
    const keepsPaths =
      before !== undefined && structurallyEqual(before.declared.value.paths, after.declared.value.paths);
    for (const cluster of [...counted.clusters.keys()]) {
      if (!keepsPaths || !selected.has(cluster)) forget(counted, cluster);
    }
    for (const cluster of selected) {
      if (counted.clusters.has(cluster)) continue;
      counted.clusters.set(cluster, zero());
      recounts.set(cluster, (recounts.get(cluster) ?? new Set()).add(name));
    }
  }
  return recounts;
}

function count(counted: Counted, cluster: string, key: string, value: Progress, by: 1 | -1): void {
  const { state, reason, message, health } = value;
  for (const counts of [counted.clusters.get(cluster), counted.total]) {
    if (counts === undefined) continue;
    counts.states[state] += by;
    if (health !== undefined) counts.health[health.state] += by;
  }
  if (by === -1) {
    if (counted.example?.cluster === cluster && counted.example.key === key) loseExample(counted);
    return;
  }
  if (state === 'applied' || constantTroubleOf(state) !== undefined || counted.isExampleGone) return;
  const candidate = { state, cluster, key, reason, message };
  if (counted.example === undefined || compareExamples(candidate, counted.example) < 0) counted.example = candidate;
}

function forget(counted: Counted, cluster: string): void {
  const counts = counted.clusters.get(cluster);
  counted.clusters.delete(cluster);
  for (const state of progressStates) counted.total.states[state] -= counts?.states[state] ?? 0;
  for (const state of healthStates) counted.total.health[state] -= counts?.health[state] ?? 0;
  if (counted.example?.cluster === cluster) loseExample(counted);
}

function loseExample(counted: Counted): void {
  counted.example = undefined;
  counted.isExampleGone = true;
}

function stageOne(
  deps: TallyDeps,
  known: ReadonlyMap<string, Counted>,
  name: string,
  placementsOf: (value: Progress) => ReadonlySet<string>,
): boolean {
  const counted = known.get(name);
  const before = deps.tallies.get('', name);
  if (counted === undefined) return before !== undefined;
  if (counted.isExampleGone) {
    counted.example = findExample(deps, counted, (value) => placementsOf(value).has(name));
    counted.isExampleGone = false;
  }
  const { total, example } = counted;
  const state = worstFirst.find((each) => total.states[each] > 0);
  const worst = state && (constantTroubleOf(state) ?? example);
  const now: Tally = {
    states: { ...total.states },
    health: { ...total.health },
    ...(worst === undefined ? {} : { worst: { reason: worst.reason, message: worst.message } }),
  };
  if (before !== undefined && structurallyEqual(before, now)) return false;
  deps.tallies.set('', name, now);
  return true;
}

function findExample(
  { progressByState }: TallyDeps,
  { clusters, total }: Counted,
  isOurs: (value: Progress) => boolean,
): Example | undefined {
  for (const state of worstFirst) {
    if (total.states[state] === 0 || constantTroubleOf(state) !== undefined) continue;
    for (const cluster of [...clusters.keys()].sort(compareText)) {
      if (clusters.get(cluster)?.states[state] === 0) continue;
      const found = progressByState.members(progressGroup(cluster, state)).find(({ value }) => isOurs(value));
      if (found !== undefined) return { ...found.value, cluster, key: found.key };
    }
  }
  return undefined;
}

function compareExamples(a: Example, b: Example): number {
  const byState = worstFirst.indexOf(a.state) - worstFirst.indexOf(b.state);
  return byState || compareText(a.cluster, b.cluster) || compareText(a.key, b.key);
}

/** Finds the Placements that select what an object came from, as of the last commit; of a path it works them out once. */
function routes(placementsByFolder: Index<PlacementValue>): (value: Progress) => ReadonlySet<string> {
  const byPath = new Map<string, ReadonlySet<string>>();
  const ofPath = (path: string): ReadonlySet<string> => {
    const before = byPath.get(path);
    if (before !== undefined) return before;
    const found = selfAndAncestors(path)
      .flatMap((folder) => placementsByFolder.members(folder))
      .filter(({ value: { globs } }) => globs.some((glob) => glob.matches(path)));
    const names = new Set(found.map(({ key }) => key));
    byPath.set(path, names);
    return names;
  };
  return ({ origins }) => {
    const [first, ...others] = origins;
    if (first === undefined) return NONE;
    return others.length === 0 ? ofPath(first.path) : new Set(origins.flatMap(({ path }) => [...ofPath(path)]));
  };
}

const NONE: ReadonlySet<string> = new Set();

function nothingCounted(): Counted {
  return { clusters: new Map(), total: zero(), example: undefined, isExampleGone: false };
}

function zero(): Counts {
  return { states: { ...noTally.states }, health: { ...noTally.health } };
}
