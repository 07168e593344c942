import { collectDefaultMetrics } from 'prom-client';
import type { AgentRefusalView } from '../api/agent-views.ts';
import type { ClusterView, FleetView } from '../api/server-api.ts';
import { parseRfc3339 } from '../model/text/time.ts';
import type { RelayServerStats } from '../relay/server.ts';
import { createMetricSet, type MetricDefinition } from './metric-set.ts';

/** The state that one scrape shows. Counts start with the process. */
export interface Scrape {
  readonly fleet: FleetView;
  readonly relay: Omit<RelayServerStats, 'connectedClusters' | 'streams'>;
  readonly replica: ReplicaFigures;
  readonly store: StoreFigures;
  readonly pullRequests: readonly PullRequestFigure[];
  /** What the metrics of domains show, by their names. */
  readonly ofDomains: ReadonlyMap<string, Reading>;
}

/** How many pull requests of a source had an outcome. */
export interface PullRequestFigure {
  readonly source: string;
  readonly outcome: string;
  readonly count: number;
}

/** The state of this replica. */
export interface ReplicaFigures {
  readonly leads: boolean;
  /** Why nothing new is admitted or sent; empty: it is. */
  readonly problem: string;
  readonly admitted: { readonly epoch: number; readonly sequence: number };
  /** When this replica began to compute from `admitted`: milliseconds since 1970. */
  readonly admittedAt: number;
  /** Replicas whose last sign of life is recent, this one among them. */
  readonly alive: number;
  /** Clusters whose input snapshot this replica has. */
  readonly snapshots: { has(cluster: string): boolean };
  /** Held removals, by the constant reason of the guard. */
  readonly heldByGuard: ReadonlyMap<string, number>;
  /** The numbers of approved removals, and of approved removals that were carried out. */
  readonly approvals: { readonly granted: number; readonly used: number };
  /** Refusals of agents that this replica has seen, by cluster and reason. */
  readonly refusals: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

/** The state of the store. */
export interface StoreFigures {
  /** The last request was answered. */
  readonly up: boolean;
  /** Batches that were written. */
  readonly writes: number;
  /** Batches that were not, by constant reason; `Conflict`: another process has written first. */
  readonly errors: ReadonlyMap<string, number>;
  /** Records that the store had lost and that were written again. */
  readonly refilled: number;
}

/** The server's metrics. */
export interface ServerMetrics {
  readonly definitions: readonly MetricDefinition[];
  /** All metrics in the Prometheus text format. */
  text(scrape: Scrape): Promise<string>;
  /** Counts a commit of the engine: its duration and the number of functions that it called. */
  engineCommit(seconds: number, computed: number): void;
  /** Counts a batch of writes to the store, also one that failed. */
  storeWrite(seconds: number): void;
}

/** The streams of one agent. */
type Client = RelayServerStats['clients'][number];

/** A metric of a domain, and what it shows of the figures that the domain has while it runs. */
export interface DomainMetric<Figures> extends MetricDefinition {
  read(figures: Figures): Reading;
}

/** The value of a metric without labels, or samples: the values of the labels, then the value of the metric. */
export type Reading = number | boolean | Iterable<readonly (string | number | boolean)[]>;

/** Help text, and what a scrape shows. */
type Metric = readonly [help: string, read: (scrape: Scrape) => Reading];

const SOURCE_STATES = ['pending', 'synced', 'failing', 'refused'] as const;
const STATUS_COUNTS = ['total', 'applied', 'failed'] as const;
const OBJECT_STATES = ['applied', 'failed', 'held', 'pending', 'unreachable'] as const;

/** Every metric that is read at a scrape, by name and labels. A name that ends in `_total` is a counter's, others are gauges'. */
const METRICS: Readonly<Record<string, Metric>> = {
  fleetrelay_ready: ['1 if the server is ready.', ({ fleet }) => fleet.ready],
  'fleetrelay_cluster_in_sync{cluster}': ['1 if the cluster holds what it should.', ofClusters(({ inSync }) => inSync)],
  'fleetrelay_cluster_drifted_objects{cluster}': [
    'Applied objects that others have changed or removed since, where drift is only reported.',
    ofClusters(({ drifted }) => drifted),
  ],
  'fleetrelay_cluster_suspended{cluster}': [
    '1 if a person has suspended the cluster.',
    ofClusters(({ suspended }) => suspended !== null),
  ],
  'fleetrelay_cluster_within_limits{cluster}': [
    '0 if the input of the cluster is above a quota, and the input snapshot of before stays.',
    ofClusters(
      ({ conditions }) => !conditions.some(({ type, status }) => type === 'WithinLimits' && status === 'False'),
    ),
  ],
  'fleetrelay_safe_mode_active{cluster}': [
    '1 if safe mode holds changes because the input snapshot of this cluster is missing.',
    ofClusters(({ name }, { fleet }) => fleet.safeMode?.causes.some(({ cluster }) => cluster === name) === true),
  ],
  'fleetrelay_cluster_objects{cluster,state}': [
    'Objects that a cluster should hold, by outcome.',
    ({ fleet }) =>
      fleet.clusters.flatMap(({ name, counts }) => OBJECT_STATES.map((state) => [name, state, counts[state]])),
  ],
  'fleetrelay_cluster_statuses{cluster,state}': [
    'Statuses of objects of others that a cluster should have, and of them those that are applied and those that failed; absent: none.',
    ({ fleet }) =>
      fleet.clusters.flatMap(({ name, statuses }) =>
        statuses === undefined ? [] : STATUS_COUNTS.map((state) => [name, state, statuses[state]]),
      ),
  ],
  'fleetrelay_held_removals{cluster}': [
    'Removals that wait for a person, by cluster.',
    ({ fleet }) => {
      const held = new Map(fleet.clusters.map(({ name }) => [name, 0]));
      for (const { cluster } of fleet.heldRemovals.flatMap(({ removals }) => removals))
        held.set(cluster, (held.get(cluster) ?? 0) + 1);
      return held;
    },
  ],
  'fleetrelay_held_removals_by_guard{guard}': [
    'Removals that wait for a person, by the guard.',
    ({ replica }) => replica.heldByGuard,
  ],
  fleetrelay_removals_approved_total: [
    'Removals that were released by an approval.',
    ({ replica }) => replica.approvals.granted,
  ],
  fleetrelay_approvals_used_total: [
    'Approved removals that were carried out.',
    ({ replica }) => replica.approvals.used,
  ],
  'fleetrelay_source_state{source,state}': [
    '1 for the state that a source is in.',
    ({ fleet }) =>
      fleet.sources.flatMap((source) => SOURCE_STATES.map((state) => [source.name, state, source.state === state])),
  ],
  'fleetrelay_source_partial{source}': [
    '1 if a file of the admitted revision cannot be read.',
    ({ fleet }) => fleet.sources.map(({ name, partial }) => [name, partial]),
  ],
  'fleetrelay_source_suspended{source}': [
    '1 if a person has suspended the source.',
    ({ fleet }) => fleet.sources.map(({ name, suspended }) => [name, suspended !== null]),
  ],
  'fleetrelay_status_branch_state{state}': [
    '1 for the state that the status branch is in.',
    ({ fleet: { statusBranch } }) =>
      statusBranch === null ? [] : SOURCE_STATES.map((state) => [state, statusBranch.state === state]),
  ],
  'fleetrelay_diagnostics{severity}': [
    'Diagnostics about the desired state, by severity.',
    ({ fleet }) =>
      ['error', 'warning'].map((each) => [each, fleet.diagnostics.filter(({ severity }) => severity === each).length]),
  ],
  'relay_push_clients_connected{cluster}': ['Connected relay push clients, by cluster.', ofClients(({ push }) => push)],
  'relay_pull_clients_connected{cluster}': ['Connected relay pull clients, by cluster.', ofClients(({ pull }) => pull)],
  'relay_push_clients_warmed{cluster}': [
    'Connected relay push clients that have sent a complete input snapshot, by cluster.',
    ofClients(({ push, cluster }, { replica }) => push && replica.snapshots.has(cluster)),
  ],
  'fleetrelay_relay_bytes_total{direction}': [
    'Bytes on the relay, by direction.',
    ({ relay }) => [
      ['in', relay.bytesIn],
      ['out', relay.bytesOut],
    ],
  ],
  'fleetrelay_output_deltas_total{outcome}': [
    'Output deltas answered, by the answer.',
    ({ relay }) => [
      ['accepted', relay.outputsAccepted],
      ['rejected', relay.outputsRejected],
    ],
  ],
  fleetrelay_input_deltas_total: ['Input deltas taken.', ({ relay }) => relay.inputDeltas],
  fleetrelay_input_deltas_refused_total: [
    'Input deltas refused because they lead above a quota of their cluster.',
    ({ relay }) => relay.inputDeltasRefused,
  ],
  fleetrelay_results_total: ['Results of objects received.', ({ relay }) => relay.results],
  'fleetrelay_unknown_results_total{cluster}': [
    'Results of objects that the cluster was never sent; they are dropped.',
    ({ relay }) => Object.entries(relay.ofClusters.unknownResults),
  ],
  'fleetrelay_agent_received_bytes_total{cluster}': [
    'Bytes received from the agents of a cluster: the rate names the cluster that floods the server.',
    ({ relay }) => Object.entries(relay.ofClusters.bytesIn),
  ],
  'fleetrelay_agent_decoded_records_total{cluster}': [
    'Records and frames decoded for the agents of a cluster: the rate names the cluster that keeps the server busy.',
    ({ relay }) => Object.entries(relay.ofClusters.decoded),
  ],
  'fleetrelay_agent_streams_total{cluster}': [
    'Streams that the agents of a cluster have opened: the rate names the cluster whose agent reconnects all the time.',
    ({ relay }) => Object.entries(relay.ofClusters.streams),
  ],
  fleetrelay_transfer_memory_bytes: [
    'Memory for transfers of agents that are arriving.',
    ({ relay: { memory } }) => memory.held + memory.queued,
  ],
  fleetrelay_transfers_waiting: ['Transfers of agents that wait for memory.', ({ relay }) => relay.memory.waiting],
  'fleetrelay_relay_streams_ended_total{reason}': [
    'Relay streams that have ended, by reason.',
    ({ relay }) => Object.entries(relay.ended),
  ],
  'fleetrelay_agent_refusals_total{cluster,reason}': [
    'Refusals of agents, by the name of the cluster that they gave and the reason.',
    ({ replica }) =>
      [...replica.refusals].flatMap(([cluster, reasons]) =>
        [...reasons].map(([reason, count]) => [cluster, reason, count]),
      ),
  ],
  'fleetrelay_agent_refusal_timestamp_seconds{cluster,reason,address}': [
    'When an agent was refused last, to the minute, in seconds since 1970; gone once its agent is connected.',
    ({ fleet }) =>
      refusalsIn(fleet).map(([cluster, { reason, address, at }]) => [
        cluster,
        reason,
        address,
        (parseRfc3339(at) ?? 0) / 1000,
      ]),
  ],
  fleetrelay_wrong_tokens_total: ['Wrong tokens, on streams and in registrations.', ({ relay }) => relay.wrongTokens],
  'fleetrelay_registrations_total{outcome}': [
    'Requests for client certificates, by outcome.',
    ({ relay }) => Object.entries(relay.registrations),
  ],
  'fleetrelay_enrolments_again_total{cluster}': [
    'Client certificates that were issued for a token although the cluster had enrolled before.',
    ({ relay }) => Object.entries(relay.ofClusters.enrolledAgain),
  ],
  'fleetrelay_certificate_expiry_timestamp_seconds{certificate}': [
    "When the server's certificate, or an authority that signs certificates now, runs out, in seconds since 1970.",
    ({ relay }) => relay.certificates.map(({ what, expiresAt }) => [what, expiresAt / 1000]),
  ],
  'fleetrelay_client_certificate_issue_timestamp_seconds{cluster}': [
    'When the newest client certificate of an agent was issued, in seconds since 1970.',
    ofCertificates(({ issuedAt }) => issuedAt),
  ],
  'fleetrelay_client_certificate_expiry_timestamp_seconds{cluster}': [
    'When the newest client certificate of an agent runs out, in seconds since 1970; after that it needs a fresh token.',
    ofCertificates(({ expiresAt }) => expiresAt),
  ],
  fleetrelay_leader: [
    '1 if this server admits revisions and judges removals; of several one does.',
    ({ replica }) => replica.leads,
  ],
  fleetrelay_replicas_alive: [
    'Servers of the fleet whose last sign of life is recent, this one among them.',
    ({ replica }) => replica.alive,
  ],
  fleetrelay_admission_epoch: [
    'Epoch of the admission that this server computes from.',
    ({ replica }) => replica.admitted.epoch,
  ],
  fleetrelay_admission_sequence: [
    'Sequence of the admission that this server computes from.',
    ({ replica }) => replica.admitted.sequence,
  ],
  fleetrelay_admission_timestamp_seconds: [
    'When this server began to compute from its current admission, in seconds since 1970.',
    ({ replica }) => replica.admittedAt / 1000,
  ],
  fleetrelay_admission_paused: [
    '1 if this server admits and sends nothing new.',
    ({ replica }) => replica.problem !== '',
  ],
  'fleetrelay_pull_requests_total{source,outcome}': [
    'Pull requests that this server has worked on; refused: no plan could be made, failed: the host could not be asked or told.',
    ({ pullRequests }) => pullRequests.map(({ source, outcome, count }) => [source, outcome, count]),
  ],
  fleetrelay_store_up: ['1 if the store answers.', ({ store }) => store.up],
  fleetrelay_store_writes_total: ['Batches that were written to the store.', ({ store }) => store.writes],
  'fleetrelay_store_write_errors_total{reason}': [
    'Batches that were not written to the store, by reason; Conflict: another process had written first.',
    ({ store }) => store.errors,
  ],
  fleetrelay_store_records_refilled_total: [
    'Records that the store had lost and that were written to it again.',
    ({ store }) => store.refilled,
  ],
};

/** The last refusals of agents, by the name of a cluster, declared or not. */
function refusalsIn({ clusters, undeclaredAgents = {} }: FleetView): readonly (readonly [string, AgentRefusalView])[] {
  const declared = clusters.flatMap(({ name, refusal }) => (refusal === undefined ? [] : [[name, refusal] as const]));
  return [...declared, ...Object.entries(undeclaredAgents)];
}

function ofClusters(value: (cluster: ClusterView, scrape: Scrape) => boolean | number): Metric[1] {
  return (scrape) => scrape.fleet.clusters.map((cluster) => [cluster.name, value(cluster, scrape)]);
}

/** A cluster whose agent is not connected has the value 0, because an alert cannot see that a sample is missing. */
function ofClients(value: (client: Client, scrape: Scrape) => boolean): Metric[1] {
  return (scrape) => {
    const absent = scrape.fleet.clusters.map(({ name }) => [name, false] as const);
    return new Map([
      ...absent,
      ...scrape.relay.clients.map((client) => [client.cluster, value(client, scrape)] as const),
    ]);
  };
}

/** The newest that this server has seen or issued on a stream counts; else what the registration says. */
function ofCertificates(value: (certificate: NonNullable<Client['certificate']>) => number): Metric[1] {
  return ({ relay, fleet }) => {
    const recorded = fleet.clusters.flatMap(({ name, certificate }) => {
      const [issuedAt, expiresAt] = [certificate?.issuedAt, certificate?.expiresAt].map((at) => parseRfc3339(at ?? ''));
      return issuedAt === undefined || expiresAt === undefined ? [] : [[name, { issuedAt, expiresAt }] as const];
    });
    const seen = relay.clients.flatMap(({ cluster, certificate }) =>
      certificate ? [[cluster, certificate] as const] : [],
    );
    return new Map([...recorded, ...seen].map(([cluster, certificate]) => [cluster, value(certificate) / 1000]));
  };
}

const COMMIT_BUCKETS = [0.000_05, 0.000_25, 0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 10];
const WRITE_BUCKETS = [0.000_5, 0.002_5, 0.01, 0.05, 0.25, 1, 5, 15];

/** Makes the metrics of the server and its domains in a registry of their own. */
export function createServerMetrics(ofDomains: readonly MetricDefinition[], version: string): ServerMetrics {
  const set = createMetricSet();
  collectDefaultMetrics({ register: set.registry });
  let shown: Scrape | undefined;
  set.gauge('fleetrelay_build_info', 'Always 1; the version is in the label.', ['version'], () => [[{ version }, 1]]);
  for (const [key, [help, read]] of Object.entries(METRICS)) {
    const [name = '', ...labels] = key.split(/[{,}]/).filter((word) => word !== '');
    const define = name.endsWith('_total') ? set.total : set.gauge;
    define(name, help, labels, () => (shown === undefined ? [] : samplesOf(labels, read(shown))));
  }
  for (const { name, type, labels, help } of ofDomains) {
    const define = type === 'counter' ? set.total : set.gauge;
    define(name, help, labels, () => samplesOf(labels, shown?.ofDomains.get(name) ?? []));
  }
  const computed = set.counter('fleetrelay_engine_computed_total', 'Functions that the engine has called.', []);
  const commitHelp = 'Time that a commit of the engine takes.';
  const commit = set.histogram('fleetrelay_engine_commit_seconds', commitHelp, COMMIT_BUCKETS);
  const writeHelp = 'Time until the store has answered a batch of writes, also with an error.';
  return {
    definitions: set.definitions,
    text: (scrape) => {
      shown = scrape;
      return set.registry.metrics();
    },
    engineCommit: (seconds, functions) => {
      commit(seconds);
      computed({}, functions);
    },
    storeWrite: set.histogram('fleetrelay_store_write_seconds', writeHelp, WRITE_BUCKETS),
  };
}

function samplesOf(
  labels: readonly string[],
  reading: Reading,
): readonly (readonly [Record<string, string>, number])[] {
  const samples = typeof reading === 'object' ? [...reading] : [[reading]];
  return samples.map((sample) => [
    Object.fromEntries(labels.map((label, index) => [label, String(sample[index])])),
    Number(sample[labels.length]),
  ]);
}
