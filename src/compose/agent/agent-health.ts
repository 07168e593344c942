import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import type { AgentHealth } from '../../agent/agent.ts';
import { displayAddress, type ListenAddress } from '../../server/listen-address.ts';
import type { MetricSet } from '../../server/metric-set.ts';
import { agentMetrics, type HealthSubject } from './agent-metrics.ts';

/** The agent's listener for `/healthz`, `/readyz` and `/metrics`. */
export interface AgentHealthServer {
  /** `http://HOST:PORT`. */
  readonly address: string;
  stop(): Promise<void>;
}

const REQUEST_MS = 5_000;

/** Starts listening; the figures of the agent are added to the metrics. Rejects if the address cannot be had. */
export async function startAgentHealth(
  agent: HealthSubject,
  listen: ListenAddress,
  metrics: MetricSet,
): Promise<AgentHealthServer> {
  agentMetrics(metrics, agent);
  const { registry } = metrics;
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }, (request, response) => {
    answer(agent, registry, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'EADDRINUSE' ? 'something listens there already' : cause.message;
      reject(new Error(`cannot listen for health on ${displayAddress(listen)}: ${why}`, { cause }));
    });
    server.listen(listen.port, listen.host, resolve);
  });
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : listen.port;
  return { address: `http://${displayAddress({ host: listen.host, port })}`, stop: () => close(server) };
}

async function answer(
  agent: HealthSubject,
  registry: Registry,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = request.url?.split('?')[0];
  if (request.method !== 'GET' && request.method !== 'HEAD') return say(response, 405, 'only GET is answered\n');
  if (path === '/healthz') return say(response, 200, 'ok\n');
  if (path === '/metrics') {
    response.setHeader('Content-Type', registry.contentType);
    return say(response, 200, await registry.metrics());
  }
  if (path !== '/readyz') return say(response, 404, 'not found\n');
  const { ready, lines } = readiness(agent);
  return say(response, ready ? 200 : 503, `${lines.join('\n')}\n`);
}

function say(response: ServerResponse, status: number, text: string): void {
  if (!response.hasHeader('Content-Type')) response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  response.statusCode = status;
  response.end(text);
}

/** A process is ready while it works as the agent, or while it stands by to replace the leader. */
function readiness(agent: HealthSubject): { readonly ready: boolean; readonly lines: readonly string[] } {
  const leadership = agent.leadership?.() ?? { type: 'leading' };
  if (leadership.type === 'following') return { ready: true, lines: [`standing by; ${leadership.leader} leads`] };
  const health = agent.health();
  const reasons =
    leadership.type === 'unknown'
      ? [`who leads is not known: ${leadership.message}`]
      : health === undefined
        ? ['the agent is starting']
        : unreadiness(health);
  return reasons.length === 0
    ? { ready: true, lines: ['ready'] }
    : { ready: false, lines: ['not ready', ...reasons.map((reason) => `- ${reason}`)] };
}

/** Why the agent is not ready: it cannot read its cluster, or has no connection to its server. */
function unreadiness({ connection, clusterReadable, repairs }: AgentHealth): readonly string[] {
  const reasons: string[] = [];
  if (!clusterReadable) reasons.push('the cluster cannot be read');
  if (connection.type === 'connecting') reasons.push('connecting to the server');
  if (connection.type === 'waiting') reasons.push(`no connection to the server: ${connection.reason}`);
  if (!repairs && clusterReadable)
    reasons.push(
      'drift is not put back before the server was heard: this process does not know for certain what should be there',
    );
  return reasons;
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
