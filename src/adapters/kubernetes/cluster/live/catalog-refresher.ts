import { type JsonObject, objectOf, textOf } from '../../../../model/json.ts';
import { metadataOf } from '../../../../model/object-key.ts';
import { loadCatalog } from '../../api/catalog.ts';
import { createKindFollower, type KindFollower } from '../../api/kind-follower.ts';
import type { ApiCatalog, FollowerDeps, KindListener } from '../../api/types.ts';

/** A definition changes several times until its kind is served, and discovery offers the kind a moment later. */
const SETTLE_MS = [250, 3_000] as const;
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
  const timers = new Map<number, () => void>();
  const redefined = createRedefined(SETTLE_MS.length);

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
    const loaded = await loadCatalog(client, catalog);
    if (loaded.ok) catalog = loaded.value;
    else log.warn('the kinds that the cluster offers could not be read anew', { reason: loaded.problem });
    readAt = clock.monotonic();
    changed(catalog, redefined.tell());
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
        redefined.seen(key, raw, isListed);
        notice();
      },
      gone(key) {
        redefined.gone(key);
        notice();
      },
      listEnded(complete) {
        notice();
        isListed ||= complete;
      },
    };
  }

  function readIn(milliseconds: number): void {
    if (timers.has(milliseconds)) return;
    const cancel = clock.schedule(milliseconds, () => {
      timers.delete(milliseconds);
      if (milliseconds === PERIOD_MS) readIn(PERIOD_MS);
      void readNow();
    });
    timers.set(milliseconds, cancel);
  }

  async function stop(): Promise<void> {
    for (const cancel of timers.values()) cancel();
    await Promise.all(followers.map((follower) => follower.stop()));
  }
}

/**
 * The kinds (`group/Kind`) whose definition was made, changed or removed. Each is told after several readings of the catalog, since the
 * API server does not use a new definition at once.
 */
function createRedefined(times: number) {
  const definitions = new Map<string, { readonly kind: string; readonly generation: string }>();
  const left = new Map<string, number>();
  let told = new Set<string>();
  return {
    /** `isNews`: it was not there at the start. */
    seen(key: string, raw: JsonObject, isNews: boolean): void {
      const { group, names } = objectOf(raw.spec);
      const kind = textOf(objectOf(names).kind);
      if (kind === '') return;
      const definition = { kind: `${textOf(group)}/${kind}`, generation: String(metadataOf(raw).generation) };
      const isChanged = definitions.get(key)?.generation !== definition.generation;
      definitions.set(key, definition);
      if (isNews && isChanged) left.set(definition.kind, times);
    },
    gone(key: string): void {
      const definition = definitions.get(key);
      definitions.delete(key);
      if (definition !== undefined) left.set(definition.kind, times);
    },
    /** The catalog was read. Returns whether there are kinds to take. */
    tell(): boolean {
      for (const [kind, count] of left) {
        told.add(kind);
        if (count > 1) left.set(kind, count - 1);
        else left.delete(kind);
      }
      return told.size > 0;
    },
    /** The kinds that were told since the last call. */
    take(): ReadonlySet<string> {
      const taken = told;
      told = new Set();
      return taken;
    },
  };
}
