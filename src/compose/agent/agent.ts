import { join } from 'node:path';
import { createDirectoryCluster } from '../../adapters/directory/cluster.ts';
import { OWN_FOLDER } from '../../adapters/directory/instance.ts';
import { createDiskCredentials } from '../../adapters/disk/credentials.ts';
import { createSystemClock } from '../../adapters/system/clock.ts';
import { createPinoLog } from '../../adapters/system/pino-log.ts';
import { createSystemRandom } from '../../adapters/system/random.ts';
import type { Agent } from '../../agent/agent.ts';
import { KINDS_AS_WRITTEN } from '../../model/agent.ts';
import type { Log } from '../../ports/log.ts';
import type { AgentOptions, DirectoryAgentOptions, RunIo } from '../options.ts';
import { startAgentHealth } from './agent-health.ts';
import { createAgentMeter } from './agent-metrics.ts';
import { createLinkedAgent, pathFrom } from './linked-agent.ts';

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
  const running = await start(options, io, log);
  if (!signal.aborted)
    await new Promise<void>((done) => signal.addEventListener('abort', () => done(), { once: true }));
  log.info('the agent is stopping');
  await running.stop();
  return 0;
}

async function start(options: AgentOptions, io: RunIo, log: Log): Promise<{ stop(): Promise<void> }> {
  const { cluster } = options;
  if ('directory' in options) {
    const running = await startAgent(options, io, log);
    log.info('the agent is up', { cluster, directory: options.directory, health: running.health });
    return running;
  }
  // Loaded when it is needed: what Kubernetes takes is no part of the smaller agent.
  const { startAgentReplica } = await import('./agent-replica.ts');
  const replica = await startAgentReplica(options, io, log);
  const { apiServer, namespace, identity, health } = replica;
  log.info('the agent is up', { cluster, apiServer, namespace, identity, health });
  return replica;
}

/** Starts the agent of a folder in this process; there may be many, each with its own folder. */
export async function startAgent(
  options: DirectoryAgentOptions,
  { cwd, version, env = {} }: Pick<RunIo, 'cwd' | 'version'> & Partial<Pick<RunIo, 'env'>>,
  parentLog: Log,
): Promise<RunningAgent> {
  const log = parentLog.child({ cluster: options.cluster });
  const deps = { clock: createSystemClock(), random: createSystemRandom(), log };
  const directory = pathFrom(cwd, options.directory);
  const folder = options.dataDir === undefined ? join(directory, OWN_FOLDER) : pathFrom(cwd, options.dataDir);
  const closers: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    const cluster = await createDirectoryCluster(deps, { directory });
    closers.push(() => cluster.close());
    const meter = createAgentMeter({ version, cluster: options.cluster }, deps.clock);
    const { agent, certificateExpiresAt, close } = await createLinkedAgent(
      { ...deps, cluster, meter, credentials: createDiskCredentials(deps, { folder }) },
      { ...options, cwd, env, version, folder, instance: deps.random.id(), capabilities: [KINDS_AS_WRITTEN] },
    );
    closers.push(close);
    // Before the agent: one that cannot be looked at is not let near a cluster.
    const subject = { health: () => agent.health(), certificateExpiresAt };
    const health = options.health && (await startAgentHealth(deps, subject, options.health, meter.set));
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
