import { type AgentSettings, NO_SETTINGS } from '../../../../model/agent-settings.ts';
import { kindOf, nameOfKind, type ObjectKey, objectRefOf } from '../../../../model/object-key.ts';
import { createReflector, type ReflectorDeps } from '../../api/reflector.ts';
import type { ApiCatalog, ApiResource, Reflector, ReflectorListener } from '../../api/types.ts';
import { FLEET_LABEL } from '../stamp.ts';
import type { Autoscaled } from './autoscaled.ts';
import { AUTOSCALER, isDiscovered } from './discovered-kinds.ts';
import { keyOfLive, type LiveEntry } from './entry.ts';
import { createKindView, type KindView } from './kind-view.ts';

import type { LiveStore } from './store.ts';

const NAMESPACE = '/Namespace';

/** What is followed of a kind: all its objects, or only what bears the label of a fleet. */
type Extent = 'all' | 'labelled';

/** A kind that is followed. */
export interface KindWatch {
  readonly resource: ApiResource;
  readonly view: KindView;
  /** All its objects are there to be seen; else only ours. */
  readonly shown: boolean;
}

/** Follows the kinds that are to be followed, each on its own. */
export interface KindWatches {
  start(catalog: ApiCatalog): void;
  /** The cluster offers these kinds now; answers whether that changes what is followed. */
  follow(catalog: ApiCatalog): boolean;
  configure(settings: AgentSettings): void;
  owns(kinds: Iterable<string>): void;
  all(): Iterable<KindWatch>;
  /** Resolves when each kind has been listed, or could not be. */
  settled(): Promise<void>;
  /** Not one of them can be followed. */
  allUnknown(): boolean;
  wrote(entry: LiveEntry): void;
  removed(key: ObjectKey, uid: string): void;
  close(): Promise<void>;
}

interface Running extends KindWatch {
  readonly extent: Extent;
  readonly reflector: Reflector;
}

export interface KindWatchesOptions {
  readonly store: LiveStore;
  readonly autoscaled: Autoscaled;
  readonly news: () => void;
  readonly stateChanged: () => void;
}

/** What all of it works on. */
interface Following extends KindWatchesOptions {
  readonly deps: ReflectorDeps;
  readonly running: Map<string, Running>;
  /** Kinds of which we own something. */
  readonly owned: Set<string>;
  /** Who waits for the next change of a state. */
  readonly waiting: Set<() => void>;
  catalog: ApiCatalog | undefined;
  settings: AgentSettings;
  /** What is learned after that starts nothing. */
  closed: boolean;
}

export function createKindWatches(deps: ReflectorDeps, options: KindWatchesOptions): KindWatches {
  const running = new Map<string, Running>();
  const following: Following = {
    ...options,
    deps,
    running,
    owned: new Set(),
    waiting: new Set(),
    catalog: undefined,
    settings: NO_SETTINGS,
    closed: false,
  };
  return {
    start: (first) => void follow(following, first),
    follow: (next) => following.catalog !== undefined && follow(following, next),
    configure: (settings) => configure(following, settings),
    owns: (kinds) => owns(following, kinds),
    all: () => running.values(),
    settled: () => settled(following),
    allUnknown: () => running.size > 0 && [...running.values()].every(({ view }) => view.state().state === 'unknown'),
    wrote: (entry) => {
      const watch = running.get(kindOf(entry.key));
      // Of a kind that cannot be followed, what we know is what we wrote.
      if (watch === undefined) options.store.put(entry);
      else watch.view.wrote(entry);
    },
    removed: (key, uid) => {
      const watch = running.get(kindOf(key));
      if (watch === undefined) options.store.drop(key);
      else watch.view.removed(key, uid);
    },
    close: async () => {
      following.closed = true;
      await Promise.all([...running.values()].map(({ reflector }) => reflector.stop()));
      running.clear();
      for (const resolve of following.waiting) resolve();
    },
  };
}

function follow(following: Following, next: ApiCatalog): boolean {
  const before = following.catalog;
  following.catalog = next;
  let changed = false;
  for (const resource of next.preferred) {
    // A kind that is back is looked for at once, whatever the pause after the last failure.
    if (before?.find(resource.group, resource.kind) === undefined) end(following, nameOfKind(resource));
    changed = adjust(following, resource) || changed;
  }
  return changed;
}

/** Makes a kind be followed as it is to be; answers whether that was a change. */
function adjust(following: Following, resource: ApiResource): boolean {
  if (following.closed) return false;
  const name = nameOfKind(resource);
  const wanted = extentOf(following, resource);
  const now = following.running.get(name);
  const shown = isShown(following, resource);
  const same = now?.extent === wanted && now?.resource.version === resource.version && now.shown === shown;
  if (same || (now === undefined && wanted === undefined)) return false;
  end(following, name);
  if (wanted !== undefined) begin(following, resource, wanted);
  else forgetAll(following, name);
  return true;
}

