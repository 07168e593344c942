import type { Clock } from '../../../../ports/clock.ts';
import type { Log } from '../../../../ports/log.ts';
import { loadCatalog } from '../../api/catalog.ts';
import { createReflector, type ReflectorDeps } from '../../api/reflector.ts';
import type { ApiCatalog, KubeClient, Reflector, ReflectorListener } from '../../api/types.ts';

/** Which kinds the cluster offers, read anew whenever that may have changed. */
export interface CatalogRefresher {
  current(): ApiCatalog;
  /** Reads it, unless that was done less than a second ago; whoever asks meanwhile shares the answer. */
  refresh(): Promise<ApiCatalog>;
  /** Reads it now; whoever asks meanwhile shares the answer. */
  readNow(): Promise<ApiCatalog>;
  start(): void;
  stop(): Promise<void>;
}

/** A definition changes several times until its kind is served, and is served a moment after it says so. */
const SETTLE_MS = [250, 3_000] as const;
const YOUNG_MS = 1_000;
/** Aggregated APIs come and go without anybody saying so. */
const PERIOD_MS = 600_000;
const SAYS_KINDS = [
  ['apiextensions.k8s.io', 'CustomResourceDefinition'],
  ['apiregistration.k8s.io', 'APIService'],
] as const;

export function createCatalogRefresher(
  deps: ReflectorDeps,
  first: ApiCatalog,
  changed: (catalog: ApiCatalog) => void,
): CatalogRefresher {
  const { client, clock, log } = deps;
  let catalog = first;
  let readAt = clock.monotonic();
  let reading: Promise<ApiCatalog> | undefined;
  let reflectors: readonly Reflector[] = [];
  const timers = new Map<number, () => void>();

  return { current: () => catalog, refresh, readNow, start, stop };

  async function refresh(): Promise<ApiCatalog> {
    if (clock.monotonic() - readAt < YOUNG_MS) return catalog;
    return readNow();
  }

  function readNow(): Promise<ApiCatalog> {
    reading ??= read(client, catalog, log)
      .then((next) => {
        catalog = next;
        readAt = clock.monotonic();
        changed(next);
        return next;
      })
      .finally(() => {
        reading = undefined;
      });
    return reading;
  }

  function start(): void {
    const listener = noticing(() => {
      for (const milliseconds of SETTLE_MS) refreshIn(clock, milliseconds);
    });
    reflectors = SAYS_KINDS.flatMap(([group, kind]) => {
      const resource = catalog.find(group, kind);
      return resource === undefined ? [] : [createReflector(deps, { resource }, listener)];
    });
    for (const reflector of reflectors) reflector.start();
    refreshIn(clock, PERIOD_MS);
  }

  function refreshIn({ schedule }: Clock, milliseconds: number): void {
    if (timers.has(milliseconds)) return;
    const cancel = schedule(milliseconds, () => {
      timers.delete(milliseconds);
      if (milliseconds === PERIOD_MS) refreshIn(clock, PERIOD_MS);
      void readNow();
    });
    timers.set(milliseconds, cancel);
  }

  async function stop(): Promise<void> {
    for (const cancel of timers.values()) cancel();
    await Promise.all(reflectors.map((reflector) => reflector.stop()));
  }
}

async function read(client: KubeClient, before: ApiCatalog, log: Log): Promise<ApiCatalog> {
  const loaded = await loadCatalog(client, before);
  if (loaded.ok) return loaded.value;
  log.warn('the kinds that the cluster offers could not be read anew', { reason: loaded.problem });
  return before;
}

/** The first list says what the catalog says already. */
function noticing(notice: () => void): ReflectorListener {
  let listed = false;
  return {
    listing: () => {},
    upsert: () => {
      if (listed) notice();
    },
    removed: notice,
    listed: () => {
      if (listed) notice();
      listed = true;
    },
    listFailed: () => {},
    state: () => {},
  };
}
