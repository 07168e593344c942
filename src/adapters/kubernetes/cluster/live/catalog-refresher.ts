import { backOffMs } from '../../../../model/limits/back-off.ts';
import { loadCatalog } from '../../api/catalog.ts';
import { createKindFollower, type KindFollower } from '../../api/kind-follower.ts';
import type { ApiCatalog, FollowerDeps, KindListener } from '../../api/types.ts';
import { createRedefinedKinds } from './redefined-kinds.ts';

/** A definition changes several times until its kind is served, and discovery offers the kind a moment later. */
const SETTLE_MS = [250, 3_000] as const;
const SETTLED_MS = SETTLE_MS[1];
/** The longest wait for the next try while the kinds cannot be read. */
const MOST_WAIT_MS = 60_000;
const YOUNG_MS = 1_000;
/** No event reports that an aggregated API begins or ends to answer. */
const PERIOD_MS = 600_000;
/** The kinds whose objects decide which kinds a cluster offers. */
const DEFINING = [
  ['apiextensions.k8s.io', 'CustomResourceDefinition'],
  ['apiregistration.k8s.io', 'APIService'],
] as const;

export type CatalogRefresher = ReturnType<typeof createCatalogRefresher>;

/**
 * Reads the kinds that the cluster offers again whenever they may have changed. `changed` is called after each reading. Its
 * `isRedefined` says whether `takeRedefined` has kinds to return.
 */
export function createCatalogRefresher(
  deps: FollowerDeps,
  first: ApiCatalog,
  changed: (catalog: ApiCatalog, isRedefined: boolean) => void,
) {
  const { client, clock, log } = deps;
  let catalog = first;
  let readAt = clock.monotonic();
  let reading: Promise<ApiCatalog> | undefined;
  let followers: readonly KindFollower[] = [];
  let stopped = false;
  const timers = new Map<number, () => void>();
  const redefined = createRedefinedKinds(SETTLED_MS);
  /** Of readings in a row. */
  let failures = 0;

  return { current: () => catalog, refresh, readNow, takeRedefined: redefined.take, start, stop };

  /** Reads the kinds unless that was done less than a second ago. Calls at the same time share one answer. */
  async function refresh(): Promise<ApiCatalog> {
    return clock.monotonic() - readAt < YOUNG_MS ? catalog : await readNow();
  }

  /** Reads the kinds now. Calls at the same time share one answer. */
  function readNow(): Promise<ApiCatalog> {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  async function read(): Promise<ApiCatalog> {
    const begun = clock.monotonic();
    const loaded = await loadCatalog(client, catalog);
    if (loaded.ok) catalog = loaded.value;
    else if (failures === 0)
      log.warn('the kinds that the cluster offers cannot be read anew', { reason: loaded.problem });
    failures = loaded.ok ? 0 : failures + 1;
    readAt = clock.monotonic();
    changed(catalog, loaded.ok && redefined.tell(begun));
    // A change during the wait for this reading may not be used yet, and a failed reading shows nothing.
    if (redefined.isWaiting()) readIn(backOffMs(failures, SETTLED_MS, MOST_WAIT_MS));
    return catalog;
  }

  function start(): void {
    followers = DEFINING.flatMap(([group, kind]) => {
      const resource = catalog.find(group, kind);
      return resource === undefined ? [] : [createKindFollower(deps, { resource }, createListener())];
    });
    for (const follower of followers) follower.start();
    readIn(PERIOD_MS);
  }

  /** The catalog contains the kinds of the first list already. */
  function createListener(): KindListener {
    let isListed = false;
    const notice = (): void => {
      if (isListed) for (const milliseconds of SETTLE_MS) readIn(milliseconds);
    };
    return {
      keys: () => [],
      upsert(key, raw) {
        redefined.seen(key, raw, isListed ? clock.monotonic() : undefined);
        notice();
      },
      gone(key) {
        redefined.gone(key, clock.monotonic());
        notice();
      },
      listEnded(complete) {
        notice();
        isListed ||= complete;
      },
    };
  }

  function readIn(milliseconds: number): void {
    if (stopped || timers.has(milliseconds)) return;
    const cancel = clock.schedule(milliseconds, () => {
      timers.delete(milliseconds);
      if (milliseconds === PERIOD_MS) readIn(PERIOD_MS);
      void readNow();
    });
    timers.set(milliseconds, cancel);
  }

  async function stop(): Promise<void> {
    stopped = true;
    for (const cancel of timers.values()) cancel();
    await Promise.all(followers.map((follower) => follower.stop()));
  }
}
