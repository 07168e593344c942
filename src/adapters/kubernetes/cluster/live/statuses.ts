import { kindOf, nameOfKind, type ObjectKey, objectOfStatus, statusKey } from '../../../../model/objects/object-key.ts';
import { createKindFollower, type KindFollower } from '../../api/kind-follower.ts';
import type { ApiCatalog, ApiResource, FollowerDeps } from '../../api/types.ts';
import { createStatusStore, type StatusStore } from './status-store.ts';

export type Statuses = ReturnType<typeof createStatuses>;

/** A kind that is followed, in the version of its resource. */
interface Following {
  readonly resource: ApiResource;
  readonly follower: KindFollower;
  isComplete: boolean;
}

/**
 * Follows the objects whose statuses are applied: their metadata alone, which names the manager of each field of their statuses. `news` is
 * called after a change that this process did not make itself.
 */
export function createStatuses(deps: FollowerDeps, news: () => void) {
  const wanted = new Set<ObjectKey>();
  const store = createStatusStore();
  const followed = new Map<string, Following>();
  let catalog: ApiCatalog | undefined;
  let isClosed = false;

  return {
    ...store,
    /** Takes the kinds that the cluster offers; nothing is followed before. */
    follow(next: ApiCatalog): void {
      catalog = next;
      adjust();
    },
    /** Statuses that are applied from now on. The answers to the writes tell of objects that are there already. */
    add(keys: readonly ObjectKey[]): void {
      for (const key of keys) wanted.add(key);
      if (keys.length > 0) adjust();
    },
    /** Statuses that are not applied any more. */
    drop(keys: readonly ObjectKey[]): void {
      for (const key of keys) if (wanted.delete(key)) store.gone(key);
      if (keys.length > 0) adjust();
    },
    /** Whether it is known which objects of the kind exist. */
    isFollowed: (key: ObjectKey): boolean => followed.get(kindOf(key))?.isComplete === true,
    close: async (): Promise<void> => {
      isClosed = true;
      const all = [...followed.values()];
      followed.clear();
      await Promise.all(all.map(({ follower }) => follower.stop()));
    },
  };

  function adjust(): void {
    if (catalog === undefined || isClosed) return;
    const kinds = new Set([...wanted].map(kindOf));
    for (const [kind, { resource, follower }] of followed) {
      const now = catalog.find(resource.group, resource.kind);
      if (kinds.has(kind) && now?.version === resource.version) continue;
      void follower.stop();
      followed.delete(kind);
      // The definition of the kind was removed, and with it every object.
      if (now === undefined) for (const key of store.objects.keys()) if (kindOf(key) === kind) store.gone(key);
    }
    for (const kind of kinds) {
      const [group = '', name = ''] = kind.split('/');
      const resource = catalog.find(group, name);
      if (resource !== undefined && !followed.has(kind))
        followed.set(kind, begin(deps, resource, { wanted, store, news }));
    }
  }
}

function begin(
  deps: FollowerDeps,
  resource: ApiResource,
  {
    wanted,
    store,
    news,
  }: { readonly wanted: ReadonlySet<ObjectKey>; readonly store: StatusStore; readonly news: () => void },
): Following {
  const kind = nameOfKind(resource);
  const follower = createKindFollower(
    deps,
    { resource, metadataOnly: true },
    {
      keys: () => [...store.objects.keys()].filter((key) => kindOf(key) === kind).map(objectOfStatus),
      upsert: (object, raw) => {
        if (wanted.has(statusKey(object)) && store.put(statusKey(object), raw, resource)) news();
      },
      gone: (object) => {
        if (store.gone(statusKey(object))) news();
      },
      state: (state) => {
        following.isComplete = state === 'complete';
      },
    },
  );
  const following: Following = { resource, follower, isComplete: false };
  follower.start();
  return following;
}
