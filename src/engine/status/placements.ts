import type { StatusCounts } from '../../model/fleet/conditions.ts';
import type { Origin } from '../../model/fleet/output.ts';
import { healthStates } from '../../model/objects/object-health/health.ts';
import { isStatusKey } from '../../model/objects/object-key.ts';
import { compareText } from '../../model/text/json.ts';
import type { Change, Collection, Derived, Graph, Index, Input } from '../collections/types.ts';
import { structurallyEqual } from '../collections/values.ts';
import { fileGroup } from '../fleet/sources.ts';
import { type PlacementIndexes, placementsOf } from '../placement/assignments.ts';
import type { PlacementValue } from '../placement/placements.ts';
import type { StatusPart } from './declared-status.ts';
import {
  type Cause,
  clusterSubject,
  constantCause,
  countsOf,
  emptyTally,
  NO_STATUSES,
  type Progress,
  type ProgressState,
  progressStates,
  selectionCondition,
  stateGroup,
  summarise,
  type Tally,
  tally,
  worstFirst,
} from './progress.ts';

/**
 * Derives the status of every Placement: the rollout of the objects under its paths in its clusters. An object counts once
 * for each cluster, also if other Placements select it too.
 */
export function derivePlacementStatuses(
  graph: Graph,
  placements: Collection<PlacementValue>,
  tallies: Collection<Tally>,
): Derived<StatusPart> {
  return graph.derive<PlacementValue, StatusPart>({
    name: 'placementStatuses',
    from: placements,
    reads: [tallies],
    compute: ({ key: name, value: { clusters, unknownClusters } }, read, emit) => {
      const counted = read.get(tallies, '', name) ?? emptyTally;
      const selectsNone = clusters.length > 0 ? undefined : 'it selects no registered cluster';
      emit('Placement', name, {
        conditions: [...selectionCondition(unknownClusters, selectsNone), ...summarise(counted)],
        fields: { selectedClusters: clusters.length, ...countsOf(counted) },
      });
    },
  });
}

interface TallyDeps {
  readonly placements: Collection<PlacementValue>;
  readonly placementIndexes: PlacementIndexes;
  readonly progress: Collection<Progress>;
  /** See `indexProgress`. */
  readonly progressBySubject: Index<Progress>;
  /** Partition empty, key the name of the Placement. */
  readonly tallies: Input<Tally>;
}

interface Counts {
  readonly states: Record<ProgressState, number>;
  readonly health: Record<(typeof healthStates)[number], number>;
  drifted: number;
  /** Apart from the objects. */
  readonly statuses: { -readonly [Name in keyof StatusCounts]: number };
}

/** The counts of one Placement. */
interface Counted {
  readonly clusters: Map<string, Counts>;
  readonly total: Counts;
  /** The first object with a cause of its own, in order of state, cluster and key. */
  example: Example | undefined;
  /** The example was removed or changed: the next one must be searched. */
  isExampleGone: boolean;
}

interface Example extends Cause {
  readonly state: ProgressState;
  readonly cluster: string;
  readonly key: string;
}

/**
 * Counts the objects of each Placement. Placements and objects are related by paths, many to many: an index by Placement
 * would need an entry for each pair, so the changes of each commit are counted instead. The returned function counts the
 * changes of the last commit and stages different tallies; true: another commit is needed. It yields after each piece of work.
 */
export function createTallies(graph: Graph, deps: TallyDeps): () => Generator<undefined, boolean> {
  const changedProgress = graph.watch(deps.progress);
  const changedPlacements = graph.watch(deps.placements);
  const known = new Map<string, Counted>();
  return function* () {
    const changes = changedProgress.drain();
    const touched = new Set<string>();
    const namesOf = placementNames(deps.placementIndexes);
    const recounts = applyPlacements(deps, known, withOthers(changedPlacements.take(), deps.placements), touched);
    for (const { partition: cluster, key, before, after } of changes) {
      yield;
      for (const [value, by] of [[before, -1] as const, [after, 1] as const]) {
        if (value === undefined) continue;
        for (const name of namesOf(value)) {
          const counted = known.get(name);
          if (counted?.clusters.has(cluster) !== true || recounts.get(cluster)?.has(name) === true) continue;
          touched.add(name);
          count(counted, cluster, key, value, by);
        }
      }
    }
    for (const [cluster, names] of recounts) {
      for (const { key, value } of deps.progress.entries(cluster)) {
        yield;
        for (const name of namesOf(value)) {
          const counted = known.get(name);
          if (counted !== undefined && names.has(name)) count(counted, cluster, key, value, 1);
        }
      }
    }
    let hasStaged = false;
    for (const name of touched) hasStaged = stageOne(deps, known.get(name), name, namesOf) || hasStaged;
    return hasStaged;
  };
}

/** Whether both select the same files. */
function selectsAlike(a: PlacementValue, b: PlacementValue): boolean {
  return structurallyEqual([a.declared.value.paths, a.rights?.files], [b.declared.value.paths, b.rights?.files]);
}

/**
 * Adds the other Placements of a source if one that may select files of other sources has changed: its steps also decide whether
 * the others place a file.
 */
