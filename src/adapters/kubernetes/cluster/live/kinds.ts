import { type AgentSettings, NO_SETTINGS } from '../../../../model/agent/agent-settings.ts';
import { AUTOSCALER_KIND } from '../../../../model/objects/autoscalers.ts';
import { kindOf, nameOfKind, type ObjectKey, objectRefOf } from '../../../../model/objects/object-key.ts';
import type { ApiCatalog, ApiResource, FollowerDeps } from '../../api/types.ts';
import type { Autoscaled } from './autoscaled.ts';
import type { LiveEntry, Reading } from './entry.ts';
import { type FollowedKind, type FollowingOptions, followWholeKind, noteTargets } from './followed-kind.ts';
import { type KindPlan, NAMESPACE, type Owned, planOf } from './kind-plan.ts';
import { followNarrowedKind, type NarrowedKind } from './narrowed-kind.ts';
import { type Connections, createConnections } from './portions.ts';
import type { LiveStore } from './store.ts';

export interface KindsOptions {
  readonly store: LiveStore;
  readonly reading: Reading;
  readonly autoscaled: Autoscaled;
  /** Called after a change that this process did not make itself. */
  readonly news: () => void;
  readonly stateChanged: () => void;
}

export type Kinds = ReturnType<typeof createKinds>;

/** A kind (`group/Kind`) and a Namespace in which we own an object of it; empty text: not known, or it has none. */
export interface OwnedPlace {
  readonly kind: string;
  readonly namespace: string;
}

interface State extends KindsOptions {
  readonly deps: FollowerDeps;
  readonly followed: Map<string, Following>;
  /** The kinds of which we own objects, and in which Namespaces. */
  readonly owned: Map<string, Set<string>>;
  /** The kinds that the agent may not list in all Namespaces. */
  readonly confined: Set<string>;
  readonly connections: Connections;
  readonly changes: ReturnType<typeof createChanges>;
  catalog: ApiCatalog | undefined;
  settings: AgentSettings;
  isClosed: boolean;
}

type Following =
  | { readonly type: 'whole'; readonly kind: FollowedKind }
  | { readonly type: 'narrowed'; readonly kind: NarrowedKind };

/**
 * Follows each kind that is discovered or of which we own an object, independently of the others. Kinds by name:
 * `group/Kind`.
 */
export function createKinds(deps: FollowerDeps, options: KindsOptions) {
  const { store } = options;
  const followed = new Map<string, Following>();
  const changes = createChanges();
  const unset = { catalog: undefined, settings: NO_SETTINGS, isClosed: false };
  const connections = createConnections();
  const owned = { owned: new Map<string, Set<string>>(), confined: new Set<string>() };
  const state: State = { ...options, ...unset, ...owned, deps, followed, changes, connections };
  const all = () => [...followed.values()].map(({ kind }) => kind);
  return {
    follow: (catalog: ApiCatalog) => follow(state, catalog),
    configure: (settings: AgentSettings) => configure(state, settings),
    owns: (places: Iterable<OwnedPlace>) => owns(state, places),
    all,
    /** Resolves when each kind was listed, or cannot be listed. */
    settled: () => changes.until(() => all().every((kind) => kind.isSettled())),
    /** No kind can be followed. */
    allUnknown: () => followed.size > 0 && all().every((kind) => kind.state().state === 'unknown'),
    wrote(entry: LiveEntry): void {
      const following = followed.get(kindOf(entry.key));
      // Objects of a kind that cannot be followed are known from our writes alone.
      if (following === undefined) store.put(entry);
      else following.kind.wrote(entry);
      // What it scales may be written before the watch tells of it.
      if (kindOf(entry.key) === AUTOSCALER_KIND) noteTargets(state, entry.key, entry.value);
    },
    removed(key: ObjectKey, uid: string): void {
      const following = followed.get(kindOf(key));
      if (following === undefined) store.drop(key);
      else following.kind.removed(key, uid);
    },
    async close(): Promise<void> {
      state.isClosed = true;
      await Promise.all(all().map((kind) => kind.stop()));
      followed.clear();
      changes.report();
    },
  };
}

/** Takes the kinds that the cluster offers. Returns whether that changes which ones are followed, or how. */
function follow(state: State, next: ApiCatalog): boolean {
  const before = state.catalog;
  state.catalog = next;
  let isChanged = false;
  for (const resource of next.preferred) {
    // A kind that is offered again is listed at once, without the pause of its last failure.
    if (before?.find(resource.group, resource.kind) === undefined) end(state, nameOfKind(resource));
    isChanged = adjust(state, resource) || isChanged;
  }
  for (const [name, { kind }] of state.followed) {
    if (next.find(kind.resource.group, kind.resource.kind) !== undefined) continue;
    // Its definition was removed, and with it every object. A group that cannot be read is still in the catalog.
    forget(state, name);
    isChanged = true;
  }
  return isChanged;
}

