import { engineKindOf, engineKindRow } from '../../../model/fleet/engine-kinds.ts';
import { backOffMs } from '../../../model/limits/back-off.ts';
import {
  metadataOf,
  nameOfKind,
  type ObjectKey,
  type ObjectRef,
  refOfObject,
} from '../../../model/objects/object-key.ts';
import { withoutServerFields } from '../../../model/objects/server-fields.ts';
import { isJsonObject, type JsonObject, jsonEquals, objectsOf, textOf, textsOf } from '../../../model/text/json.ts';
import { given } from '../../../model/values/given.ts';
import { unreachable } from '../../../model/values/result.ts';
import type { CustomResource, CustomResourceKindState, CustomResources } from '../../../ports/custom-resources.ts';
import { createKindFollower, type KindFollower } from '../api/kind-follower.ts';
import type { ApiResource, FollowerDeps, KindListener, KubeClient } from '../api/types.ts';

/** Custom resources on an API server. */
export interface KubernetesCustomResources extends CustomResources {
  /** A followed kind (`group/Kind`) as the server offers it; undefined while it does not. */
  resourceOf(kind: string): ApiResource | undefined;
}

/** Follows kinds of custom resources on an API server. Without `namespaces`: in all of them. */
export function createCustomResources(
  deps: FollowerDeps,
  { kinds, namespaces }: { readonly kinds: readonly ResourceKind[]; readonly namespaces?: readonly string[] },
): KubernetesCustomResources {
  let changed: (key?: ObjectKey) => void = () => undefined;
  const objects = new Map<ObjectKey, CustomResource>();
  const followed = kinds.map((kind) => createResourceKind(deps, { kind, namespaces, objects }, (key) => changed(key)));
  return {
    start(listener) {
      changed = listener;
      for (const kind of followed) kind.start();
    },
    state: () => ({ kinds: followed.map((kind) => kind.state()), objects }),
    resourceOf: (name) => followed.find((kind) => kind.state().kind === name)?.resource(),
    async stop() {
      await Promise.all(followed.map((kind) => kind.stop()));
    },
  };
}

interface ResourceKindOptions {
  readonly kind: ResourceKind;
  /** Undefined: all namespaces. */
  readonly namespaces: readonly string[] | undefined;
  /** The custom resources of all kinds. Only custom resources of this kind are written here. */
  readonly objects: Map<ObjectKey, CustomResource>;
}

type Listing = Omit<CustomResourceKindState, 'kind'>;

interface State extends ResourceKindOptions {
  readonly deps: FollowerDeps;
  readonly changed: (key?: ObjectKey) => void;
  /** Objects that were reported as deleted. They are gone when the kind itself is seen to stay. */
  readonly doubted: Set<ObjectKey>;
  /** When the first of them was reported; monotonic milliseconds. */
  doubtedSince: number;
  /** One per follower, with its state. */
  listings: readonly Listing[];
  followers: readonly KindFollower[];
  state: CustomResourceKindState;
  resource: ApiResource | undefined;
  failures: number;
  isLooking: boolean;
  looksAgain: boolean;
  cancel: () => void;
  isStopped: boolean;
}

/**
 * Deletions within this time of each other are one, also if kubectl deletes over a slow connection. The time is long enough for an
 * API server to report that a definition is being deleted, after it has deleted the first objects.
 */
const DOUBT_MS = 1_000;
/** Limits the doubt where objects are deleted all the time. */
const LONGEST_DOUBT_MS = 30_000;
const MISSING_MS = 10_000;
const LEAVING_MS = 1_000;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;

const LEAVING = 'its CustomResourceDefinition is being deleted; its objects stay as they were read last';
const NOT_INSTALLED =
  'not installed; install the CustomResourceDefinitions (kubectl apply --server-side -f deploy/crds), or leave the kind out of the kinds of the source';

/**
 * Follows the custom resources of one kind. Objects that are deleted together with their CustomResourceDefinition stay as
 * they were read last. `changed` is called with the key of an object, or without one after a change of the kind's state.
 */
