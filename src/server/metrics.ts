import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ClusterView, FleetView } from './api.ts';

/** The streams of one cluster's agent at the moment of asking. */
export interface RelayClientView {
  readonly cluster: string;
  readonly push: boolean;
  readonly pull: boolean;
  /** The first complete input snapshot has been received. */
  readonly warmed: boolean;
}

/** What the gauges show; asked at each scrape, so nothing is counted twice. */
export interface MetricsDeps {
  readonly fleet: () => FleetView;
  readonly relayClients: () => readonly RelayClientView[];
}

/** The server's metrics. What happens is counted by calling these; what is, is read when somebody scrapes. */
export interface ServerMetrics {
  /** Everything, in the Prometheus text format. */
  text(): Promise<string>;
  /** An output delta was sent and answered. */
  delta(cluster: string, outcome: 'accepted' | 'rejected' | 'disconnected'): void;
  /** The engine committed: how long it took and how many functions it called. */
  engineCommit(seconds: number, computed: number): void;
  /** A commit on the status branch was pushed, lost a race, or failed. */
  statusCommit(outcome: 'pushed' | 'raced' | 'failed'): void;
  /** A source was looked at. */
  sourceLook(source: string, outcome: 'unchanged' | 'admitted' | 'refused' | 'failed'): void;
}

const COMMIT_BUCKETS = [0.000_05, 0.000_25, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10];

/** Makes the metrics in a registry of their own. */
export function createServerMetrics(deps: MetricsDeps, version: string): ServerMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  relayGauges(registry, deps);
  fleetGauges(registry, deps, version);
  sourceGauges(registry, deps);
  return { text: () => registry.metrics(), ...counters(registry) };
}

/** A gauge whose samples are worked out anew at each scrape, so that what is gone leaves no sample behind. */
function gauge<Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly Label[],
  samples: () => Iterable<readonly [labels: Readonly<Record<Label, string>>, value: number]>,
): void {
  new Gauge<Label>({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      this.reset();
      for (const [labels, value] of samples()) this.set(labels, value);
    },
  });
}

const flag = (value: boolean): number => (value ? 1 : 0);

function relayGauges(registry: Registry, { relayClients }: MetricsDeps): void {
  const perCluster = (name: string, help: string, of: (client: RelayClientView) => boolean): void =>
    gauge(registry, name, help, ['cluster'], () =>
      relayClients().map((client) => [{ cluster: client.cluster }, flag(of(client))]),
    );
  perCluster('relay_push_clients_connected', 'Connected relay push clients.', ({ push }) => push);
  perCluster('relay_push_clients_warmed', 'Relay push clients that have sent a complete snapshot.', (c) => c.warmed);
  perCluster('relay_pull_clients_connected', 'Connected relay pull clients.', ({ pull }) => pull);
}

function fleetGauges(registry: Registry, { fleet }: MetricsDeps, version: string): void {
  gauge(registry, 'fleetrelay_build_info', 'Always 1; the version is in the label.', ['version'], () => [
    [{ version }, 1],
  ]);
  gauge(registry, 'fleetrelay_ready', '1 if the server is ready.', [], () => [[{}, flag(fleet().ready)]]);
  gauge(registry, 'fleetrelay_cluster_in_sync', '1 if the cluster holds what it should.', ['cluster'], () =>
    fleet().clusters.map((cluster) => [{ cluster: cluster.name }, flag(cluster.inSync)]),
  );
  gauge(
    registry,
    'fleetrelay_cluster_objects',
    'Objects that a cluster should hold, by what became of them.',
    ['cluster', 'state'],
    () => fleet().clusters.flatMap(objectSamples),
  );
  gauge(registry, 'fleetrelay_held_removals', 'Removals that a guard holds.', [], () => [
    [{}, fleet().heldRemovals.reduce((sum, { removals }) => sum + removals.length, 0)],
  ]);
  gauge(registry, 'fleetrelay_diagnostics', 'Diagnostics about the desired state.', ['severity'], () =>
    (['error', 'warning'] as const).map((severity) => [
      { severity },
      fleet().diagnostics.filter((diagnostic) => diagnostic.severity === severity).length,
    ]),
  );
}

function objectSamples({ name, counts }: ClusterView): (readonly [{ cluster: string; state: string }, number])[] {
  const states = ['applied', 'failed', 'held', 'pending', 'unreachable'] as const;
  return states.map((state) => [{ cluster: name, state }, counts[state]]);
}

function sourceGauges(registry: Registry, { fleet }: MetricsDeps): void {
  const states = ['pending', 'synced', 'failing', 'refused'] as const;
  gauge(registry, 'fleetrelay_source_state', '1 for the state that a source is in.', ['source', 'state'], () =>
    fleet().sources.flatMap((source) =>
      states.map((state) => [{ source: source.name, state }, flag(source.state === state)] as const),
    ),
  );
  gauge(registry, 'fleetrelay_source_partial', '1 if a file of the admitted revision cannot be read.', ['source'], () =>
    fleet().sources.map((source) => [{ source: source.name }, flag(source.partial)]),
  );
}

function counters(registry: Registry): Omit<ServerMetrics, 'text'> {
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]): Counter<Label> =>
    new Counter({ name, help, labelNames: [...labelNames], registers });
  const deltas = counter('fleetrelay_deltas_total', 'Output deltas sent, by how it ended.', ['cluster', 'outcome']);
  const computed = counter('fleetrelay_engine_computed_total', 'Functions that the engine has called.', []);
  const statuses = counter('fleetrelay_status_commits_total', 'Commits to the status branch.', ['outcome']);
  const looks = counter('fleetrelay_source_looks_total', 'Looks at a source, by how they ended.', [
    'source',
    'outcome',
  ]);
  const commits = new Histogram({
    name: 'fleetrelay_engine_commit_seconds',
    help: 'Time that a commit of the engine takes.',
    buckets: COMMIT_BUCKETS,
    registers,
  });
  return {
    delta: (cluster, outcome) => deltas.inc({ cluster, outcome }),
    engineCommit: (seconds, functions) => {
      commits.observe(seconds);
      computed.inc(functions);
    },
    statusCommit: (outcome) => statuses.inc({ outcome }),
    sourceLook: (source, outcome) => looks.inc({ source, outcome }),
  };
}