/** Follows a kind as it should be followed now. Returns whether that is a change. */
function adjust(state: State, resource: ApiResource): boolean {
  const { followed, settings } = state;
  if (state.isClosed) return false;
  const name = nameOfKind(resource);
  const plan = planOf(resource, settings, ownedOf(state, name));
  const now = followed.get(name);
  if (now === undefined && plan === undefined) return false;
  if (now?.kind.resource.version === resource.version && plan !== undefined) {
    if (now.type === 'narrowed' && plan.type === 'narrowed') return now.kind.update(plan);
    const before = now.kind.plan();
    if (before.type === plan.type && before.shown === plan.shown) return false;
  }
  if (plan === undefined) forget(state, name);
  else {
    end(state, name);
    begin(state, resource, plan);
  }
  return true;
}

function begin(state: State, resource: ApiResource, plan: KindPlan): void {
  const { deps, store, reading, autoscaled, connections, news } = state;
  const options: FollowingOptions = {
    deps,
    store,
    reading,
    autoscaled,
    connections,
    news,
    admits: (entry) => admits(entry, state.settings),
    confine: () => {
      const name = nameOfKind(resource);
      if (state.confined.has(name)) return;
      state.confined.add(name);
      adjust(state, resource);
    },
    stateChanged: () => {
      state.stateChanged();
      state.changes.report();
    },
  };
  const following: Following =
    plan.type === 'narrowed'
      ? { type: 'narrowed', kind: followNarrowedKind(options, resource, plan) }
      : { type: 'whole', kind: followWholeKind(options, resource, plan) };
  state.followed.set(nameOfKind(resource), following);
  following.kind.sift();
}

function end({ followed }: State, name: string): void {
  void followed.get(name)?.kind.stop();
  followed.delete(name);
}

/** Follows a kind no more: none of its objects is known. */
function forget(state: State, name: string): void {
  end(state, name);
  for (const key of state.store.objects.keys()) if (kindOf(key) === name) state.store.drop(key);
}

function configure(state: State, settings: AgentSettings): void {
  const { catalog, followed, store, news } = state;
  const { excludedNamespaces } = state.settings.discovery;
  state.settings = settings;
  if (catalog === undefined) return;
  const isReadmitting = excludedNamespaces.some((name) => !settings.discovery.excludedNamespaces.includes(name));
  for (const { type, kind } of [...followed.values()]) {
    kind.sift();
    // The objects of a namespace that is not excluded any more have to be listed again; a narrowed kind still has them.
    if (isReadmitting && type === 'whole' && kind.plan().shown && kind.resource.namespaced) {
      end(state, nameOfKind(kind.resource));
    }
  }
  follow(state, catalog);
  // The ignored fields can differ now.
  for (const { key, stamp } of [...store.objects.values()]) if (stamp !== undefined) store.renew(key);
  news();
}

function ownedOf({ owned, confined }: State, name: string): Owned | undefined {
  const namespaces = owned.get(name);
  if (namespaces === undefined) return undefined;
  return confined.has(name) ? [...namespaces].filter((namespace) => namespace !== '').sort() : 'everywhere';
}

function owns(state: State, places: Iterable<OwnedPlace>): void {
  for (const { kind: name, namespace } of places) {
    const known = state.owned.get(name);
    if (known?.has(namespace) === true) continue;
    state.owned.set(name, (known ?? new Set()).add(namespace));
    if (known !== undefined && !state.confined.has(name)) continue;
    const [group = '', kind = ''] = name.split('/');
    const resource = state.catalog?.find(group, kind);
    if (resource !== undefined) adjust(state, resource);
  }
}

/** Whether nothing excludes an object of others. */
function admits(entry: LiveEntry, { discovery }: AgentSettings): boolean {
  const { namespace } = objectRefOf(entry.key);
  if (discovery.excludedNamespaces.includes(namespace)) return false;
  return !entry.hidden || kindOf(entry.key) === NAMESPACE;
}

/** Waits for conditions that are checked after each reported change. */
function createChanges() {
  let next = Promise.withResolvers<void>();
  return {
    report(): void {
      next.resolve();
      next = Promise.withResolvers();
    },
    async until(condition: () => boolean): Promise<void> {
      while (!condition()) await next.promise;
    },
  };
}
