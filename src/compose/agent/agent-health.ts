import type { AgentHealth } from '../../agent/agent.ts';
import { must } from '../../model/values/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { displayAddress, type ListenAddress } from '../../server/listen-address.ts';
import type { MetricSet } from '../../server/metric-set.ts';
import { agentMetrics, type HealthSubject } from './agent-metrics.ts';

/**
 * Starts the agent's listener for `/healthz`, `/readyz` and `/metrics`, and adds the state of the agent to the metrics. Resolves
 * with its address as `http://HOST:PORT`. Rejects if the address cannot be bound.
 */
export async function startAgentHealth(
  deps: { readonly clock: Clock; readonly log: Log },
  agent: HealthSubject,
  listen: ListenAddress,
  metrics: MetricSet,
) {
  // Imported here: an agent without this listener does not load the HTTP server.
  const { createHttpServer } = await import('../../server/http-server.ts');
  agentMetrics(metrics, agent);
  const shown = { health: { ready: () => readiness(agent) }, metrics: () => metrics.registry.metrics() };
  const server = must(createHttpServer({ ...deps, ...shown }, { listen }));
  const bound = await server.start().catch((cause: NodeJS.ErrnoException) => {
    const why = cause.code === 'EADDRINUSE' ? 'something listens there already' : cause.message;
    throw new Error(`cannot listen for health on ${displayAddress(listen)}: ${why}`, { cause });
  });
  return { address: `http://${displayAddress(bound)}`, stop: server.stop };
}

/**
 * A process is ready while it works as the agent, or while it stands by to replace the leader. If it serves what must not depend on
 * the server of fleetrelay, such as the creation of Pods, it is ready while it serves that.
 */
function readiness(agent: HealthSubject): { readonly ok: boolean; readonly reasons: readonly string[] } {
  if (agent.serviceProblem === undefined) return work(agent);
  const problem = agent.serviceProblem();
  return problem === undefined ? { ok: true, reasons: work(agent).reasons } : { ok: false, reasons: [problem] };
}

function work(agent: HealthSubject): { readonly ok: boolean; readonly reasons: readonly string[] } {
  const leadership = agent.leadership?.() ?? { type: 'leading' };
  if (leadership.type === 'following') return { ok: true, reasons: [`standing by; ${leadership.leader} leads`] };
  const reasons =
    leadership.type === 'unknown' ? [`who leads is not known: ${leadership.message}`] : unreadiness(agent.health());
  return { ok: reasons.length === 0, reasons };
}

/** Returns why the agent is not ready; empty if it is. */
function unreadiness(health: AgentHealth | undefined): readonly string[] {
  if (health === undefined) return ['the agent is starting'];
  const { connection, clusterReadable, repairs } = health;
  const noRepair =
    'drift is not repaired until the server has answered: until then this process does not know the desired state for certain';
  return [
    ...(clusterReadable ? [] : ['the cluster cannot be read']),
    ...(connection.type === 'connecting' ? ['connecting to the server'] : []),
    ...(connection.type === 'waiting' ? [`no connection to the server: ${connection.reason}`] : []),
    ...(repairs || !clusterReadable ? [] : [noRepair]),
  ];
}
