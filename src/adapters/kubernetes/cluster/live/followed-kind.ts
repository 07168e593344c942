import { AUTOSCALER_KIND } from '../../../../model/objects/autoscalers.ts';
import { nameOfKind, type ObjectKey } from '../../../../model/objects/object-key.ts';
import type { JsonObject } from '../../../../model/text/json.ts';
import { createKindFollower } from '../../api/kind-follower.ts';
import type { ApiResource, FollowerDeps, KindListener } from '../../api/types.ts';
import { FLEET_LABEL } from '../stamp.ts';
import type { Autoscaled } from './autoscaled.ts';
import { isDiscovered } from './discovered-kinds.ts';
import type { LiveEntry, Reading } from './entry.ts';
import type { KindPlan, WholePlan } from './kind-plan.ts';
import { createKindView } from './kind-view.ts';
import type { Connections } from './portions.ts';
import type { LiveStore } from './store.ts';

/** A kind that is followed. */
export interface FollowedKind {
  readonly resource: ApiResource;
  plan(): KindPlan;
  state(): FollowedState;
  /** Why our objects of the kind cannot be followed; undefined: they are. */
  ownProblem(): string | undefined;
  /** Whether all that is followed was listed or cannot be listed. */
  isSettled(): boolean;
  /** Takes the answer to one of our writes. */
  wrote(entry: LiveEntry): void;
  /** Takes the answer to one of our removals. */
  removed(key: ObjectKey, uid: string): void;
  /** Drops the objects that are not kept any more. */
  sift(): void;
  stop(): Promise<void>;
}

export interface FollowedState {
  readonly state: 'pending' | 'complete' | 'unknown';
  readonly message: string;
  /** As in the kind states of the cluster. */
  readonly unlisted?: Readonly<Record<string, string>>;
}

/** What following a kind needs. */
export interface FollowingOptions {
  readonly deps: FollowerDeps;
  readonly store: LiveStore;
  readonly reading: Reading;
  readonly autoscaled: Autoscaled;
  readonly connections: Connections;
  /** Whether nothing excludes an object of others. */
  readonly admits: (entry: LiveEntry) => boolean;
  /** Called after a change that this process did not make itself. */
  readonly news: () => void;
  readonly stateChanged: () => void;
  /** Called if the agent may not list our objects in all namespaces at once: they are to be followed where we own some. */
  readonly confine: () => void;
}

/** Follows all objects of a kind, or those with the label of a fleet, in all namespaces. */
export function followWholeKind(options: FollowingOptions, resource: ApiResource, plan: WholePlan): FollowedKind {
  const { deps, store, reading, admits, news } = options;
  const { type, shown } = plan;
  const stateChanged = (): void => {
    if (type === 'labelled' && resource.namespaced && view.state().isForbidden) options.confine();
    options.stateChanged();
  };
  const keeps = (entry: LiveEntry): boolean => isOurs(entry) || (shown && admits(entry));
  const view = createKindView(store, { resource, reading, keeps, news, stateChanged });
  const listener = nameOfKind(resource) === AUTOSCALER_KIND ? notingTargets(options, view.listener) : view.listener;
  const selector = type === 'labelled' ? { labelSelector: FLEET_LABEL } : {};
  const follower = createKindFollower(deps, { resource, ...selector }, listener);
  follower.start();
  return {
    resource,
    plan: () => plan,
    state: () => {
      const { state, message, isForbidden } = view.state();
      const isGranted = !shown || isDiscovered(resource.group, resource.kind);
      return { state, message: isForbidden && !isGranted ? missingRight(resource) : message };
    },
    ownProblem: () => (!shown && view.state().state === 'unknown' ? view.state().message : undefined),
    isSettled: () => view.state().state !== 'pending',
    wrote: view.wrote,
    removed: view.removed,
    sift: view.sift,
    stop: follower.stop,
  };
}

/** Whether the stamp of the object names it. */
export function isOurs({ stamp, key }: LiveEntry): boolean {
  return stamp?.key === key;
}

/** The right that an agent lacks to follow a kind that not every agent follows, and how it gets it. */
export function missingRight({ resource }: ApiResource, namespace?: string): string {
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
  return `the agent may not list ${resource}${where}: grant it with cluster register --allow care`;
}

/** Notes what an autoscaler scales; undefined: it is gone. Its targets, old and new, are compared with their declarations again. */
export function noteTargets(
  { store, autoscaled, news }: Pick<FollowingOptions, 'store' | 'autoscaled' | 'news'>,
  key: ObjectKey,
  value: JsonObject | undefined,
): void {
  for (const target of autoscaled.note(key, value)) if (store.renew(target)) news();
}

/** A listener that notes the targets of autoscalers as well: whether an object is as declared depends on them. */
function notingTargets(options: FollowingOptions, listener: KindListener): KindListener {
  return {
    ...listener,
    keys: () => [...listener.keys(), ...options.autoscaled.autoscalers()],
    upsert(key, raw) {
      noteTargets(options, key, raw);
      listener.upsert(key, raw);
    },
    gone(key, raw) {
      noteTargets(options, key, undefined);
      listener.gone(key, raw);
    },
  };
}
