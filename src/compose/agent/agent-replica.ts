import { homedir, hostname } from 'node:os';
import { join } from 'node:path';
import { createDiskCredentials } from '../../adapters/disk/credentials.ts';
import { connectKube } from '../../adapters/kubernetes/api/connect.ts';
import type { KubeClient } from '../../adapters/kubernetes/api/types.ts';
import { createKubernetesCluster } from '../../adapters/kubernetes/cluster/cluster.ts';
import { createKubernetesCredentials } from '../../adapters/kubernetes/credentials.ts';
import { createKubernetesLease } from '../../adapters/kubernetes/lease.ts';
import { createSystemClock } from '../../adapters/system/clock.ts';
import { createSystemRandom } from '../../adapters/system/random.ts';
import { createLeadership, type LedTerm } from '../../agent/leadership.ts';
import type { Term } from '../../election/elector.ts';
import type { ClusterId } from '../../model/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Lease } from '../../ports/lease.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import type { KubernetesAgentOptions, RunIo } from '../options.ts';
import { startAgentHealth } from './agent-health.ts';
import { type AgentMeter, createAgentMeter } from './agent-metrics.ts';
import { createLinkedAgent, type LinkedAgent, pathFrom } from './linked-agent.ts';
import { AGENT_CREDENTIALS, AGENT_LEASE } from './names.ts';

/** One of several processes that could be the agent of a Kubernetes cluster; the leader is it. */
export interface AgentReplica {
  readonly apiServer: string;
  readonly namespace: string;
  /** By which other replicas know this one. */
  readonly identity: string;
  /** Where health and metrics are, as `http://HOST:PORT`. */
  readonly health: string | undefined;
  stop(): Promise<void>;
}

/** An agent's own, unless it is told otherwise. */
const NAMESPACE = 'fleetrelay';
const POD_STATE = '/var/lib/fleetrelay';
/** Without leader election the term lasts as long as the process. */
const ALWAYS_MS = 24 * 60 * 60 * 1000;

interface Replica {
  readonly deps: { readonly client: KubeClient; readonly clock: Clock; readonly random: Random; readonly log: Log };
  readonly options: KubernetesAgentOptions;
  readonly io: AgentIo;
  readonly namespace: string;
  readonly identity: string;
  readonly instance: string;
  /** Counts over all terms of this process. */
  readonly meter: AgentMeter;
  /** The agent of the current term. */
  linked: LinkedAgent | undefined;
}

type AgentIo = Pick<RunIo, 'cwd' | 'env' | 'version'>;

/**
 * Starts a replica: it stands by, serves health, and runs the agent while it leads. Rejects only for what trying again
 * cannot mend: the kubeconfig, or an address for health that is taken. An API server that does not answer is waited for.
 */
export async function startAgentReplica(
  options: KubernetesAgentOptions,
  io: AgentIo,
  parentLog: Log,
): Promise<AgentReplica> {
  const log = parentLog.child({ cluster: options.cluster });
  const system = { clock: createSystemClock(), random: createSystemRandom(), log };
  const { client, namespace } = await connect(system, options, io);
  const deps = { ...system, client };
  const instance = deps.random.id();
  const identity = `${hostname()}_${instance.slice(0, 8)}`;
  const meter = createAgentMeter({ version: io.version, cluster: options.cluster }, deps.clock);
  const replica: Replica = { deps, options, io, namespace, identity, instance, meter, linked: undefined };
  const lease = options.kubernetes.leaderElect
    ? createKubernetesLease(deps, { namespace, name: AGENT_LEASE, identity })
    : unopposed(deps.clock);
  const leadership = createLeadership({ ...deps, lease }, (term) => lead(replica, term));
  try {
    const subject = {
      health: () => replica.linked?.agent.health(),
      certificateExpiresAt: () => replica.linked?.certificateExpiresAt(),
      leadership: leadership.status,
    };
    const health = options.health && (await startAgentHealth(deps, subject, options.health, meter.set));
    leadership.start();
    const stop = async (): Promise<void> => {
      await leadership.stop();
      await health?.stop();
      await client.close();
    };
    return { apiServer: client.server, namespace, identity, health: health?.address, stop };
  } catch (error) {
    await client.close();
    throw error;
  }
}

