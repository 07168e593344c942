import { MOST_UNLISTED } from '../../../../model/agent/agent.ts';
import { kindOf, nameOfKind, type ObjectKey, objectRefOf } from '../../../../model/objects/object-key.ts';
import { isOlderVersion } from '../../../../model/objects/resource-version.ts';
import { compareText } from '../../../../model/text/json.ts';
import { mayFollowEverywhere } from '../../api/access-review.ts';
import { createKindFollower, type KindFollower } from '../../api/kind-follower.ts';
import type { ApiResource } from '../../api/types.ts';
import { type LiveEntry, sameEntry } from './entry.ts';
import { type FollowedKind, type FollowedState, type FollowingOptions, isOurs, missingRight } from './followed-kind.ts';
import { type NarrowedPlan, takerOf } from './kind-plan.ts';
import { createKindView, type KindView, type KindViewState, NOT_LISTED } from './kind-view.ts';
import { type Division, divideKind, MOST_CONNECTIONS, type Portion } from './portions.ts';

/** Most portions of a kind that are listed at once. */
const LISTS_AT_ONCE = 16;
const UNDIVIDED: Division = { portions: [], namespaces: [], cut: [], gains: false };

/** One portion that is followed, with what it was read to have. */
interface Part {
  readonly portion: Portion;
  readonly entries: Map<ObjectKey, LiveEntry>;
  readonly view: KindView;
  readonly follower: KindFollower;
}

/** A kind of which some objects are followed: with one follower per portion. */
export interface NarrowedKind extends FollowedKind {
  /** Follows what another plan takes. Portions that stay are not listed again. Returns whether anything differs. */
  update(plan: NarrowedPlan): boolean;
}

interface State {
  readonly options: FollowingOptions;
  readonly resource: ApiResource;
  /** By id of the portion. */
  readonly parts: Map<string, Part>;
  /** Empty text: parts of all namespaces. */
  readonly byNamespace: Map<string, Set<Part>>;
  /** Parts whose list has not begun. */
  readonly waiting: Set<Part>;
  /** Parts whose first list is being read. */
  readonly listing: Set<Part>;
  plan: NarrowedPlan;
  takes: (entry: LiveEntry) => boolean;
  division: Division;
  /** Whether the agent may follow all namespaces at once; undefined: not known yet. */
  everywhere: boolean | undefined;
  isAsking: boolean;
  isStopped: boolean;
}

/**
 * Follows some objects of a kind. An object that several portions have is kept once, and stays while one of them has it; what was
 * read as a whole counts before metadata.
 */
export function followNarrowedKind(options: FollowingOptions, resource: ApiResource, plan: NarrowedPlan): NarrowedKind {
  const state: State = {
    options,
    resource,
    plan,
    parts: new Map(),
    byNamespace: new Map(),
    waiting: new Set(),
    listing: new Set(),
    takes: takerOf(plan.entries),
    division: UNDIVIDED,
    everywhere: undefined,
    isAsking: false,
    isStopped: false,
  };
  divide(state);
  ask(state);
  return {
    resource,
    plan: () => state.plan,
    state: () => stateOf(state),
    ownProblem: () => {
      const own = state.parts.values().filter(({ portion }) => portion.own);
      return own.map(({ view }) => view.state()).find((found) => found.state === 'unknown')?.message;
    },
    isSettled: () => !state.isAsking && state.parts.values().every(({ view }) => view.state().state !== 'pending'),
    wrote: (entry) => {
      const all = [...partsOf(state, entry.key)];
      const part = all.find(({ portion }) => portion.own) ?? all.find(({ portion }) => !portion.metadataOnly);
      if (part === undefined) options.store.put(entry);
      else part.view.wrote(entry);
    },
    removed: (key, uid) => {
      for (const { view } of partsOf(state, key)) view.removed(key, uid);
    },
    sift: () => showAll(state),
    update: (next) => update(state, next),
    stop: async () => {
      state.isStopped = true;
      options.connections.use(nameOfKind(resource), 0);
      await Promise.all(state.parts.values().map(({ follower }) => follower.stop()));
    },
  };
}

