import type { AgentHealth } from '../../agent/agent.ts';
import type { ElectionStatus } from '../../election/elector.ts';
import { flag, type MetricSet } from '../../server/metric-set.ts';

/** Who is asked how the agent is. */
export interface HealthSubject {
  /** Undefined: no agent runs in this process now. */
  health(): AgentHealth | undefined;
  /** When the client certificate runs out, in milliseconds since 1970; absent or undefined: there is none. */
  readonly certificateExpiresAt?: () => number | undefined;
  /** Absent: there is only ever one process. */
  readonly leadership?: () => ElectionStatus;
}

/** What an agent is at the moment of asking; nothing of it is there while no agent runs in this process. */
export function agentMetrics(set: MetricSet, agent: HealthSubject): void {
  const gauge = (name: string, help: string, read: (health: AgentHealth) => number): void =>
    set.gauge(`fleetrelay_agent_${name}`, help, [], () => {
      const health = agent.health();
      return health === undefined ? [] : [[{}, read(health)]];
    });
  gauge('connected', '1 if the link to the server is up.', ({ connection }) => flag(connection.type === 'connected'));
  gauge('paused', '1 if the stop button in the cluster is on.', ({ paused }) => flag(paused));
  gauge('cluster_readable', '1 if the cluster could be read at the last attempt.', ({ clusterReadable }) =>
    flag(clusterReadable),
  );
  gauge('diagnostics', 'Files that cannot be read and objects that are there twice.', ({ diagnostics }) => diagnostics);
  gauge('output_epoch', 'Epoch of the last accepted output.', ({ position }) => position.epoch);
  gauge('output_sequence', 'Sequence of the last accepted output.', ({ position }) => position.sequence);
  set.gauge(
    'fleetrelay_agent_certificate_expiry_timestamp_seconds',
    'When the client certificate runs out, in seconds since 1970; absent: the agent has none.',
    [],
    () => {
      const expiresAt = agent.certificateExpiresAt?.();
      return expiresAt === undefined ? [] : [[{}, Math.floor(expiresAt / 1000)]];
    },
  );
  objectMetrics(set, agent);
  set.gauge(
    'fleetrelay_agent_leader',
    '1 if this process is the agent; of several replicas one is. The other figures are there only then.',
    [],
    () => [[{}, flag((agent.leadership?.().type ?? 'leading') === 'leading')]],
  );
}

function objectMetrics(set: MetricSet, agent: HealthSubject): void {
  set.gauge(
    'fleetrelay_agent_objects',
    'Objects by their last result; wanted are all that should be there.',
    ['state'],
    () => {
      const health = agent.health();
      if (health === undefined) return [];
      const { owned: wanted, ...results } = health.objects;
      return Object.entries({ wanted, ...results }).map(([state, count]) => [{ state }, count]);
    },
  );
  set.total(
    'fleetrelay_agent_drift_reversals_total',
    'Objects that were put back, by what others had done to them.',
    ['drift'],
    () => {
      const { changed = 0, removed = 0 } = agent.health()?.driftCorrections ?? {};
      return [
        [{ drift: 'changed' }, changed],
        [{ drift: 'removed' }, removed],
      ];
    },
  );
}
