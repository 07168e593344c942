import { join, resolve } from 'node:path';
import { createDirectoryCluster } from '../../adapters/directory/cluster.ts';
import { OWN_FOLDER } from '../../adapters/directory/instance.ts';
import { createDiskCredentials } from '../../adapters/disk/credentials.ts';
import { createSystemClock } from '../../adapters/system/clock.ts';
import { createSystemRandom } from '../../adapters/system/random.ts';
import { agentDomains } from '../../domains/agents.ts';
import { KINDS_AS_WRITTEN } from '../../model/agent/agent.ts';
import type { Log } from '../../ports/log.ts';
import type { AgentOptions, DirectoryAgentOptions, RunIo } from '../options.ts';
import { runParts } from '../parts.ts';
import { refuseMissing } from '../preflight.ts';
import { createProcessLog, isTextLog } from '../process-log.ts';
import type { OpenAgentDomain } from './agent-domain.ts';
import { startAgentHealth } from './agent-health.ts';
import { createAgentMeter } from './agent-metrics.ts';
import { createLinkedAgent } from './linked-agent.ts';

/** Time for an agent to close: less than the 30 seconds of a Pod. */
const CLOSE_MS = 15_000;

/** Runs the agent of one cluster until the signal. Resolves with the exit code; rejects with a text for a person. */
export function runAgent(options: AgentOptions, signal: AbortSignal, io: RunIo): Promise<number> {
  const log = createProcessLog(options, io);
  const { opening } = io;
  const running = { clock: createSystemClock(), log, signal, opening, what: 'agent', closeMs: CLOSE_MS };
  return runParts(running, async (parts) => {
    await refuseMissing(neededBy(options), io);
    await parts.open(
      'the agent',
      () => start(options, io, log),
      (started) => started.stop(),
    );
    if (isTextLog(options, io)) io.err('next: `fleetrelay status` shows how far this cluster has got\n');
    return {};
  });
}

function neededBy({ cluster, tokenFile, caFile, certificate }: AgentOptions) {
  const token = `where the server runs: fleetrelay cluster token ${cluster} --data-dir DIR > ${tokenFile}`;
  return [
    ['--token-file', tokenFile, 'file', token],
    ['--ca-file', caFile, 'file', 'it is trust/ca.crt in the data directory of the server'],
    ['--cert-file', certificate?.certFile, 'file', 'let the program that renews it write it first'],
    ['--key-file', certificate?.keyFile, 'file', 'let the program that renews it write it first'],
  ] as const;
}

async function start(options: AgentOptions, io: RunIo, log: Log): Promise<{ stop(): Promise<void> }> {
  const { cluster } = options;
  if ('directory' in options) {
    const running = await startAgent(options, io, log);
    log.info('the agent is up', { cluster, directory: options.directory, health: running.health });
    return running;
  }
  // Imported here: the agent of a folder does not load the client of Kubernetes.
  const { startAgentReplica } = await import('./agent-replica.ts');
  const replica = await startAgentReplica(options, io, log);
  const { apiServer, namespace, identity, health } = replica;
  log.info('the agent is up', { cluster, apiServer, namespace, identity, health });
  return replica;
}

/** An agent that runs in this process. */
export type RunningAgent = Awaited<ReturnType<typeof startAgent>>;

/** Starts the agent of a directory cluster. One process may run several agents. `domains`: what they add to it. */
export async function startAgent(
  options: DirectoryAgentOptions,
  { cwd, version, env = {} }: Pick<RunIo, 'cwd' | 'version'> & Partial<Pick<RunIo, 'env'>>,
  parentLog: Log,
  domains: readonly OpenAgentDomain[] = agentDomains,
) {
  const log = parentLog.child({ cluster: options.cluster });
  const deps = { clock: createSystemClock(), random: createSystemRandom(), log };
  const directory = resolve(cwd, options.directory);
  const folder = options.dataDir === undefined ? join(directory, OWN_FOLDER) : resolve(cwd, options.dataDir);
  // After a failure the parts that were started are closed: they would keep the process alive.
  await using parts = new AsyncDisposableStack();
  const cluster = await createDirectoryCluster(deps, { directory });
  parts.defer(() => cluster.close());
  const meter = createAgentMeter({ version, cluster: options.cluster }, deps.clock);
  const ofDomains = domains.map((open) => open({ ...deps, metrics: meter.set }));
  const more = ofDomains.flatMap(({ ofDirectory }) => ofDirectory?.(cluster) ?? []);
  const { agent, certificateExpiresAt, close } = await createLinkedAgent(
    { ...deps, cluster, meter, parts: more, credentials: createDiskCredentials(deps, { folder }) },
    { ...options, cwd, env, version, folder, instance: deps.random.id(), capabilities: [KINDS_AS_WRITTEN] },
  );
  parts.defer(close);
  // The listener starts before the agent: if it fails, the agent must not change the cluster.
  const subject = { health: () => agent.health(), certificateExpiresAt };
  const health = options.health && (await startAgentHealth(deps, subject, options.health, meter.set));
  if (health !== undefined) parts.defer(health.stop);
  await agent.start();
  parts.defer(() => agent.stop());
  const started = parts.move();
  /** `health`: where health and metrics are, as `http://HOST:PORT`. */
  return { agent, health: health?.address, stop: () => started.disposeAsync() };
}
