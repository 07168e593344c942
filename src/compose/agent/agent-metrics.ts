import type { AgentHealth } from '../../agent/agent.ts';
import type { ElectionStatus } from '../../election/elector.ts';
import { isStatusKey, type ObjectKey } from '../../model/objects/object-key.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ApplyOutcome, ClusterApi, RemoveOutcome } from '../../ports/cluster-api.ts';
import type { RelayClient, ServerListener } from '../../relay/session.ts';
import { createBoundedLabel, createMetricSet, flag, type MetricSet } from '../../server/metric-set.ts';

/** Counts the work of an agent: wraps its cluster and its end of the relay. */
export type AgentMeter = ReturnType<typeof createAgentMeter>;

const DELTA_BUCKETS = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60];
/** Reasons are constant words, but the server and the API server choose them. */
const MOST_REASONS = 50;

/** The metrics of one agent process; each has the cluster as a label. */
export function createAgentMeter(
  { version, cluster }: { readonly version: string; readonly cluster: string },
  clock: Clock,
) {
  const set = createMetricSet({ cluster });
  set.gauge('fleetrelay_agent_info', 'Always 1; the version is in the label.', ['version'], () => [[{ version }, 1]]);
  const written = clusterMeter(set);
  const metered = serverMeter(set, clock);
  return {
    set,
    cluster: (inner: ClusterApi): ClusterApi => ({
      ...inner,
      apply: async (request) => written(request.key, await inner.apply(request)),
      remove: async (request) => written(request.key, await inner.remove(request)),
    }),
    relay: (inner: RelayClient): RelayClient => ({ ...inner, start: (listener) => inner.start(metered(listener)) }),
  };
}

function clusterMeter(set: MetricSet) {
  const bounded = createBoundedLabel(MOST_REASONS);
  const writes = set.counter(
    'fleetrelay_agent_object_writes_total',
    'Objects that were written or removed, and statuses of objects of others that were applied or ended.',
    ['operation'],
  );
  const failures = set.counter(
    'fleetrelay_agent_object_write_failures_total',
    'Attempts to write or remove an object that failed, by reason; Conflict: another manager owns it.',
    ['reason'],
  );
  return <Outcome extends ApplyOutcome | RemoveOutcome>(key: ObjectKey, outcome: Outcome): Outcome => {
    const isStatus = isStatusKey(key);
    if (outcome.type === 'applied') writes({ operation: isStatus ? 'applyStatus' : 'apply' });
    if (outcome.type === 'gone') writes({ operation: isStatus ? 'endStatus' : 'remove' });
    if (outcome.type === 'failed') failures({ reason: bounded(outcome.reason) });
    if (outcome.type === 'conflict') failures({ reason: 'Conflict' });
    return outcome;
  };
}

function serverMeter(set: MetricSet, clock: Clock): (inner: ServerListener) => ServerListener {
  const bounded = createBoundedLabel(MOST_REASONS);
  const counter = <Label extends string>(name: string, help: string, labels: readonly Label[]) =>
    set.counter(`fleetrelay_agent_${name}`, help, labels);
  const seconds = set.histogram(
    'fleetrelay_agent_delta_apply_seconds',
    'Time until a delta was checked and durable, or refused.',
    DELTA_BUCKETS,
  );
  const accepted = counter('deltas_accepted_total', 'Deltas that were accepted.', []);
  const refused = counter('deltas_refused_total', 'Deltas that were refused, by reason.', ['reason']);
  const pushed = counter('inputs_acknowledged_total', 'Input snapshots that the server has.', []);
  const ends = counter('link_failures_total', 'Links to the server that ended or did not come about, by reason.', [
    'reason',
  ]);
  return (inner) => ({
    ...inner,
    delta: async (delta, fleet) => {
      const begun = clock.monotonic();
      const answer = await inner.delta(delta, fleet);
      seconds((clock.monotonic() - begun) / 1000);
      if (answer.accepted) accepted({});
      else refused({ reason: bounded(answer.reason) });
      return answer;
    },
    inputAcknowledged: (digest) => {
      pushed({});
      inner.inputAcknowledged(digest);
    },
    connection: (state) => {
      if (state.type === 'waiting') ends({ reason: bounded(state.reason) });
      inner.connection(state);
    },
  });
}

