import { type AgentSettings, NO_SETTINGS } from '../../../../model/agent-settings.ts';
import type { JsonObject } from '../../../../model/json.ts';
import { kindOf, nameOfKind, type ObjectKey, objectRefOf } from '../../../../model/object-key.ts';
import { createKindFollower, type KindFollower } from '../../api/kind-follower.ts';
import type { ApiCatalog, ApiResource, FollowerDeps, KindListener } from '../../api/types.ts';
import { FLEET_LABEL } from '../stamp.ts';
import type { Autoscaled } from './autoscaled.ts';
import { AUTOSCALER, isDiscovered } from './discovered-kinds.ts';
import type { LiveEntry } from './entry.ts';
import { createKindView, type KindView } from './kind-view.ts';
import type { LiveStore } from './store.ts';

const NAMESPACE = '/Namespace';

/** A kind that is followed. */
interface FollowedKind {
  readonly resource: ApiResource;
  readonly view: KindView;
  /** Objects of all owners are reported; else only those with our stamp. */
  readonly shown: boolean;
  /** All objects are followed, or those with the label of a fleet. */
  readonly extent: 'all' | 'labelled';
  readonly follower: KindFollower;
}

export interface KindsOptions {
  readonly store: LiveStore;
  readonly autoscaled: Autoscaled;
  /** Called after a change that this process did not make itself. */
  readonly news: () => void;
  readonly stateChanged: () => void;
}

export type Kinds = ReturnType<typeof createKinds>;

interface State extends KindsOptions {
  readonly deps: FollowerDeps;
  readonly followed: Map<string, FollowedKind>;
  readonly owned: Set<string>;
  readonly changes: ReturnType<typeof createChanges>;
  catalog: ApiCatalog | undefined;
  settings: AgentSettings;
  isClosed: boolean;
}

/**
 * Follows each kind that is discovered or of which we own an object, independently of the others. Kinds by name:
 * `group/Kind`.
 */
