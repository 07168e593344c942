import type { ObjectKey } from '../../../model/object-key.ts';
import type { CustomResource, CustomResources } from '../../../ports/custom-resources.ts';
import type { ApiResource, FollowerDeps } from '../api/types.ts';
import type { ResourceKind } from './offered-kind.ts';
import { createResourceKind } from './resource-kind.ts';

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
