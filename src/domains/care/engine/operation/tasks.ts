import type {
  Collection,
  Contribution,
  Derived,
  Entry,
  Graph,
  Index,
  Reader,
} from '../../../../engine/collections/types.ts';
import type { Progress } from '../../../../engine/status/progress.ts';
import { type ObjectKey, objectRefOf } from '../../../../model/objects/object-key.ts';

/** A cluster, or a namespace of it. */
export type Place = readonly [cluster: string] | readonly [cluster: string, namespace: string];

/** One object that is to be applied or removed. */
export interface Task {
  /** "Apply Deployment/web/shop" */
  readonly name: string;
  readonly cluster: string;
  readonly key: ObjectKey;
  readonly progress: Progress;
}

/** Some tasks, and how many there are. */
export interface TaskList {
  readonly count: number;
  /** The first ones in the order of their places and keys, at most {@link MOST_LISTED}. */
  readonly first: readonly Task[];
}

export const NO_TASKS: TaskList = { count: 0, first: [] };

/** More than the names in a description and the entries of `lastErrors`. */
export const MOST_LISTED = 64;

/** Joins lists of different tasks. */
export function joinLists(lists: readonly TaskList[]): TaskList {
  return {
    count: lists.reduce((sum, { count }) => sum + count, 0),
    first: lists.flatMap(({ first }) => first).slice(0, MOST_LISTED),
  };
}

type Group = 'applied' | 'waiting' | 'held';

/** The indexes that the tasks of Shoots are found by. A change costs the groups of one object. */
export interface TaskIndexes {
  /** By place and group, and tasks by place and name. */
  readonly byPlace: Index<Progress>;
  /** Tasks with bad news from the agent, by place and the second since which it reports that. */
  readonly failing: Index<Progress>;
  /** Those seconds. Key: the place. */
  readonly seconds: Derived<readonly Contribution<number>[]>;
}

/** Declares the indexes. Held removals and kept objects are no tasks. `clusters`: by name, those that have tasks of Shoots. */
export function deriveTaskIndexes(
  graph: Graph,
  progress: Derived<Progress>,
  clusters: Collection<unknown>,
): TaskIndexes {
  const ofShoots = { partitions: clusters };
  const groupsOf = (entry: Entry<Progress>): readonly string[] => {
    const group = groupOf(entry.value);
    const names = group === 'applied' || group === 'held' ? [] : [`task/${nameOf(entry)}`];
    const groups = group === undefined ? names : [group, ...names];
    return placesOf(entry).flatMap((place) => groups.map((each) => inPlace(place, each)));
  };
  const secondsOf = (entry: Entry<Progress>): readonly string[] => {
    const { since } = entry.value;
    if (groupOf(entry.value) !== undefined || since === undefined) return [];
    return placesOf(entry).map((place) => inPlace(place, `${secondOf(since)}`));
  };
  const byPlace = graph.index('tasksOfShoots', progress, groupsOf, ofShoots);
  const failing = graph.index('failingTasks', progress, secondsOf, ofShoots);
  const seconds = graph.gather<number, number>({
    name: 'secondsOfFailingTasks',
    from: graph.counts('failingTaskCounts', failing),
    seesAll: true,
    compute: ({ key }, _read, emit) => {
      const end = key.lastIndexOf(SEPARATOR);
      emit('', key.slice(0, end), Number(key.slice(end + 1)));
    },
  });
  return { byPlace, failing, seconds };
}

/** The first second that is not before a moment in milliseconds. */
export function secondOf(millis: number): number {
  return Math.ceil(millis / 1000);
}

/** Undefined: the agent has bad news of it, and since when is known. */
function groupOf({ state, since }: Progress): Group | undefined {
  if (state === 'held' || state === 'kept') return 'held';
  if (state === 'applied') return 'applied';
  return since === undefined ? 'waiting' : undefined;
}

const SEPARATOR = '\u0000';

function inPlace(place: Place, group: string): string {
  return `${place.join('/')}${SEPARATOR}${group}`;
}

function placesOf({ partition: cluster, key }: Entry<Progress>): readonly Place[] {
  const { namespace } = objectRefOf(key as ObjectKey);
  return namespace === '' ? [[cluster]] : [[cluster], [cluster, namespace]];
}

function nameOf({ key, value: { state, isRemoval, digest } }: Entry<Progress>): string {
  const { kind, namespace, name } = objectRefOf(key as ObjectKey);
  // What is held without content in the cluster is an object that cannot be made.
  const stays = (state === 'held' || state === 'kept') && digest !== null;
  const verb = isRemoval === true || stays ? 'Remove' : 'Apply';
  return `${verb} ${[kind, namespace, name].filter((part) => part !== '').join('/')}`;
}

/** Reads the tasks of places that do not overlap. */
export function readTasks(read: Reader, { byPlace, failing, seconds }: TaskIndexes, places: readonly Place[]) {
  const list = (index: Index<Progress>, group: string, places: readonly Place[]): TaskList =>
    joinLists(
      places.map((place) => ({
        count: read.count(index, inPlace(place, group)),
        first: read.first(index, inPlace(place, group), MOST_LISTED).map(taskOf),
      })),
    );
  return {
    applied: places.reduce((sum, place) => sum + read.count(byPlace, inPlace(place, 'applied')), 0),
    /** The removals that are held and the objects that are kept. */
    held: list(byPlace, 'held', places),
    /** The objects that are applied. */
    present: () => list(byPlace, 'applied', places),
    /** Those without news from their agents. */
    waiting: list(byPlace, 'waiting', places),
    /** Those with bad news, by cluster and the second since which it is so. */
    failing: places.flatMap((place) =>
      (read.get(seconds, '', place.join('/')) ?? []).map(({ value: second }) => ({
        cluster: place[0],
        second,
        tasks: list(failing, `${second}`, [place]),
      })),
    ),
    /** The task of this name; undefined: there is none, or it is done. */
    named: (name: string): Task | undefined =>
      places.flatMap((place) => read.first(byPlace, inPlace(place, `task/${name}`), 1).map(taskOf))[0],
  };
}

function taskOf(entry: Entry<Progress>): Task {
  return {
    name: nameOf(entry),
    cluster: entry.partition,
    key: entry.key as ObjectKey,
    progress: entry.value,
  };
}