export function createResourceKind(
  deps: FollowerDeps,
  options: ResourceKindOptions,
  changed: (key?: ObjectKey) => void,
) {
  const state: State = {
    ...options,
    deps,
    changed,
    doubted: new Set(),
    doubtedSince: 0,
    listings: [],
    followers: [],
    state: { kind: nameOfKind(options.kind), state: 'pending', message: 'not listed yet' },
    resource: undefined,
    failures: 0,
    isLooking: false,
    looksAgain: false,
    cancel: () => undefined,
    isStopped: false,
  };
  return {
    state: () => state.state,
    /** Undefined while the kind is not offered. */
    resource: () => state.resource,
    start: () => lookIn(state, 0),
    async stop(): Promise<void> {
      state.isStopped = true;
      state.cancel();
      await unfollow(state);
    },
  };
}

function lookIn(state: State, milliseconds: number): void {
  if (state.isStopped) return;
  state.cancel();
  state.cancel = state.deps.clock.schedule(milliseconds, () => void look(state));
}

/** Looks whether the API server offers the kind, one look at a time, and acts on the answer. */
async function look(state: State): Promise<void> {
  state.looksAgain = true;
  if (state.isLooking) return;
  state.isLooking = true;
  while (state.looksAgain && !state.isStopped) {
    state.looksAgain = false;
    // Objects that are doubted during the look need a later look.
    const doubted = [...state.doubted];
    const offered = await lookUpKind(state.deps.client, state.kind);
    if (!state.isStopped) await actOn(state, offered, doubted);
  }
  state.isLooking = false;
}

async function actOn(state: State, offered: OfferedKind, doubted: readonly ObjectKey[]): Promise<void> {
  switch (offered.type) {
    case 'offered':
      state.failures = 0;
      state.resource = offered.resource;
      for (const key of doubted) if (state.doubted.has(key)) state.objects.delete(key);
      if (state.followers.length === 0) follow(state, offered.resource);
      for (const key of doubted) if (state.doubted.delete(key)) state.changed(key);
      reportListings(state);
      state.doubtedSince = state.deps.clock.monotonic();
      if (state.doubted.size > 0) lookIn(state, DOUBT_MS);
      return;
    case 'missing':
    case 'leaving': {
      const isMissing = offered.type === 'missing';
      state.resource = undefined;
      state.doubted.clear();
      await unfollow(state);
      report(state, 'unknown', isMissing ? NOT_INSTALLED : LEAVING);
      lookIn(state, isMissing ? MISSING_MS : LEAVING_MS);
      return;
    }
    case 'unreadable': {
      const pause = backOffMs(state.failures, FIRST_RETRY_MS, LONGEST_RETRY_MS);
      state.failures += 1;
      if (state.doubted.size === 0 && state.followers.length > 0) return;
      report(state, 'unknown', `it is not known whether the kind is offered: ${offered.message}`);
      lookIn(state, pause * (0.5 + 0.5 * state.deps.random.next()));
      return;
    }
    default:
      unreachable(offered);
  }
}

function follow(state: State, resource: ApiResource): void {
  const { deps, namespaces = [undefined] } = state;
  const listings = namespaces.map((): Listing => ({ state: 'pending', message: 'being listed' }));
  state.listings = listings;
  state.followers = namespaces.map((namespace, index) => {
    const noteState: KindListener['state'] = (next, message) => {
      listings[index] = { state: next, message };
      // The kind may not be offered any more.
      if (next === 'unknown') lookIn(state, 0);
      reportListings(state);
    };
    const within = given({ namespace });
    return createKindFollower(deps, { resource, ...within }, { ...listenerOf(state), state: noteState });
  });
  for (const follower of state.followers) follower.start();
}

async function unfollow(state: State): Promise<void> {
  const { followers } = state;
  state.followers = [];
  state.listings = [];
  await Promise.all(followers.map((follower) => follower.stop()));
}

function listenerOf(state: State): KindListener {
  const { objects, doubted, deps } = state;
  return {
    keys: () => objects.keys(),
    upsert(key, object) {
      const ref = refOfObject(object);
      if (!ref.ok) {
        deps.log.warn('a custom resource cannot be read', { detail: ref.problem });
        return;
      }
      doubted.delete(key);
      if (isLiveOfPod(ref.value, object)) {
        if (objects.delete(key)) state.changed(key);
        return;
      }
      const before = objects.get(key);
      const resource = customResourceOf(key, object, before);
      if (before?.uid === resource.uid && before.resourceVersion === resource.resourceVersion) return;
      objects.set(key, resource);
      state.changed(key);
    },
    gone(key) {
      if (!objects.has(key)) return;
      const now = deps.clock.monotonic();
      if (doubted.size === 0) state.doubtedSince = now;
      doubted.add(key);
      lookIn(state, Math.min(DOUBT_MS, Math.max(0, state.doubtedSince + LONGEST_DOUBT_MS - now)));
    },
  };
}

