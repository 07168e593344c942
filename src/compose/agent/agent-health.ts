import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Gauge, Registry } from 'prom-client';
import type { AgentHealth } from '../../agent/agent.ts';
import type { Standing } from '../../agent/leadership.ts';
import { displayAddress, type ListenAddress } from '../../server/listen-address.ts';

/** The agent's listener for `/healthz`, `/readyz` and `/metrics`. */
export interface AgentHealthServer {
  /** `http://HOST:PORT`. */
  readonly address: string;
  stop(): Promise<void>;
}

/** Who is asked how the agent is. */
export interface HealthSubject {
  /** Undefined: no agent runs in this process now. */
  health(): AgentHealth | undefined;
  /** Absent: there is only ever one process. */
  readonly standing?: () => Standing;
}

const REQUEST_MS = 5_000;

/** Starts listening. Rejects if the address cannot be had. */
export async function startAgentHealth(
  agent: HealthSubject,
  listen: ListenAddress,
  about: { readonly version: string; readonly cluster: string },
): Promise<AgentHealthServer> {
  const registry = agentMetrics(agent, about);
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

/** A process is ready while it can do its work: as the agent, or in waiting for the agent to fail. */
function readiness(agent: HealthSubject): { readonly ready: boolean; readonly lines: readonly string[] } {
  const standing = agent.standing?.() ?? { type: 'leading' };
  if (standing.type === 'following') return { ready: true, lines: [`standing by; ${standing.leader} leads`] };
  const health = agent.health();
  const reasons =
    standing.type === 'unknown'
      ? [`who leads is not known: ${standing.message}`]
      : health === undefined
        ? ['the agent is starting']
        : unreadiness(health);
  return reasons.length === 0
    ? { ready: true, lines: ['ready'] }
    : { ready: false, lines: ['not ready', ...reasons.map((reason) => `- ${reason}`)] };
}

/** An agent can do its work while it sees its cluster and hears its server. */
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

function agentMetrics(agent: HealthSubject, { version, cluster }: { version: string; cluster: string }): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ cluster });
  const gauge = (name: string, help: string, read: (health: AgentHealth) => number): void => {
    new Gauge({
      name: `fleetrelay_agent_${name}`,
      help,
      registers: [registry],
      collect() {
        const health = agent.health();
        if (health === undefined) this.remove();
        else this.set(read(health));
      },
    });
  };
  gauge('connected', 'The link to the server is up.', ({ connection }) => (connection.type === 'connected' ? 1 : 0));
  gauge('paused', 'The stop button in the cluster is on.', ({ paused }) => (paused ? 1 : 0));
  gauge('troubles', 'Files that cannot be read and objects that are there twice.', ({ troubles }) => troubles);
  gauge('output_epoch', 'Epoch of the last accepted output.', ({ position }) => position.epoch);
  gauge('output_sequence', 'Sequence of the last accepted output.', ({ position }) => position.sequence);
  new Gauge({
    name: 'fleetrelay_agent_objects',
    help: 'Objects by their last result; wanted are all that should be there.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.reset();
      const health = agent.health();
      if (health === undefined) return;
      // "Held" means "deliberately not changed" everywhere else that a person looks.
      const { held: wanted, ...results } = health.objects;
      for (const [state, count] of Object.entries({ wanted, ...results })) this.set({ state }, count);
    },
  });
  new Gauge({
    name: 'fleetrelay_agent_leader',
    help: 'This process is the agent; of several replicas one is. The other figures are there only then.',
    registers: [registry],
    collect() {
      this.set((agent.standing?.().type ?? 'leading') === 'leading' ? 1 : 0);
    },
  });
  new Gauge({
    name: 'fleetrelay_agent_info',
    help: 'About the agent.',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version }, 1);
  return registry;
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
