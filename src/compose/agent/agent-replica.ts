import { homedir, hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { createDiskCredentials } from '../../adapters/disk/credentials.ts';
import { connectKube } from '../../adapters/kubernetes/api/connect.ts';
import type { KubeClient } from '../../adapters/kubernetes/api/types.ts';
import { createKubernetesCluster } from '../../adapters/kubernetes/cluster/cluster.ts';
import { createKubernetesCredentials } from '../../adapters/kubernetes/credentials.ts';
import { createKubernetesLease } from '../../adapters/kubernetes/lease.ts';
import { createSystemClock } from '../../adapters/system/clock.ts';
import { createSystemRandom } from '../../adapters/system/random.ts';
import { createLeadership, type LedTerm } from '../../agent/leadership.ts';
import { agentDomains } from '../../domains/agents.ts';
import type { Term } from '../../election/elector.ts';
import type { ClusterId } from '../../model/fleet/ids.ts';
import { given } from '../../model/values/given.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Lease } from '../../ports/lease.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import type { KubernetesAgentOptions, RunIo } from '../options.ts';
import type { DomainOfReplica } from './agent-domain.ts';
import { startAgentHealth } from './agent-health.ts';
import { createAgentMeter, type HealthSubject } from './agent-metrics.ts';
import { createLinkedAgent, type LinkedAgent } from './linked-agent.ts';
import { loadEvaluator } from './load-evaluator.ts';
import { AGENT_CREDENTIALS, AGENT_LEASE } from './names.ts';

/** The default namespace of an agent. */
const NAMESPACE = 'fleetrelay';
const POD_STATE = '/var/lib/fleetrelay';
/** Without leader election the term lasts as long as the process. */
const ALWAYS_MS = 24 * 60 * 60 * 1000;

type AgentIo = Pick<RunIo, 'cwd' | 'env' | 'version'>;

type OpenedReplica = Awaited<ReturnType<typeof openReplica>>;

interface Replica extends OpenedReplica {
  /** What the domains that the options ask for do in this replica. */
  readonly domains: readonly DomainOfReplica[];
}

async function openReplica(options: KubernetesAgentOptions, io: AgentIo, log: Log) {
  const system = { clock: createSystemClock(), random: createSystemRandom(), log };
  const { client, namespace } = await connect(system, options, io);
  const meter = createAgentMeter({ version: io.version, cluster: options.cluster }, system.clock);
  const instance = system.random.id();
  return {
    deps: { ...system, client },
    options,
    io,
    namespace,
    instance,
    /** Identifies this replica to the others. */
    identity: `${hostname()}_${instance.slice(0, 8)}`,
    /** Counts over all terms of this process. */
    meter,
    ofDomains: agentDomains.map((open) => open({ ...system, metrics: meter.set })),
    /** The agent of the current term. */
    linked: undefined as LinkedAgent | undefined,
  };
}

export type StartedReplica = Awaited<ReturnType<typeof startAgentReplica>>;

/**
 * Starts one of several processes that may be the agent of a Kubernetes cluster. It serves health, stands by, and runs the
 * agent while it leads. Rejects for a wrong kubeconfig, or an address for health that is taken; it waits for an API server
 * that does not answer.
 */
export async function startAgentReplica(options: KubernetesAgentOptions, io: AgentIo, parentLog: Log) {
  const opened = await openReplica(options, io, parentLog.child({ cluster: options.cluster }));
  const { deps, namespace, identity, meter } = opened;
  const { client, clock } = deps;
  await using parts = new AsyncDisposableStack();
  parts.defer(() => client.close());
  const replica: Replica = { ...opened, domains: await openDomains(opened, parts) };
  const lease = options.kubernetes.leaderElect
    ? createKubernetesLease(deps, { namespace, name: AGENT_LEASE, identity })
    : unopposed(clock);
  const leadership = createLeadership({ ...deps, lease }, (term) => lead(replica, term));
  const subject = {
    ...serviceProblemOf(replica.domains),
    health: () => replica.linked?.agent.health(),
    certificateExpiresAt: () => replica.linked?.certificateExpiresAt(),
    leadership: leadership.status,
  };
  const health = options.health && (await startAgentHealth(deps, subject, options.health, meter.set));
  if (health !== undefined) parts.defer(health.stop);
  leadership.start();
  parts.defer(() => leadership.stop());
  const started = parts.move();
  const stop = (): Promise<void> => started.disposeAsync();
  /** `health`: where health and metrics are, as `http://HOST:PORT`. */
  return { apiServer: client.server, namespace, identity, health: health?.address, stop };
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
    ...(kubeconfig === undefined ? {} : { kubeconfig: resolve(cwd, kubeconfig) }),
    ...given({ context }),
  });
  if (!found.ok) {
    const asked = kubeconfig !== undefined || context !== undefined;
    throw new Error(asked ? found.problem : `${found.problem}, or a folder with --directory DIR`);
  }
  return { client: found.value.client, namespace: namespace ?? found.value.namespace ?? NAMESPACE };
}