async function connect(
  deps: { readonly clock: Clock; readonly random: Random; readonly log: Log },
  { kubernetes, cluster }: KubernetesAgentOptions,
  { cwd, env, version }: AgentIo,
): Promise<{ readonly client: KubeClient; readonly namespace: string }> {
  const { kubeconfig, context, namespace } = kubernetes;
  const found = await connectKube(deps, {
    userAgent: `fleetrelay-agent/${version} (${cluster})`,
    env,
    inCluster: isInPod(env) && kubeconfig === undefined && context === undefined,
    ...(kubeconfig === undefined ? {} : { kubeconfig: pathFrom(cwd, kubeconfig) }),
    ...(context === undefined ? {} : { context }),
  });
  if (!found.ok) {
    const asked = kubeconfig !== undefined || context !== undefined;
    throw new Error(asked ? found.problem : `${found.problem}, or a folder with --directory DIR`);
  }
  return { client: found.value.client, namespace: namespace ?? found.value.namespace ?? NAMESPACE };
}

/** As kubectl judges it: a kubeconfig that is named wins over the pod. */
function isInPod({ KUBERNETES_SERVICE_HOST: host = '', KUBECONFIG: config = '' }: AgentIo['env']): boolean {
  return host !== '' && config === '';
}

/** Runs the agent for one term. */
async function lead(replica: Replica, term: LedTerm): Promise<() => Promise<void>> {
  const { deps, options, io, namespace, identity, instance, meter } = replica;
  const closers: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    replica.linked = undefined;
    for (const close of closers.splice(0).reverse()) await close();
  };
  const checkTerm = (): void => {
    if (term.over.aborted) throw new Error('the term ended before the agent was up');
  };
  try {
    const client = clientOf(term, deps.client);
    const cluster = await createKubernetesCluster(
      { ...deps, client },
      {
        namespace,
        holder: identity,
        mayWrite: term.mayWrite,
        overtaken: () => term.resign('another process has taken the inventory over'),
      },
    );
    closers.push(() => cluster.close());
    checkTerm();
    const folder = folderOf(await cluster.identity(), options, io);
    const { cwd, version, env } = io;
    const fallback = createDiskCredentials(deps, { folder });
    const secret = { namespace, name: AGENT_CREDENTIALS, fallback };
    const linked = await createLinkedAgent(
      { ...deps, cluster, meter, credentials: createKubernetesCredentials({ ...deps, client }, secret) },
      { ...options, cwd, env, version, folder, instance, capabilities: [] },
    );
    closers.push(linked.close);
    checkTerm();
    await linked.agent.start();
    replica.linked = linked;
    closers.push(() => linked.agent.stop());
    return stop;
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Aborts the requests of a term when it ends, also those that wait for a connection. */
function clientOf({ mayWrite, over }: Term, client: KubeClient): KubeClient {
  const untilOver = (signal: AbortSignal | undefined): AbortSignal =>
    signal === undefined ? over : AbortSignal.any([signal, over]);
  return {
    ...client,
    request: (request) =>
      client.request({
        ...request,
        signal: untilOver(request.signal),
        ...(request.method === 'GET' ? {} : { maySend: mayWrite }),
      }),
    watch: (request, event) => client.watch({ ...request, signal: untilOver(request.signal) }, event),
  };
}

/** Where the agent keeps what it was sent last, if it was not told. Two clusters never share a folder. */
function folderOf(cluster: ClusterId, { dataDir }: KubernetesAgentOptions, { cwd, env }: AgentIo): string {
  if (dataDir !== undefined) return pathFrom(cwd, dataDir);
  const { XDG_STATE_HOME: state = '', HOME: home = homedir() } = env;
  if (state !== '') return join(state, 'fleetrelay', 'agents', cluster);
  return isInPod(env) ? join(POD_STATE, cluster) : join(home, '.local', 'state', 'fleetrelay', 'agents', cluster);
}

/** The lease of a replica that is alone by its installation. */
function unopposed(clock: Clock): Lease {
  return {
    acquire: async () => ({ type: 'held', deadline: clock.monotonic() + ALWAYS_MS }),
    release: async () => {},
  };
}