export function createKinds(deps: FollowerDeps, options: KindsOptions) {
  const { store } = options;
  const followed = new Map<string, FollowedKind>();
  const changes = createChanges();
  const unset = { catalog: undefined, settings: NO_SETTINGS, isClosed: false };
  const state: State = { ...options, ...unset, deps, followed, changes, owned: new Set() };
  const states = () => [...followed.values()].map(({ view }) => view.state().state);
  return {
    follow: (catalog: ApiCatalog) => follow(state, catalog),
    configure: (settings: AgentSettings) => configure(state, settings),
    owns: (kinds: Iterable<string>) => owns(state, kinds),
    all: () => followed.values(),
    /** Resolves when each kind was listed, or cannot be listed. */
    settled: () => changes.until(() => !states().includes('pending')),
    /** No kind can be followed. */
    allUnknown: () => followed.size > 0 && states().every((each) => each === 'unknown'),
    wrote(entry: LiveEntry): void {
      const kind = followed.get(kindOf(entry.key));
      // Objects of a kind that cannot be followed are known from our writes alone.
      if (kind === undefined) store.put(entry);
      else kind.view.wrote(entry);
    },
    removed(key: ObjectKey, uid: string): void {
      const kind = followed.get(kindOf(key));
      if (kind === undefined) store.drop(key);
      else kind.view.removed(key, uid);
    },
    async close(): Promise<void> {
      state.isClosed = true;
      await Promise.all([...followed.values()].map(({ follower }) => follower.stop()));
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
  return isChanged;
}

/** Follows a kind as it should be followed now. Returns whether that is a change. */
function adjust(state: State, resource: ApiResource): boolean {
  const { followed, settings, owned, store } = state;
  if (state.isClosed) return false;
  const name = nameOfKind(resource);
  const extent = extentOf(resource, settings, owned);
  const shown = isShown(resource, settings);
  const now = followed.get(name);
  if (now === undefined && extent === undefined) return false;
  if (now?.extent === extent && now?.resource.version === resource.version && now.shown === shown) return false;
  end(state, name);
  if (extent !== undefined) begin(state, resource, extent, shown);
  else for (const key of store.objects.keys()) if (kindOf(key) === name) store.drop(key);
  return true;
}

function begin(state: State, resource: ApiResource, extent: FollowedKind['extent'], shown: boolean): void {
  const { deps, store, news } = state;
  const view = createKindView(store, {
    resource,
    keeps: (entry) => keeps(entry, shown, state.settings),
    news,
    stateChanged: () => {
      state.stateChanged();
      state.changes.report();
    },
  });
  const listener = nameOfKind(resource) === AUTOSCALER ? notingTargets(state, view.listener) : view.listener;
  const selector = extent === 'labelled' ? { labelSelector: FLEET_LABEL } : {};
  const follower = createKindFollower(deps, { resource, ...selector }, listener);
  state.followed.set(nameOfKind(resource), { resource, view, shown, extent, follower });
  follower.start();
}

function end({ followed }: State, name: string): void {
  void followed.get(name)?.follower.stop();
  followed.delete(name);
}

function configure(state: State, settings: AgentSettings): void {
  const { catalog, followed, store, news } = state;
  const { excludedNamespaces } = state.settings.discovery;
  state.settings = settings;
  if (catalog === undefined) return;
  const isReadmitting = excludedNamespaces.some((name) => !settings.discovery.excludedNamespaces.includes(name));
  for (const { resource, view, shown } of [...followed.values()]) {
    view.sift();
    // The objects of a namespace that is not excluded any more have to be listed again.
    if (isReadmitting && shown && resource.namespaced) end(state, nameOfKind(resource));
  }
  follow(state, catalog);
  // The ignored fields can differ now.
  for (const { key, stamp } of [...store.objects.values()]) if (stamp !== undefined) store.renew(key);
  news();
}

function owns(state: State, kinds: Iterable<string>): void {
  for (const name of kinds) {
    if (state.owned.has(name)) continue;
    state.owned.add(name);
    const [group = '', kind = ''] = name.split('/');
    const resource = state.catalog?.find(group, kind);
    if (resource !== undefined) adjust(state, resource);
  }
}

function extentOf(
  resource: ApiResource,
  settings: AgentSettings,
  owned: ReadonlySet<string>,
): FollowedKind['extent'] | undefined {
  const { verbs } = resource;
  if (!verbs.includes('list') || !verbs.includes('watch')) return undefined;
  if (nameOfKind(resource) === AUTOSCALER || isShown(resource, settings)) return 'all';
  return owned.has(nameOfKind(resource)) ? 'labelled' : undefined;
}

/** Namespaces are always shown: their annotations and labels select the objects in them. */
function isShown({ group, kind }: ApiResource, { discovery }: AgentSettings): boolean {
  const name = nameOfKind({ group, kind });
  const { additionalKinds = [], excludedKinds } = discovery;
  if (name === NAMESPACE) return true;
  return (
    (isDiscovered(group, kind) || additionalKinds.some((one) => one.kind === name && one.namespaces === undefined)) &&
    !excludedKinds.includes(name)
  );
}

/** Our objects are kept always, those of others if their kind is shown and nothing excludes them. */
function keeps(entry: LiveEntry, shown: boolean, { discovery }: AgentSettings): boolean {
  if (entry.stamp?.key === entry.key) return true;
  const { namespace } = objectRefOf(entry.key);
  if (!shown || discovery.excludedNamespaces.includes(namespace)) return false;
  return !entry.hidden || kindOf(entry.key) === NAMESPACE;
}

/** A listener that notes the targets of autoscalers as well: whether an object is as declared depends on them. */
function notingTargets({ store, autoscaled, news }: State, listener: KindListener): KindListener {
  const note = (key: ObjectKey, raw: JsonObject | undefined): void => {
    for (const target of autoscaled.note(key, raw)) if (store.renew(target)) news();
  };
  return {
    ...listener,
    keys: () => [...listener.keys(), ...autoscaled.autoscalers()],
    upsert(key, raw) {
      note(key, raw);
      listener.upsert(key, raw);
    },
    gone(key, raw) {
      note(key, undefined);
      listener.gone(key, raw);
    },
  };
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
