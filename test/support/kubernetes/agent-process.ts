import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AgentProcess, type Fleet, startFleet, until } from '../fleet-processes.ts';
import type { TestCluster } from '../test-clusters.ts';
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.ts';

/** One API server that several replicas of one agent work on, each as a user of its own, so that its audit log tells them apart. */
export interface AuditedPlane {
  readonly plane: ControlPlane;
  /** What users have asked, in the order in which it was answered. */
  audit(): readonly AuditedRequest[];
  stop(): Promise<void>;
}

export interface AuditedRequest {
  readonly user: string;
  readonly verb: string;
  readonly uri: string;
  /** When it was received, milliseconds since 1970. */
  readonly at: number;
  readonly status: number;
}

/** Does it change something? The lease is what replicas contend for, and no object of the fleet. */
export function isWrite({ verb, uri }: AuditedRequest): boolean {
  return ['create', 'update', 'patch', 'delete', 'deletecollection'].includes(verb) && !uri.includes('/leases');
}

export async function startAuditedPlane(
  replicas: readonly string[],
  options: Pick<ControlPlaneOptions, 'controllers'> = {},
): Promise<AuditedPlane> {
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-audit-'));
  const [policy, log] = [join(folder, 'policy.yaml'), join(folder, 'audit.log')];
  const rules = [{ level: 'Metadata', users: [...replicas], omitStages: ['RequestReceived'] }, { level: 'None' }];
  writeFileSync(policy, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules }));
  const plane = await startControlPlane({
    ...options,
    users: Object.fromEntries(replicas.map((name) => [name, ['system:masters']])),
    apiServerArgs: ['--audit-policy-file', policy, '--audit-log-path', log],
  });
  return {
    plane,
    audit: () => (existsSync(log) ? readFileSync(log, 'utf8').split('\n').flatMap(readEvent) : []),
    stop: async () => {
      await plane.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function readEvent(line: string): readonly AuditedRequest[] {
  // The last line may be half written.
  if (!line.endsWith('}')) return [];
  const { user, verb, requestURI, requestReceivedTimestamp, responseStatus } = JSON.parse(line);
  const at = Date.parse(requestReceivedTimestamp);
  return [{ user: user.username, verb, uri: requestURI, at, status: responseStatus?.code ?? 0 }];
}

/** A replica of an agent, a process. */
export interface ReplicaProcess extends AgentProcess {
  readonly name: string;
  startReplica(): Promise<void>;
  /** Lines with this message, since its first start. */
  said(message: string): readonly Readonly<Record<string, unknown>>[];
  /** Of `/readyz`, `/healthz` or `/metrics`. */
  health(path: string): Promise<{ readonly status: number; readonly text: string }>;
}

/** A fleet of one cluster, whose agent has these replicas. */
export async function startReplicatedFleet(
  files: Readonly<Record<string, string>>,
  { plane }: AuditedPlane,
  cluster: string,
): Promise<Fleet & { replica(name: string): ReplicaProcess }> {
  const refuse = async (): Promise<never> => {
    throw new Error('the API server is asked directly');
  };
  const take = async (folder: string): Promise<TestCluster> => {
    const name = folder.split('/').at(-1);
    const data = ['--data-dir', join(folder, 'agent'), '--metrics', '127.0.0.1:0'];
    const agentArgs = ['--kubeconfig', plane.kubeconfig(name), ...data];
    const nothing = { live: refuse, edit: refuse, remove: refuse, put: refuse, owned: refuse };
    return { agentArgs, ...nothing, pause: refuse, takeAway: refuse };
  };
  const clusters = { take, release: () => undefined, stop: async () => undefined };
  const fleet = await startFleet(files, { clusters });
  return { ...fleet, replica: (name) => replicaOf(name, fleet.agent(name), cluster) };
}

function replicaOf(name: string, agent: AgentProcess, cluster: string): ReplicaProcess {
  const said: ReplicaProcess['said'] = (message) => agent.logs.filter((line) => line.message === message);
  return {
    ...agent,
    name,
    said,
    startReplica: () => agent.start({ token: cluster, cluster }),
    health: async (path) => {
      const up = await until(`${name} serves health`, () => said('the agent is up').at(-1));
      const response = await fetch(`${String(up.health)}${path}`, { signal: AbortSignal.timeout(60_000) });
      return { status: response.status, text: await response.text() };
    },
  };
}