function end({ running }: Following, name: string): void {
  void running.get(name)?.reflector.stop();
  running.delete(name);
}

function extentOf(following: Following, resource: ApiResource): Extent | undefined {
  const { verbs } = resource;
  if (!verbs.includes('list') || !verbs.includes('watch')) return undefined;
  if (nameOfKind(resource) === AUTOSCALER || isShown(following, resource)) return 'all';
  return following.owned.has(nameOfKind(resource)) ? 'labelled' : undefined;
}

/** Namespaces in any case: what they say decides about all that lies in them. */
function isShown({ settings }: Following, resource: ApiResource): boolean {
  const { group, kind } = resource;
  if (nameOfKind(resource) === NAMESPACE) return true;
  const { additionalKinds = [], excludedKinds } = settings.discovery;
  const name = nameOfKind(resource);
  return (isDiscovered(group, kind) || additionalKinds.includes(name)) && !excludedKinds.includes(name);
}

function begin(following: Following, resource: ApiResource, extent: Extent): void {
  const { deps, store, news, running } = following;
  const shown = isShown(following, resource);
  const view = createKindView(store, {
    resource,
    keeps: (entry) => keeps(following, entry, shown),
    news,
    stateChanged: () => {
      following.stateChanged();
      for (const resolve of following.waiting) resolve();
    },
  });
  const isAutoscaler = nameOfKind(resource) === AUTOSCALER;
  const listener = isAutoscaler ? noteAutoscalers(following, view.listener, resource) : view.listener;
  const selector = extent === 'labelled' ? { labelSelector: FLEET_LABEL } : {};
  const reflector = createReflector(deps, { resource, ...selector }, listener);
  running.set(nameOfKind(resource), { resource, view, shown, extent, reflector });
  reflector.start();
}

/** Ours always; of others what is discovered and not to be left out. */
function keeps({ settings }: Following, entry: LiveEntry, shown: boolean): boolean {
  if (entry.stamp?.key === entry.key) return true;
  const { namespace } = objectRefOf(entry.key);
  if (!shown || settings.discovery.excludedNamespaces.includes(namespace)) return false;
  return !entry.hidden || kindOf(entry.key) === NAMESPACE;
}

async function settled({ running, waiting }: Following): Promise<void> {
  while ([...running.values()].some(({ view }) => view.state().state === 'pending')) {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        waiting.delete(done);
        resolve();
      };
      waiting.add(done);
    });
  }
}

function configure(following: Following, settings: AgentSettings): void {
  const { catalog, running, store, news } = following;
  const before = following.settings.discovery.excludedNamespaces;
  following.settings = settings;
  if (catalog === undefined) return;
  const readmitted = before.some((name) => !settings.discovery.excludedNamespaces.includes(name));
  for (const { resource, view, shown } of [...running.values()]) {
    view.sift();
    // What was passed over is listed again.
    if (readmitted && shown && resource.namespaced) end(following, nameOfKind(resource));
  }
  follow(following, catalog);
  // Which fields are left alone may be others now.
  renew(
    following,
    [...store.objects.values()].filter(({ stamp }) => stamp !== undefined).map(({ key }) => key),
  );
  news();
}

function owns(following: Following, kinds: Iterable<string>): void {
  for (const name of kinds) {
    if (following.owned.has(name)) continue;
    following.owned.add(name);
    const [group = '', kind = ''] = name.split('/');
    const resource = following.catalog?.find(group, kind);
    if (resource !== undefined) adjust(following, resource);
  }
}

function forgetAll({ store }: Following, name: string): void {
  for (const key of [...store.objects.keys()].filter((each) => kindOf(each) === name)) store.drop(key);
}

function noteAutoscalers(following: Following, listener: ReflectorListener, resource: ApiResource): ReflectorListener {
  const { autoscaled } = following;
  const unseen = new Set<ObjectKey>();
  return {
    ...listener,
    listing: () => {
      for (const key of autoscaled.autoscalers()) unseen.add(key);
      listener.listing();
    },
    upsert: (raw) => {
      const key = keyOfLive(raw, resource);
      unseen.delete(key);
      renew(following, autoscaled.note(key, raw));
      listener.upsert(raw);
    },
    listed: (version) => {
      for (const key of unseen) renew(following, autoscaled.note(key, undefined));
      unseen.clear();
      listener.listed(version);
    },
    listFailed: () => {
      unseen.clear();
      listener.listFailed();
    },
    removed: (raw) => {
      renew(following, autoscaled.note(keyOfLive(raw, resource), undefined));
      listener.removed(raw);
    },
  };
}

/** Whether an object is as declared depends on who scales it. */
function renew({ store, news }: Following, keys: readonly ObjectKey[]): void {
  for (const key of keys) {
    const entry = store.objects.get(key);
    if (entry === undefined) continue;
    store.renew(key, entry.again());
    news();
  }
}
