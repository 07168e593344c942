import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Gauge, Registry } from 'prom-client';
import type { Agent, AgentHealth } from '../agent/agent.ts';
import { displayAddress, type ListenAddress } from '../server/listen-address.ts';

/** The agent's listener for `/healthz`, `/readyz` and `/metrics`. */
export interface AgentHealthServer {
  /** `http://HOST:PORT`. */
  readonly address: string;
  stop(): Promise<void>;
}

const REQUEST_MS = 5_000;

/** Starts listening. Rejects if the address cannot be had. */
export async function startAgentHealth(
  agent: Pick<Agent, 'health'>,
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
  agent: Pick<Agent, 'health'>,
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
  const reasons = unreadiness(agent.health());
  const lines = reasons.length === 0 ? ['ready'] : ['not ready', ...reasons.map((reason) => `- ${reason}`)];
  return say(response, reasons.length === 0 ? 200 : 503, `${lines.join('\n')}\n`);
}

function say(response: ServerResponse, status: number, text: string): void {
  if (!response.hasHeader('Content-Type')) response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  response.statusCode = status;
  response.end(text);
}

/** An agent is ready while it can do its work: see its cluster and hear its server. */
function unreadiness({ connection, clusterReadable }: AgentHealth): readonly string[] {
  const reasons: string[] = [];
  if (!clusterReadable) reasons.push('the cluster cannot be read');
  if (connection.type === 'connecting') reasons.push('connecting to the server');
  if (connection.type === 'waiting') reasons.push(`no connection to the server: ${connection.reason}`);
  return reasons;
}

function agentMetrics(
  agent: Pick<Agent, 'health'>,
  { version, cluster }: { version: string; cluster: string },
): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ cluster });
  const gauge = (name: string, help: string, read: (health: AgentHealth) => number): void => {
    new Gauge({
      name: `fleetrelay_agent_${name}`,
      help,
      registers: [registry],
      collect() {
        this.set(read(agent.health()));
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
      // "Held" means "deliberately not changed" everywhere else that a person looks.
      const { held: wanted, ...results } = agent.health().objects;
      for (const [state, count] of Object.entries({ wanted, ...results })) this.set({ state }, count);
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