function withOthers(
  changes: readonly Change<PlacementValue>[],
  placements: Collection<PlacementValue>,
): readonly Change<PlacementValue>[] {
  const sources = new Set(
    changes.flatMap(({ before, after }) => {
      const { declared, rights } = (after ?? before) as PlacementValue;
      const isAlike = before !== undefined && after !== undefined && selectsAlike(before, after);
      return isAlike || (rights?.files ?? []).length === 0 ? [] : [declared.origin.source];
    }),
  );
  if (sources.size === 0) return changes;
  const changed = new Set(changes.map(({ key }) => key));
  const others = [...placements.entries('')].filter(
    ({ key, value }) => !changed.has(key) && sources.has(value.declared.origin.source),
  );
  return [...changes, ...others.map(({ value, ...at }) => ({ ...at, before: undefined, after: value }))];
}

/** Applies changed Placements; returns by cluster the Placements whose objects must be counted anew. */
function applyPlacements(
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
    const counted = known.get(name) ?? { clusters: new Map(), total: zero(), example: undefined, isExampleGone: false };
    known.set(name, counted);
    const selected = new Set(after.clusters);
    const keepsPaths = before !== undefined && selectsAlike(before, after);
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
  const { state, reason, message, health, drift } = value;
  for (const counts of [counted.clusters.get(cluster), counted.total]) {
    if (counts === undefined) continue;
    if (isStatusKey(key)) {
      countStatus(counts.statuses, state, by);
      continue;
    }
    counts.states[state] += by;
    if (health !== undefined) counts.health[health.state] += by;
    if (drift !== undefined) counts.drifted += by;
  }
  if (isStatusKey(key)) return;
  if (by === -1) {
    if (counted.example?.cluster === cluster && counted.example.key === key) loseExample(counted);
    return;
  }
  if (state === 'applied' || constantCause[state] !== undefined || counted.isExampleGone) return;
  const candidate = { state, cluster, key, reason, message };
  if (counted.example === undefined || compareExamples(candidate, counted.example) < 0) counted.example = candidate;
}

function countStatus(statuses: Counts['statuses'], state: ProgressState, by: 1 | -1): void {
  statuses.total += by;
  if (state === 'applied') statuses.applied += by;
  if (state === 'failed' || state === 'conflict') statuses.failed += by;
}

function forget(counted: Counted, cluster: string): void {
  const counts = counted.clusters.get(cluster);
  counted.clusters.delete(cluster);
  for (const state of progressStates) counted.total.states[state] -= counts?.states[state] ?? 0;
  for (const state of healthStates) counted.total.health[state] -= counts?.health[state] ?? 0;
  counted.total.drifted -= counts?.drifted ?? 0;
  for (const name of STATUS_COUNTS) counted.total.statuses[name] -= counts?.statuses[name] ?? 0;
  if (counted.example?.cluster === cluster) loseExample(counted);
}

function loseExample(counted: Counted): void {
  counted.example = undefined;
  counted.isExampleGone = true;
}

function stageOne(
  deps: TallyDeps,
  counted: Counted | undefined,
  name: string,
  namesOf: (value: Progress) => ReadonlySet<string>,
): boolean {
  const before = deps.tallies.get('', name);
  if (counted === undefined) return before !== undefined;
  if (counted.isExampleGone) {
    counted.example = findExample(deps, counted, (value) => namesOf(value).has(name));
    counted.isExampleGone = false;
  }
  const { statuses, ...objects } = structuredClone(counted.total);
  const now = tally({ ...objects, ...(statuses.total === 0 ? {} : { statuses }) }, () => counted.example);
  if (before !== undefined && structurallyEqual(before, now)) return false;
  deps.tallies.set('', name, now);
  return true;
}

function findExample(
  { progressBySubject }: TallyDeps,
  { clusters, total }: Counted,
  isOwn: (value: Progress) => boolean,
): Example | undefined {
  for (const state of worstFirst) {
    if (total.states[state] === 0 || constantCause[state] !== undefined) continue;
    for (const cluster of [...clusters.keys()].sort(compareText)) {
      if (clusters.get(cluster)?.states[state] === 0) continue;
      const members = progressBySubject.members(stateGroup(clusterSubject(cluster), state));
      const found = members.find(({ value }) => isOwn(value));
      if (found !== undefined) return { ...found.value, cluster, key: found.key };
    }
  }
  return undefined;
}

function compareExamples(a: Example, b: Example): number {
  const byState = worstFirst.indexOf(a.state) - worstFirst.indexOf(b.state);
  return byState || compareText(a.cluster, b.cluster) || compareText(a.key, b.key);
}

/** Finds the names of the Placements of an object, as of the last commit. Matches each path once. */
function placementNames(indexes: PlacementIndexes): (value: Progress) => ReadonlySet<string> {
  const byFile = new Map<string, ReadonlySet<string>>();
  const ofFile = (origin: Origin): ReadonlySet<string> => {
    const file = fileGroup(origin);
    const names = byFile.get(file) ?? new Set(placementsOf(origin, indexes).selecting.map(({ key }) => key));
    byFile.set(file, names);
    return names;
  };
  return ({ origins }) => {
    const [first, ...others] = origins;
    return first !== undefined && others.length === 0
      ? ofFile(first)
      : new Set(origins.flatMap((origin) => [...ofFile(origin)]));
  };
}

const STATUS_COUNTS = ['total', 'applied', 'failed'] as const;

function zero(): Counts {
  return structuredClone({ ...emptyTally, statuses: NO_STATUSES });
}