/** Whether the object is live state of its cluster, not a declaration. */
function isLiveOfPod({ group, kind }: ObjectRef, object: JsonObject): boolean {
  const id = engineKindOf(group, kind);
  if (id === undefined || engineKindRow(id).isLiveOfPod !== true) return false;
  return objectsOf(metadataOf(object).ownerReferences).some(
    (owner) => owner.kind === 'Pod' && owner.apiVersion === 'v1',
  );
}

/** Reports the state of all listings together. */
function reportListings(state: State): void {
  const { listings, doubted } = state;
  if (listings.length === 0) return;
  const unknown = listings.find((listing) => listing.state === 'unknown');
  if (unknown !== undefined) {
    report(state, 'unknown', unknown.message);
    return;
  }
  // A kind that is offered again is not complete while it has objects that may be gone.
  const isSettled = doubted.size === 0 || state.state.state === 'complete';
  if (isSettled && listings.every((listing) => listing.state === 'complete')) report(state, 'complete', '');
}

function report(state: State, next: CustomResourceKindState['state'], message: string): void {
  const { kind, ...before } = state.state;
  if (before.state === next && before.message === message) return;
  state.state = { kind, state: next, message };
  state.changed();
}

/** Returns the stored part of an API object. An unchanged value keeps its identity, so that a new status alone is no change. */
function customResourceOf(key: ObjectKey, object: JsonObject, before: CustomResource | undefined): CustomResource {
  const { status, ...declared } = object;
  const metadata = metadataOf(object);
  const value: JsonObject = { ...declared, metadata: withoutServerFields(metadata, textOf(object.kind)) };
  return {
    key,
    uid: textOf(metadata.uid),
    resourceVersion: textOf(metadata.resourceVersion),
    generation: typeof metadata.generation === 'number' ? metadata.generation : 0,
    value: before !== undefined && jsonEquals(before.value, value) ? before.value : value,
    status: isJsonObject(status) ? status : undefined,
  };
}

/** A kind in the version that is read. */
export interface ResourceKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Whether the API server offers a kind. `leaving`: its definition is being deleted, and its objects with it. */
type OfferedKind =
  | { readonly type: 'offered'; readonly resource: ApiResource }
  | { readonly type: 'missing' | 'leaving' }
  | { readonly type: 'unreadable'; readonly message: string };

/** Asks for one kind, which every user of an API server may. The answer is newer than aggregated discovery. */
async function lookUpKind(client: KubeClient, { group, version, kind }: ResourceKind): Promise<OfferedKind> {
  const path = `/apis/${encodeURIComponent(group)}/${encodeURIComponent(version)}`;
  const answer = await client.request({ method: 'GET', path });
  switch (answer.type) {
    case 'unreachable':
      return { type: 'unreadable', message: answer.message };
    case 'refused':
      return answer.status === 404 ? { type: 'missing' } : { type: 'unreadable', message: answer.refusal.message };
    case 'ok':
      break;
  }
  if (!Array.isArray(answer.body.resources)) return { type: 'unreadable', message: `${path} is no list of kinds` };
  const listed = objectsOf(answer.body.resources);
  const found = listed.find((each) => textOf(each.kind) === kind && !textOf(each.name).includes('/'));
  if (found === undefined) return { type: 'missing' };
  const resource = textOf(found.name);
  const verbs = textsOf(found.verbs);
  // While a definition is being deleted, its objects can be read and not be created.
  if (!verbs.includes('create')) return { type: 'leaving' };
  // A subresource is listed as `PLURAL/NAME`.
  const prefix = `${resource}/`;
  const names = listed.map(({ name }) => textOf(name)).filter((name) => name.startsWith(prefix));
  const subresources = names.map((name) => name.slice(prefix.length));
  const offered = { group, version, kind, resource, namespaced: found.namespaced === true, verbs, subresources };
  return { type: 'offered', resource: offered };
}