/** By the rule of kubectl: a kubeconfig in the environment has precedence over the pod. */
function isInPod({ KUBERNETES_SERVICE_HOST: host = '', KUBECONFIG: config = '' }: AgentIo['env']): boolean {
  return host !== '' && config === '';
}

/** Runs the agent for one term. */
async function lead(replica: Replica, term: LedTerm): Promise<() => Promise<void>> {
  const { deps, options, io, namespace, identity, instance, meter, domains } = replica;
  await using parts = new AsyncDisposableStack();
  const checkTerm = (): void => {
    if (term.over.aborted) throw new Error('the term ended before the agent was up');
  };
  const client = clientOf(term, deps.client);
  const { allowOwnNamespace = false } = options.kubernetes;
  const overtaken = (): void => term.resign('another process has taken the inventory over');
  const cluster = await createKubernetesCluster(
    { ...deps, client },
    {
      namespace,
      allowOwnNamespace,
      holder: identity,
      mayWrite: term.mayWrite,
      overtaken,
      reader: deps.client,
      loadEvaluator,
      trims: replica.ofDomains.flatMap(({ trim }) => trim ?? []),
    },
  );
  parts.defer(() => cluster.close());
  checkTerm();
  const folder = folderOf(await cluster.identity(), options, io);
  const { cwd, version, env } = io;
  const fallback = createDiskCredentials(deps, { folder });
  const secret = { namespace, name: AGENT_CREDENTIALS, fallback };
  const linked = await createLinkedAgent(
    {
      ...deps,
      cluster,
      meter,
      parts: domains.flatMap((domain) => domain.parts({ client, cluster: cluster.access })),
      credentials: createKubernetesCredentials({ ...deps, client }, secret),
    },
    {
      ...options,
      cwd,
      env,
      version,
      folder,
      instance,
      capabilities: domains.flatMap(({ capabilities = [] }) => capabilities),
      ...(allowOwnNamespace ? {} : { ownNamespace: namespace }),
    },
  );
  parts.defer(linked.close);
  checkTerm();
  await linked.agent.start();
  replica.linked = linked;
  parts.defer(() => linked.agent.stop());
  // An API server that does not answer ends the term, too.
  parts.defer(async () => {
    if (term.over.aborted) await linked.agent.reportOutage();
  });
  parts.defer(() => {
    replica.linked = undefined;
  });
  const started = parts.move();
  return () => started.disposeAsync();
}

/** Begins what the domains do in this replica, also while it stands by. */
async function openDomains(
  { deps, options, io, namespace, ofDomains }: OpenedReplica,
  parts: AsyncDisposableStack,
): Promise<readonly DomainOfReplica[]> {
  const opened: DomainOfReplica[] = [];
  for (const { ofReplica } of ofDomains) {
    const domain = await ofReplica?.({ client: deps.client, namespace, options, io });
    if (domain === undefined) continue;
    opened.push(domain);
    if (domain.stop !== undefined) parts.defer(domain.stop);
  }
  return opened;
}

/** The first problem of what the domains serve in this replica; absent if they serve nothing. */
function serviceProblemOf(domains: readonly DomainOfReplica[]): Pick<HealthSubject, 'serviceProblem'> {
  const problems = domains.flatMap(({ problem }) => problem ?? []);
  if (problems.length === 0) return {};
  return { serviceProblem: () => problems.map((problem) => problem()).find((text) => text !== undefined) };
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

/** The folder of the agent's disk; by default one per cluster. */
function folderOf(cluster: ClusterId, { dataDir }: KubernetesAgentOptions, { cwd, env }: AgentIo): string {
  if (dataDir !== undefined) return resolve(cwd, dataDir);
  const { XDG_STATE_HOME: state = '', HOME: home = homedir() } = env;
  if (state !== '') return join(state, 'fleetrelay', 'agents', cluster);
  return isInPod(env) ? join(POD_STATE, cluster) : join(home, '.local', 'state', 'fleetrelay', 'agents', cluster);
}

/** The lease of a replica without leader election. */
function unopposed(clock: Clock): Lease {
  return {
    acquire: async () => ({ type: 'held', deadline: clock.monotonic() + ALWAYS_MS }),
    release: async () => {},
  };
}
