import { collectDefaultMetrics } from 'prom-client';
import { fleetMetrics } from './fleet-metrics.ts';
import { createMetricSet, type MetricDefinition, type MetricSet } from './metric-set.ts';
import { relayMetrics } from './relay-metrics.ts';
import { replicaMetrics } from './replica-metrics.ts';
import type { Scrape } from './scrape.ts';
import { storeMetrics } from './store-metrics.ts';

/** What the metrics show; asked once at each scrape, so nothing is counted twice. */
export type MetricsDeps = { readonly [Part in keyof Scrape]: () => Scrape[Part] };

/** The server's metrics. What happens is counted by calling these; what is, is read when somebody scrapes. */
export interface ServerMetrics {
  readonly definitions: readonly MetricDefinition[];
  /** Everything, in the Prometheus text format. */
  text(): Promise<string>;
  /** The engine committed: how long it took and how many functions it called. */
  engineCommit(seconds: number, computed: number): void;
  /** A batch was written to the store, or was not. */
  storeWrite(seconds: number): void;
}

const COMMIT_BUCKETS = [0.000_05, 0.000_25, 0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 10];
const WRITE_BUCKETS = [0.000_5, 0.002_5, 0.01, 0.05, 0.25, 1, 5, 15];

/** Makes the metrics in a registry of their own. Nothing is asked before the first scrape. */
export function createServerMetrics(deps: MetricsDeps, version: string): ServerMetrics {
  const set = createMetricSet();
  collectDefaultMetrics({ register: set.registry });
  let shown: Scrape | undefined;
  const scrape = (): Scrape => {
    if (shown === undefined) throw new Error('metrics are shown by their text only');
    return shown;
  };
  set.gauge('fleetrelay_build_info', 'Always 1; the version is in the label.', ['version'], () => [[{ version }, 1]]);
  fleetMetrics(set, scrape);
  relayMetrics(set, scrape);
  replicaMetrics(set, scrape);
  storeMetrics(set, scrape);
  return {
    definitions: set.definitions,
    text: () => {
      shown = { fleet: deps.fleet(), relay: deps.relay(), replica: deps.replica(), store: deps.store() };
      return set.registry.metrics();
    },
    ...counters(set),
  };
}

function counters(set: MetricSet): Pick<ServerMetrics, 'engineCommit' | 'storeWrite'> {
  const computed = set.counter('fleetrelay_engine_computed_total', 'Functions that the engine has called.', []);
  const commit = set.histogram(
    'fleetrelay_engine_commit_seconds',
    'Time that a commit of the engine takes.',
    COMMIT_BUCKETS,
  );
  const write = set.histogram(
    'fleetrelay_store_write_seconds',
    'Time until the store has answered to a batch of writes, also with an error.',
    WRITE_BUCKETS,
  );
  return {
    engineCommit: (seconds, functions) => {
      commit(seconds);
      computed({}, functions);
    },
    storeWrite: write,
  };
}
