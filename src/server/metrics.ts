import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ClusterView, FleetView } from './api.ts';

/** The relay at the moment of asking; the figures count from the start of the process. */
export interface RelayView {
  readonly clients: readonly { readonly cluster: string; readonly push: boolean; readonly pull: boolean }[];
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly outputsAccepted: number;
  readonly outputsRejected: number;
  readonly inputDeltas: number;
  readonly results: number;
  /** Streams that have ended, by reason. */
  readonly ended: Readonly<Record<string, number>>;
}

/** What the metrics show; asked once at each scrape, so nothing is counted twice. */
export interface MetricsDeps {
  readonly fleet: () => FleetView;
  readonly relay: () => RelayView;
}

/** The server's metrics. What happens is counted by calling these; what is, is read when somebody scrapes. */
export interface ServerMetrics {
  /** Everything, in the Prometheus text format. */
  text(): Promise<string>;
  /** The engine committed: how long it took and how many functions it called. */
  engineCommit(seconds: number, computed: number): void;
}

const COMMIT_BUCKETS = [0.000_05, 0.000_25, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10];

/** Makes the metrics in a registry of their own. */
export function createServerMetrics(deps: MetricsDeps, version: string): ServerMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const scrape: { fleet: FleetView; relay: RelayView } = { fleet: deps.fleet(), relay: deps.relay() };
  relayMetrics(registry, scrape);
  fleetGauges(registry, scrape, version);
  sourceGauges(registry, scrape);
  const text = (): Promise<string> => {
    scrape.fleet = deps.fleet();
    scrape.relay = deps.relay();
    return registry.metrics();
  };
  return { text, ...counters(registry) };
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

/** What is shown at one scrape. */
interface Scrape {
  readonly fleet: FleetView;
  readonly relay: RelayView;
}

function relayMetrics(registry: Registry, scrape: Scrape): void {
  const connected = (name: string, help: string, of: 'push' | 'pull'): void =>
    gauge(registry, name, help, ['cluster'], () =>
      scrape.relay.clients.map((client) => [{ cluster: client.cluster }, flag(client[of])]),
    );
  connected('relay_push_clients_connected', 'Connected relay push clients.', 'push');
  connected('relay_pull_clients_connected', 'Connected relay pull clients.', 'pull');
  gauge(
    registry,
    'relay_push_clients_warmed',
    'Relay push clients that have sent a complete snapshot.',
    ['cluster'],
    () => scrape.fleet.clusters.map(({ name, warm }) => [{ cluster: name }, flag(warm)]),
  );
  total(registry, 'fleetrelay_relay_bytes_total', 'Bytes on the relay, by direction.', ['direction'], () => [
    [{ direction: 'in' }, scrape.relay.bytesIn],
    [{ direction: 'out' }, scrape.relay.bytesOut],
  ]);
  total(registry, 'fleetrelay_output_deltas_total', 'Output deltas answered, by the answer.', ['outcome'], () => [
    [{ outcome: 'accepted' }, scrape.relay.outputsAccepted],
    [{ outcome: 'rejected' }, scrape.relay.outputsRejected],
  ]);
  total(registry, 'fleetrelay_input_deltas_total', 'Input deltas taken.', [], () => [[{}, scrape.relay.inputDeltas]]);
  total(registry, 'fleetrelay_results_total', 'Results of objects taken.', [], () => [[{}, scrape.relay.results]]);
  total(registry, 'fleetrelay_relay_streams_ended_total', 'Relay streams that have ended.', ['reason'], () =>
    Object.entries(scrape.relay.ended).map(([reason, count]) => [{ reason }, count]),
  );
}

/** A counter that somebody else counts: shown as it is at each scrape. */
function total<Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly Label[],
  samples: () => Iterable<readonly [labels: Readonly<Record<Label, string>>, value: number]>,
): void {
  new Counter<Label>({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      this.reset();
      for (const [labels, value] of samples()) this.inc(labels, value);
    },
  });
}

function fleetGauges(registry: Registry, scrape: Scrape, version: string): void {
  const fleet = (): FleetView => scrape.fleet;
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

function sourceGauges(registry: Registry, scrape: Scrape): void {
  const fleet = (): FleetView => scrape.fleet;
  const states = ['pending', 'synced', 'failing', 'refused'] as const;
  gauge(registry, 'fleetrelay_source_state', '1 for the state that a source is in.', ['source', 'state'], () =>
    fleet().sources.flatMap((source) =>
      states.map((state) => [{ source: source.name, state }, flag(source.state === state)] as const),
    ),
  );
  gauge(registry, 'fleetrelay_source_partial', '1 if a file of the admitted revision cannot be read.', ['source'], () =>
    fleet().sources.map((source) => [{ source: source.name }, flag(source.partial)]),
  );
  gauge(registry, 'fleetrelay_status_branch_state', '1 for the state that the status branch is in.', ['state'], () => {
    const { statusBranch } = fleet();
    return statusBranch === null ? [] : states.map((state) => [{ state }, flag(statusBranch.state === state)]);
  });
}

function counters(registry: Registry): Omit<ServerMetrics, 'text'> {
  const registers = [registry];
  const computed = new Counter({
    name: 'fleetrelay_engine_computed_total',
    help: 'Functions that the engine has called.',
    registers,
  });
  const commits = new Histogram({
    name: 'fleetrelay_engine_commit_seconds',
    help: 'Time that a commit of the engine takes.',
    buckets: COMMIT_BUCKETS,
    registers,
  });
  return {
    engineCommit: (seconds, functions) => {
      commits.observe(seconds);
      computed.inc(functions);
    },
  };
}
