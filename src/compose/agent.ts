import { readFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { getCACertificates } from 'node:tls';
import { createDirectoryCluster } from '../adapters/directory/cluster.ts';
import { OWN_FOLDER } from '../adapters/directory/instance.ts';
import { createAgentDisk } from '../adapters/disk/agent-disk.ts';
import { createGrpcClientTransport, type GrpcClientOptions } from '../adapters/grpc/client.ts';
import { createSystemClock } from '../adapters/system/clock.ts';
import { createPinoLog } from '../adapters/system/pino-log.ts';
import { createSystemRandom } from '../adapters/system/random.ts';
import { type Agent, createAgent } from '../agent/agent.ts';
import { KINDS_AS_WRITTEN, TAKES_SETTINGS } from '../model/agent.ts';
import type { Log } from '../ports/log.ts';
import { createRelayClient } from '../relay/client.ts';
import { displayAddress } from '../server/listen-address.ts';
import { startAgentHealth } from './agent-health.ts';
import type { AgentOptions, RunIo } from './options.ts';

/** An agent that runs in this process. */
export interface RunningAgent {
  readonly agent: Agent;
  /** Where health and metrics are, as `http://HOST:PORT`. */
  readonly health: string | undefined;
  stop(): Promise<void>;
}

/** Runs the agent of one cluster until the signal. Resolves with the exit code; rejects with a text for a person. */
export async function runAgent(options: AgentOptions, signal: AbortSignal, io: RunIo): Promise<number> {
  const log = createPinoLog({ level: options.logLevel });
  const running = await startAgent(options, io, log);
  log.info('the agent is up', { cluster: options.cluster, directory: options.directory, health: running.health });
  if (!signal.aborted)
    await new Promise<void>((done) => signal.addEventListener('abort', () => done(), { once: true }));
  log.info('the agent is stopping');
  await running.stop();
  return 0;
}

/** Starts an agent in this process; there may be many, each with its own folder. */
export async function startAgent(
  options: AgentOptions,
  { cwd, version }: Pick<RunIo, 'cwd' | 'version'>,
  parentLog: Log,
): Promise<RunningAgent> {
  const log = parentLog.child({ cluster: options.cluster });
  const deps = { clock: createSystemClock(), random: createSystemRandom(), log };
  const inside = (path: string): string => (isAbsolute(path) ? path : resolve(cwd, path));
  const directory = inside(options.directory);
  const folder = options.dataDir === undefined ? join(directory, OWN_FOLDER) : inside(options.dataDir);
  const closers: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    const cluster = await createDirectoryCluster(deps, { directory });
    closers.push(() => cluster.close());
    const transport = createGrpcClientTransport({
      server: displayAddress(options.server),
      security: security(options, inside),
    });
    const relay = createRelayClient(
      { ...deps, transport },
      {
        cluster: options.cluster,
        clusterId: await cluster.identity(),
        instance: deps.random.id(),
        token: tokenOf(options, inside),
        version,
        capabilities: [KINDS_AS_WRITTEN, TAKES_SETTINGS],
      },
    );
    const disk = createAgentDisk(deps, { folder });
    closers.push(() => disk.close());
    const agent = createAgent({ ...deps, cluster, relay, disk });
    // Before the agent: one that cannot be looked at is not let near a cluster.
    const health =
      options.health && (await startAgentHealth(agent, options.health, { version, cluster: options.cluster }));
    if (health !== undefined) closers.push(() => health.stop());
    await agent.start();
    closers.push(() => agent.stop());
    return { agent, health: health?.address, stop };
  } catch (error) {
    // What was started must not outlive the failure: it would keep the process alive, and deaf to signals.
    await stop();
    throw error;
  }
}

function security({ caFile, insecure }: AgentOptions, inside: (path: string) => string): GrpcClientOptions['security'] {
  if (insecure) return { type: 'insecure' };
  if (caFile === undefined) return { type: 'tls', ca: () => Buffer.from(getCACertificates('default').join('\n')) };
  return { type: 'tls', ca: () => readOrSay('certificate authority', inside(caFile)) };
}

function tokenOf({ tokenFile }: AgentOptions, inside: (path: string) => string): () => string {
  return tokenFile === undefined ? () => '' : () => readOrSay('token', inside(tokenFile)).toString('utf8');
}

/** Read at each dial: a file that is replaced takes effect, and one that comes late does no harm. */
function readOrSay(what: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw new Error(`the ${what} file ${path} cannot be read (${code})`, { cause: error });
  }
}