function update(state: State, plan: NarrowedPlan): boolean {
  // Other kinds may have left connections to it.
  if (state.division.cut.length === 0 && JSON.stringify(plan) === JSON.stringify(state.plan)) return false;
  state.plan = plan;
  state.takes = takerOf(plan.entries);
  divide(state);
  ask(state);
  return true;
}

/** Begins and ends followers as the plan says. A new follower takes over from the others what it will list. */
function divide(state: State): void {
  const { parts, options } = state;
  const name = nameOfKind(state.resource);
  state.division = divideKind(state.plan, state.everywhere, parts, options.connections.leftFor(name));
  const { portions } = state.division;
  options.connections.use(name, portions.filter(({ namespace }) => namespace !== undefined).length);
  const known = Map.groupBy(ofKind(state, options.store.objects.values()), ({ key }) => objectRefOf(key).namespace);
  for (const portion of portions) {
    if (parts.has(portion.id)) continue;
    const { namespace } = portion;
    const inside = namespace === undefined ? [...known.values()].flat() : (known.get(namespace) ?? []);
    begin(state, portion, portion.own ? inside.filter(isOurs) : inside);
  }
  const wanted = new Set(portions.map(({ id }) => id));
  for (const part of [...parts.values()]) if (!wanted.has(part.portion.id)) end(state, part);
  showAll(state);
  listNext(state);
}

/** Asks the API server whether all namespaces may be followed at once, if that saves requests. */
function ask(state: State): void {
  if (state.isAsking || state.everywhere === true || !state.division.gains) return;
  state.isAsking = true;
  void mayFollowEverywhere(state.options.deps.client, state.resource).then((allowed) => {
    state.isAsking = false;
    if (state.isStopped) return;
    const before = state.everywhere;
    state.everywhere = allowed;
    if (before !== allowed) divide(state);
    state.options.stateChanged();
    state.options.news();
  });
}

