import type { Clock } from '../../ports/clock.ts';
import type { ApplyOutcome, ClusterApi, RemoveOutcome } from '../../ports/cluster-api.ts';
import type { ConnectionState, RelayClient, ServerListener } from '../../relay/session.ts';
import { createBoundedLabel, createMetricSet, type MetricSet } from '../../server/metric-set.ts';

/** Counts what an agent does, by standing between it and its cluster and its server. */
export interface AgentMeter {
  readonly set: MetricSet;
  cluster(inner: ClusterApi): ClusterApi;
  relay(inner: RelayClient): RelayClient;
}

const DELTA_BUCKETS = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60];
/** Reasons are constant words, but a server and an API server have a say in them. */
const MOST_REASONS = 50;

/** The metrics of one agent's process; every one has the cluster as a label. */
export function createAgentMeter(
  { version, cluster }: { readonly version: string; readonly cluster: string },
  clock: Clock,
): AgentMeter {
  const set = createMetricSet({ cluster });
  set.gauge('fleetrelay_agent_info', 'Always 1; the version is in the label.', ['version'], () => [[{ version }, 1]]);
  const written = clusterMeter(set);
  const said = serverMeter(set, clock);
  return {
    set,
    cluster: (inner) => ({
      ...inner,
      apply: async (request) => written(await inner.apply(request)),
      remove: async (request) => written(await inner.remove(request)),
    }),
    relay: (inner) => ({ ...inner, start: (listener) => inner.start(said(listener)) }),
  };
}

function clusterMeter(set: MetricSet) {
  const bounded = createBoundedLabel(MOST_REASONS);
  const writes = set.counter('fleetrelay_agent_object_writes_total', 'Objects that were written or removed.', [
    'operation',
  ]);
  const failures = set.counter(
    'fleetrelay_agent_object_write_failures_total',
    'Attempts to write or remove an object that failed, by reason; Conflict: somebody else has it.',
    ['reason'],
  );
  return <Outcome extends ApplyOutcome | RemoveOutcome>(outcome: Outcome): Outcome => {
    if (outcome.type === 'applied') writes({ operation: 'apply' });
    if (outcome.type === 'gone') writes({ operation: 'remove' });
    if (outcome.type === 'failed') failures({ reason: bounded(outcome.reason) });
    if (outcome.type === 'conflict') failures({ reason: 'Conflict' });
    return outcome;
  };
}

function serverMeter(set: MetricSet, clock: Clock): (inner: ServerListener) => ServerListener {
  const bounded = createBoundedLabel(MOST_REASONS);
  const seconds = set.histogram(
    'fleetrelay_agent_delta_apply_seconds',
    'Time until a delta was checked and durable, or refused.',
    DELTA_BUCKETS,
  );
  const accepted = set.counter('fleetrelay_agent_deltas_accepted_total', 'Deltas that were accepted.', []);
  const refused = set.counter('fleetrelay_agent_deltas_refused_total', 'Deltas that were refused, by reason.', [
    'reason',
  ]);
  const pushed = set.counter('fleetrelay_agent_inputs_acknowledged_total', 'Input snapshots that the server has.', []);
  const ends = set.counter(
    'fleetrelay_agent_link_failures_total',
    'Links to the server that ended or did not come about, by reason.',
    ['reason'],
  );
  const noteLink = (state: ConnectionState): void => {
    if (state.type === 'waiting') ends({ reason: bounded(state.reason) });
  };
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
      noteLink(state);
      inner.connection(state);
    },
  });
}
