import type { JsonObject } from '../../../model/json.ts';
import { type ObjectKey, objectKey, objectRefOf, refOfObject } from '../../../model/object-key.ts';
import { unreachable } from '../../../model/result.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { CustomResource, CustomResourceKindState } from '../../../ports/custom-resources.ts';
import type { Log } from '../../../ports/log.ts';
import type { Random } from '../../../ports/random.ts';
import { createReflector } from '../api/reflector.ts';
import type { ApiResource, KubeClient, Reflector, ReflectorListener } from '../api/types.ts';
import { lookUpKind, type OfferedKind, type ResourceKind } from './offered-kind.ts';
import { customResourceOf } from './resource-value.ts';

export interface FollowerDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The custom resources of one kind, followed. */
export interface KindFollower {
  readonly objects: ReadonlyMap<ObjectKey, CustomResource>;
  state(): CustomResourceKindState;
  /** How the kind is reached; undefined while nobody knows. */
  resource(): ApiResource | undefined;
  start(): void;
  stop(): Promise<void>;
}

type Listing = { state: CustomResourceKindState['state']; message: string; seen: Set<ObjectKey> | undefined };

interface Following {
  readonly deps: FollowerDeps;
  readonly kind: ResourceKind;
  /** Undefined in it: all namespaces. */
  readonly namespaces: readonly (string | undefined)[];
  readonly changed: () => void;
  readonly objects: Map<ObjectKey, CustomResource>;
  /** Said to be gone. They are so when the kind itself is seen to stay. */
  readonly doubted: Set<ObjectKey>;
  /** When the first of them came; monotonic milliseconds. */
  doubtedSince: number;
  readonly listings: Map<string | undefined, Listing>;
  state: CustomResourceKindState;
  resource: ApiResource | undefined;
  reflectors: readonly Reflector[];
  failures: number;
  examining: boolean;
  examineAgain: boolean;
  cancel: () => void;
  stopped: boolean;
}

/**
 * Deletions that come within this time of each other are one, also those of a kubectl that is far away. It is also long
 * enough for an API server to say that the definition is being deleted, when the objects go because of that.
 */
const DOUBT_MS = 1_000;
/** Where something is deleted all the time, what is gone must be believed to be so at some point. */
const LONGEST_DOUBT_MS = 30_000;
const MISSING_MS = 10_000;
const LEAVING_MS = 1_000;
const MAX_RETRY_MS = 30_000;

/** Follows a kind in all namespaces, or in these. `changed` is called after anything of it has changed. */
export function createKindFollower(
  deps: FollowerDeps,
  options: { readonly kind: ResourceKind; readonly namespaces: readonly string[] | undefined },
  changed: () => void,
): KindFollower {
  const following: Following = {
    deps,
    kind: options.kind,
    namespaces: options.namespaces ?? [undefined],
    changed,
    objects: new Map(),
    doubted: new Set(),
    doubtedSince: 0,
    listings: new Map(),
    state: { kind: `${options.kind.group}/${options.kind.kind}`, state: 'pending', message: 'not listed yet' },
    resource: undefined,
    reflectors: [],
    failures: 0,
    examining: false,
    examineAgain: false,
    cancel: () => undefined,
    stopped: false,
  };
  return {
    objects: following.objects,
    state: () => following.state,
    resource: () => following.resource,
    start: () => examineIn(following, 0),
    stop: async () => {
      following.stopped = true;
      following.cancel();
      await stopReflectors(following);
    },
  };
}

function examineIn(following: Following, milliseconds: number): void {
  if (following.stopped) return;
  following.cancel();
  following.cancel = following.deps.clock.schedule(milliseconds, () => void examine(following));
}

/** Looks whether the kind is there, and acts on it: one look at a time. */
async function examine(following: Following): Promise<void> {
  if (following.examining) {
    following.examineAgain = true;
    return;
  }
  following.examining = true;
  do {
    following.examineAgain = false;
    // What is doubted later needs a later look.
    const doubted = [...following.doubted];
    const offered = await lookUpKind(following.deps.client, following.kind);
    if (following.stopped) return;
    await actOn(following, offered, doubted);
  } while (following.examineAgain && !following.stopped);
  following.examining = false;
}

