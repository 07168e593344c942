import { resolve } from 'node:path';
import { errorText } from '../../model/text/messages.ts';
import { type KubeIo, openKube, systemDeps } from '../kube.ts';
import type { KubeTarget } from '../options.ts';
import { type Checkout, readCheckout } from '../read-checkout.ts';
import { type AgentSubject, agentSubject, deployment, inventory, lease, namespace, pods, token } from './agent.ts';
import { type ApiServerSubject, apiServerSubject, clock, kinds, version } from './api-server.ts';
import { apiServerCertificate, relayCertificate } from './certificates.ts';
import type { Finding, Found } from './finding.ts';
import {
  clusters,
  diagnostics,
  type FleetSubject,
  heldRemovals,
  safeMode,
  server,
  sources,
  statusBranch,
  undeclaredAgents,
} from './fleet.ts';
import { repository } from './repository.ts';
import { rights } from './rights.ts';
import { serverBeside } from './server-beside.ts';
import { webhook } from './webhook.ts';

/** A row of the table of checks. */
interface Check<Subject> {
  readonly id: string;
  readonly area: Finding['area'];
  /** Throws with a text for a person if it cannot look: that is a finding of unknown severity. */
  readonly run: (subject: Subject) => readonly Found[] | Promise<readonly Found[]>;
}

/** Every check, by the subject that it needs, in the order of the findings. */
export const CHECKS = {
  /** What a server reports about its fleet. */
  fleet: [
    { id: 'server', area: 'server', run: server },
    { id: 'sources', area: 'source', run: sources },
    { id: 'diagnostics', area: 'source', run: diagnostics },
    { id: 'status-branch', area: 'server', run: statusBranch },
    { id: 'held-removals', area: 'cluster', run: heldRemovals },
    { id: 'undeclared-agents', area: 'cluster', run: undeclaredAgents },
    { id: 'safe-mode', area: 'cluster', run: safeMode },
    { id: 'clusters', area: 'cluster', run: clusters },
  ] satisfies readonly (Check<FleetSubject> & { readonly run: (subject: FleetSubject) => readonly Found[] })[],
  checkout: [{ id: 'checkout', area: 'repository', run: repository }] satisfies readonly Check<Checkout>[],
  apiServer: [
    { id: 'version', area: 'kubernetes', run: version },
    { id: 'clock', area: 'kubernetes', run: clock },
    { id: 'api-server-certificate', area: 'kubernetes', run: apiServerCertificate },
    { id: 'kinds', area: 'kubernetes', run: kinds },
  ] satisfies readonly Check<ApiServerSubject>[],
  /** The namespace of an agent in the cluster of that API server. */
  agent: [
    { id: 'namespace', area: 'kubernetes', run: namespace },
    { id: 'deployment', area: 'kubernetes', run: deployment },
    { id: 'token', area: 'kubernetes', run: token },
    { id: 'lease', area: 'kubernetes', run: lease },
    { id: 'pods', area: 'kubernetes', run: pods },
    { id: 'rights', area: 'kubernetes', run: rights },
    { id: 'webhook', area: 'kubernetes', run: webhook },
    { id: 'inventory', area: 'kubernetes', run: inventory },
    { id: 'relay-certificate', area: 'kubernetes', run: relayCertificate },
    { id: 'server-beside', area: 'kubernetes', run: serverBeside },
  ] satisfies readonly Check<AgentSubject>[],
} as const;

/** What is to be looked at; a part that is absent is not looked at. */
export interface CheckRequest {
  readonly fleet?: FleetSubject | undefined;
  /** Folder of a checkout. */
  readonly checkout?: string | undefined;
  /** The cluster of an agent. */
  readonly kube?: KubeTarget | undefined;
}

/**
 * The findings of all checks whose subject is asked for, in the order of the table. Changes nothing, reads no Secret. A subject that
 * cannot be had is a finding, and so is a check that fails.
 */
export async function runChecks({ fleet, checkout, kube }: CheckRequest, io: KubeIo): Promise<readonly Finding[]> {
  const parts = await Promise.all([
    fleet === undefined ? [] : run(CHECKS.fleet, fleet),
    checkout === undefined ? [] : runOnCheckout(checkout, io),
    kube === undefined ? [] : runOnCluster(kube, io),
  ]);
  return parts.flat();
}

async function runOnCheckout(folder: string, { cwd }: KubeIo): Promise<readonly Finding[]> {
  const checkout = await readCheckout(systemDeps(), resolve(cwd, folder)).catch(errorText);
  if (typeof checkout !== 'string') return run(CHECKS.checkout, { ...checkout, folder });
  return [{ severity: 'error', area: 'repository', reason: 'FolderUnreadable', where: folder, what: checkout }];
}

async function runOnCluster(target: KubeTarget, io: KubeIo): Promise<readonly Finding[]> {
  const area = 'kubernetes';
  const opened = await openKube(target, io).catch(errorText);
  if (typeof opened === 'string') {
    const where = target.context ?? target.kubeconfig ?? 'kubeconfig';
    const fix = 'try: kubectl version, with the same --kubeconfig and --context';
    return [{ severity: 'error', area, reason: 'ApiServerUnusable', where, what: opened, fix }];
  }
  await using kube = opened;
  const apiServer = await apiServerSubject(kube);
  const agent = await agentSubject(apiServer);
  return [
    ...(await run(CHECKS.apiServer, apiServer)),
    ...('missing' in agent
      ? agent.missing.map((each) => ({ ...each, area }) as const)
      : await run(CHECKS.agent, agent)),
  ];
}

async function run<Subject>(checks: readonly Check<Subject>[], subject: Subject): Promise<readonly Finding[]> {
  const findings = checks.map(async ({ id, area, run: runOne }): Promise<readonly Finding[]> => {
    try {
      return (await runOne(subject)).map((found) => ({ ...found, area }));
    } catch (error) {
      return [{ severity: 'unknown', area, reason: 'CheckFailed', where: id, what: errorText(error) }];
    }
  });
  return (await Promise.all(findings)).flat();
}