function begin(state: State, portion: Portion, known: readonly LiveEntry[]): void {
  const { options, resource, byNamespace, waiting, parts } = state;
  const entries = new Map(known.map((entry) => [entry.key, entry]));
  const store = {
    objects: entries,
    put(entry: LiveEntry): boolean {
      entries.set(entry.key, entry);
      return show(state, entry.key);
    },
    drop(key: ObjectKey): boolean {
      return entries.delete(key) && show(state, key);
    },
  };
  const view = createKindView(store, {
    resource,
    reading: options.reading,
    keeps: () => true,
    news: options.news,
    stateChanged: () => noteState(state, part),
  });
  const { namespace, labelSelector, metadataOnly } = portion;
  const selected = {
    ...(namespace === undefined ? {} : { namespace }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
    metadataOnly,
  };
  const follower = createKindFollower(options.deps, { resource, ...selected }, view.listener);
  const part: Part = { portion, entries, view, follower };
  parts.set(portion.id, part);
  waiting.add(part);
  const around = byNamespace.get(namespace ?? '') ?? new Set();
  byNamespace.set(namespace ?? '', around.add(part));
}

function end({ parts, byNamespace, waiting, listing }: State, part: Part): void {
  const { portion, follower } = part;
  void follower.stop();
  parts.delete(portion.id);
  waiting.delete(part);
  listing.delete(part);
  const around = byNamespace.get(portion.namespace ?? '');
  around?.delete(part);
  if (around?.size === 0) byNamespace.delete(portion.namespace ?? '');
}

/** Begins lists, a few at a time. */
function listNext({ waiting, listing, isStopped }: State): void {
  for (const part of waiting) {
    if (isStopped || listing.size >= LISTS_AT_ONCE) return;
    waiting.delete(part);
    listing.add(part);
    part.follower.start();
  }
}

function noteState(state: State, part: Part): void {
  if (state.parts.get(part.portion.id) !== part) return;
  state.listing.delete(part);
  const { own, namespace } = part.portion;
  const isRefused = namespace === undefined && part.view.state().isForbidden;
  if (isRefused && own && state.resource.namespaced) state.options.confine();
  if (isRefused && !own && state.everywhere === true) {
    state.everywhere = false;
    divide(state);
  } else listNext(state);
  state.options.stateChanged();
}

/** The parts that can have an object. */
function* partsOf({ byNamespace }: State, key: ObjectKey): Generator<Part> {
  const { namespace } = objectRefOf(key);
  yield* byNamespace.get('') ?? [];
  if (namespace !== '') yield* byNamespace.get(namespace) ?? [];
}

/** Puts an object into the store as its parts have it, or drops it. Returns whether it differs. */
function show(state: State, key: ObjectKey): boolean {
  const { store, admits } = state.options;
  let best: { readonly part: Part; readonly entry: LiveEntry } | undefined;
  for (const part of partsOf(state, key)) {
    const entry = part.entries.get(key);
    if (entry !== undefined && (best === undefined || isBetter(part, entry, best))) best = { part, entry };
  }
  if (best === undefined) return store.drop(key);
  const { part, entry } = best;
  if (!isOurs(entry) && !(admits(entry) && state.takes(entry))) return store.drop(key);
  const isChanged = store.put(entry);
  const kept = store.objects.get(key);
  // The store keeps an equal entry that it has: one of the two is enough.
  if (kept !== undefined && kept !== entry && sameEntry(kept, entry)) part.entries.set(key, kept);
  return isChanged;
}

function isBetter(
  { portion }: Part,
  entry: LiveEntry,
  than: { readonly part: Part; readonly entry: LiveEntry },
): boolean {
  if (portion.metadataOnly !== than.part.portion.metadataOnly) return !portion.metadataOnly;
  return (
    entry.resourceVersion !== than.entry.resourceVersion &&
    !isOlderVersion(entry.resourceVersion, than.entry.resourceVersion)
  );
}

function showAll(state: State): void {
  const stored = ofKind(state, state.options.store.objects.values()).map(({ key }) => key);
  const read = state.parts.values().flatMap(({ entries }) => entries.keys());
  for (const key of new Set([...stored, ...read])) show(state, key);
}

function ofKind({ resource }: State, entries: Iterable<LiveEntry>): LiveEntry[] {
  const name = nameOfKind(resource);
  return [...entries].filter(({ key }) => kindOf(key) === name);
}

/** Complete if something could be listed; Namespaces that could not are named. */
function stateOf({ parts, division, resource, isAsking }: State): FollowedState {
  const everywhere = parts.values().filter(({ portion }) => !portion.own && portion.namespace === undefined);
  for (const { view } of everywhere) {
    const found = view.state();
    if (found.state !== 'complete') return { state: found.state, message: messageOf(found, resource) };
  }
  const { namespaces, cut } = division;
  const unlisted = new Map<string, string>();
  let isPending = isAsking;
  for (const { namespace, id } of namespaces) {
    const found = parts.get(id)?.view.state();
    if (found?.state === 'complete') continue;
    if (found?.state !== 'unknown') isPending = true;
    unlisted.set(namespace, found === undefined ? NOT_LISTED : messageOf(found, resource, namespace));
  }
  for (const namespace of cut) unlisted.set(namespace, tooMany(resource));
  if (unlisted.size === 0) return { state: 'complete', message: '' };
  const [[, message = ''] = []] = unlisted;
  const isListed = division.portions.some(({ id, own }) => !own && parts.get(id)?.view.state().state === 'complete');
  if (isListed && unlisted.size <= MOST_UNLISTED) {
    return { state: 'complete', message: '', unlisted: Object.fromEntries([...unlisted].sort(byName)) };
  }
  const more = unlisted.size === 1 ? '' : `; and so in ${unlisted.size - 1} more namespaces`;
  return { state: isPending ? 'pending' : 'unknown', message: `${message}${more}` };
}

function messageOf({ message, isForbidden }: KindViewState, resource: ApiResource, namespace?: string): string {
  return isForbidden ? missingRight(resource, namespace) : message;
}

function tooMany({ resource }: ApiResource): string {
  return `at most ${MOST_CONNECTIONS} namespaces are followed one by one: let the agent list ${resource} in all namespaces`;
}

function byName([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return compareText(a, b);
}