/** The agent of this process, as its health and metrics see it. */
export interface HealthSubject {
  /** Undefined: this process does not run the agent now. */
  health(): AgentHealth | undefined;
  /** When the client certificate expires, in milliseconds since 1970; absent or undefined: there is none. */
  readonly certificateExpiresAt?: () => number | undefined;
  /** Why this process does not serve what does not depend on the server; undefined: it does. Absent: it serves no such thing. */
  readonly serviceProblem?: () => string | undefined;
  /** Absent: the agent has one process only. */
  readonly leadership?: () => ElectionStatus;
}

/** Gauges without further labels: name, help text, value. */
const GAUGES: readonly (readonly [name: string, help: string, read: (health: AgentHealth) => number])[] = [
  ['connected', '1 if the link to the server is up.', ({ connection }) => flag(connection.type === 'connected')],
  ['paused', '1 if the stop button in the cluster is on.', ({ paused }) => flag(paused)],
  [
    'cluster_readable',
    '1 if the cluster could be read at the last attempt.',
    ({ clusterReadable }) => flag(clusterReadable),
  ],
  ['diagnostics', 'Files that cannot be read and objects that are there twice.', ({ diagnostics }) => diagnostics],
  ['output_epoch', 'Epoch of the last accepted output.', ({ position }) => position.epoch],
  ['output_sequence', 'Sequence of the last accepted output.', ({ position }) => position.sequence],
];

/** Adds the metrics of the agent's state. Metrics of its health have no samples while this process does not run the agent. */
export function agentMetrics(set: MetricSet, agent: HealthSubject): void {
  for (const [name, help, read] of GAUGES) {
    set.gauge(`fleetrelay_agent_${name}`, help, [], () => {
      const health = agent.health();
      return health === undefined ? [] : [[{}, read(health)]];
    });
  }
  set.gauge(
    'fleetrelay_agent_certificate_expiry_timestamp_seconds',
    'When the client certificate runs out, in seconds since 1970; absent: the agent has none.',
    [],
    () => {
      const expiresAt = agent.certificateExpiresAt?.();
      return expiresAt === undefined ? [] : [[{}, Math.floor(expiresAt / 1000)]];
    },
  );
  const objects = 'Objects by their last result; wanted are all that should be there.';
  set.gauge('fleetrelay_agent_objects', objects, ['state'], () => {
    const health = agent.health();
    if (health === undefined) return [];
    const { owned: wanted, ...results } = health.objects;
    return Object.entries({ wanted, ...results }).map(([state, count]) => [{ state }, count]);
  });
  set.gauge('fleetrelay_agent_statuses', 'Statuses of objects of others, by their last result.', ['state'], () => {
    const health = agent.health();
    return health === undefined ? [] : Object.entries(health.statuses).map(([state, count]) => [{ state }, count]);
  });
  const reversals = 'Objects that were put back, by what others had done to them.';
  set.total('fleetrelay_agent_drift_reversals_total', reversals, ['drift'], () => {
    const { changed = 0, removed = 0 } = agent.health()?.driftCorrections ?? {};
    return Object.entries({ changed, removed }).map(([drift, count]) => [{ drift }, count]);
  });
  const left = 'Objects whose drift is only reported now, by what others have done to them.';
  set.gauge('fleetrelay_agent_drift_left', left, ['drift'], () => {
    const health = agent.health();
    if (health === undefined) return [];
    return Object.entries(health.driftLeft).map(([drift, count]) => [{ drift }, count]);
  });
  set.gauge(
    'fleetrelay_agent_leader',
    '1 if this process is the agent; of several replicas one is. The other figures are there only then.',
    [],
    () => [[{}, flag((agent.leadership?.().type ?? 'leading') === 'leading')]],
  );
}