async function actOn(following: Following, offered: OfferedKind, doubted: readonly ObjectKey[]): Promise<void> {
  switch (offered.type) {
    case 'offered': {
      following.failures = 0;
      following.resource = offered.resource;
      for (const key of doubted) if (following.doubted.delete(key)) following.objects.delete(key);
      if (following.reflectors.length === 0) startReflectors(following, offered.resource);
      publish(following);
      if (doubted.length > 0) following.changed();
      following.doubtedSince = following.deps.clock.monotonic();
      if (following.doubted.size > 0) examineIn(following, DOUBT_MS);
      return;
    }
    case 'missing':
    case 'leaving': {
      // What it had is not gone because it is: it holds as it was seen last.
      following.resource = undefined;
      following.doubted.clear();
      await stopReflectors(following);
      tell(following, 'unknown', offered.type === 'missing' ? NOT_INSTALLED : LEAVING);
      examineIn(following, offered.type === 'missing' ? MISSING_MS : LEAVING_MS);
      return;
    }
    case 'unreadable': {
      following.failures += 1;
      if (following.doubted.size > 0 || following.reflectors.length === 0) {
        tell(following, 'unknown', `it cannot be told whether the kind is there: ${offered.message}`);
        examineIn(following, retryMs(following));
      }
      return;
    }
    default:
      unreachable(offered);
  }
}

const LEAVING = 'its CustomResourceDefinition is being deleted; what it held stays as it was read last';

const NOT_INSTALLED =
  'not installed; install the CustomResourceDefinitions (kubectl apply --server-side -f deploy/crds), or leave the kind out of the kinds of the source';

function retryMs({ failures, deps: { random } }: Following): number {
  return Math.min(MAX_RETRY_MS, 1_000 * 2 ** Math.min(failures - 1, 10)) * (0.5 + 0.5 * random.next());
}

function startReflectors(following: Following, resource: ApiResource): void {
  const { deps, namespaces, listings } = following;
  listings.clear();
  following.reflectors = namespaces.map((namespace) => {
    const listing: Listing = { state: 'pending', message: 'being listed', seen: undefined };
    listings.set(namespace, listing);
    const within = namespace === undefined ? {} : { namespace };
    return createReflector(deps, { resource, ...within }, listenerFor(following, namespace, listing));
  });
  for (const reflector of following.reflectors) reflector.start();
}

async function stopReflectors(following: Following): Promise<void> {
  const { reflectors } = following;
  following.reflectors = [];
  following.listings.clear();
  await Promise.all(reflectors.map((reflector) => reflector.stop()));
}

function listenerFor(following: Following, namespace: string | undefined, listing: Listing): ReflectorListener {
  const { objects, doubted } = following;
  const isMine = (key: ObjectKey): boolean => namespace === undefined || objectRefOf(key).namespace === namespace;
  return {
    listing: () => {
      listing.seen = new Set();
    },
    upsert: (object) => {
      const key = keep(following, object);
      if (key === undefined) return;
      listing.seen?.add(key);
      doubted.delete(key);
    },
    listed: () => {
      const { seen } = listing;
      listing.seen = undefined;
      if (seen === undefined) return;
      for (const key of objects.keys()) if (isMine(key) && !seen.has(key)) doubt(following, key);
    },
    removed: (object) => {
      const ref = refOfObject(object);
      if (!ref.ok) return;
      const key = objectKey(ref.value);
      listing.seen?.delete(key);
      if (objects.has(key)) doubt(following, key);
    },
    listFailed: () => {
      listing.seen = undefined;
    },
    state: (state, message) => {
      listing.state = state;
      listing.message = message;
      // The reason may be that the kind itself is gone.
      if (state === 'unknown') examineIn(following, 0);
      publish(following);
    },
  };
}

function keep(following: Following, object: JsonObject): ObjectKey | undefined {
  const { objects, deps, changed } = following;
  const ref = refOfObject(object);
  const before = ref.ok ? objects.get(objectKey(ref.value)) : undefined;
  const resource = customResourceOf(object, before);
  if (!resource.ok) {
    deps.log.warn('a custom resource cannot be read', { detail: resource.problem });
    return undefined;
  }
  const { key, uid, resourceVersion } = resource.value;
  if (before?.uid !== uid || before.resourceVersion !== resourceVersion) {
    objects.set(key, resource.value);
    changed();
  }
  return key;
}

function doubt(following: Following, key: ObjectKey): void {
  const now = following.deps.clock.monotonic();
  if (following.doubted.size === 0) following.doubtedSince = now;
  following.doubted.add(key);
  examineIn(following, Math.min(DOUBT_MS, Math.max(0, following.doubtedSince + LONGEST_DOUBT_MS - now)));
}

/** What the listings say together. */
function publish(following: Following): void {
  const listings = [...following.listings.values()];
  if (listings.length === 0) return;
  const unknown = listings.find(({ state }) => state === 'unknown');
  if (unknown !== undefined) {
    tell(following, 'unknown', unknown.message);
    return;
  }
  // A kind that comes back must not count as complete with objects that may be gone.
  const isSettled = following.doubted.size === 0 || following.state.state === 'complete';
  if (isSettled && listings.every(({ state }) => state === 'complete')) tell(following, 'complete', '');
}

function tell(following: Following, state: CustomResourceKindState['state'], message: string): void {
  const { state: before } = following;
  if (before.state === state && before.message === message) return;
  following.state = { kind: before.kind, state, message };
  following.changed();
}
