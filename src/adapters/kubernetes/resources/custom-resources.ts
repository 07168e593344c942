import type { ObjectKey } from '../../../model/object-key.ts';
import type { CustomResource, CustomResourceState, CustomResources } from '../../../ports/custom-resources.ts';
import type { ApiResource } from '../api/types.ts';
import { createKindFollower, type FollowerDeps } from './kind-follower.ts';
import type { ResourceKind } from './offered-kind.ts';

/** Custom resources on an API server, and how each kind of them is reached. */
export interface KubernetesCustomResources extends CustomResources {
  /** `kind` is `group/Kind`; undefined while nobody knows, or if it is none of those that are followed. */
  resourceOf(kind: string): ApiResource | undefined;
}

/**
 * Follows kinds of custom resources on an API server. Objects that vanish are believed to be gone only when their kind is
 * seen to stay: those that go with their CustomResourceDefinition hold as they were read last.
 */
export function createCustomResources(
  deps: FollowerDeps,
  options: {
    readonly kinds: readonly ResourceKind[];
    /** All namespaces if left out. */
    readonly namespaces?: readonly string[];
  },
): KubernetesCustomResources {
  let changed = (): void => undefined;
  let latest: CustomResourceState | undefined;
  const note = (): void => {
    latest = undefined;
    changed();
  };
  const { namespaces } = options;
  const followers = options.kinds.map((kind) => createKindFollower(deps, { kind, namespaces }, note));
  return {
    start: (listener) => {
      changed = listener;
      for (const follower of followers) follower.start();
    },
    state: () => {
      latest ??= {
        kinds: followers.map((follower) => follower.state()),
        objects: new Map<ObjectKey, CustomResource>(followers.flatMap(({ objects }) => [...objects])),
      };
      return latest;
    },
    resourceOf: (kind) => followers.find((follower) => follower.state().kind === kind)?.resource(),
    stop: async () => {
      await Promise.all(followers.map((follower) => follower.stop()));
    },
  };
}
