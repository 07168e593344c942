import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import type { ApiCatalog } from '../../adapters/kubernetes/api/types.ts';
import { LEASES } from '../../adapters/kubernetes/lease.ts';
import { customKinds, engineKinds, resourceKindOf } from '../../model/engine-kinds.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectsOf } from '../../model/json.ts';
import { AGENT_LEASE } from '../agent/agent-lease.ts';
import { type Kube, METADATA_ONLY, refusalOf } from '../kube.ts';
import type { InstalledAgent } from '../manifests/installed-agent.ts';
import type { Finding } from './finding.ts';

const REINSTALL = 'fleetrelay cluster register NAME --install --server HOST:PORT --data-dir DIR';

/** The agent's Deployment, pods, token and lease. `now`: by the clock of the API server. */
export async function agentFindings(kube: Kube, agent: InstalledAgent, now: number): Promise<readonly Finding[]> {
  return [
    ...(await deploymentFindings(kube, agent)),
    await tokenFinding(kube, agent),
    await leaseFinding(kube, agent, now),
  ];
}

/** The kinds of fleetrelay that this API server has; a workload cluster needs none of them. */
export function crdFindings(catalog: ApiCatalog, where: string): readonly Finding[] {
  const wanted = customKinds.filter((id) => !engineKinds[id].isForeign).map(resourceKindOf);
  const at = { area: 'kubernetes', where } as const;
  const has = wanted.filter(({ group, kind }) => catalog.find(group, kind) !== undefined);
  if (has.length === 0) return [];
  const lacking = wanted.filter(({ group, version, kind }) => {
    const found = catalog.find(group, kind, version);
    return found === undefined || !found.subresources.includes('status');
  });
  if (lacking.length === 0) {
    return [{ ...at, severity: 'ok', reason: 'KindsInstalled', what: "fleetrelay's kinds are installed" }];
  }
  const names = lacking.map(({ group, version, kind }) => `${kind}.${version}.${group}`).join(', ');
  return [
    {
      ...at,
      severity: 'error',
      reason: 'KindsOutdated',
      what: `these kinds are missing here, or lack a status: ${names}`,
      fix: 'kubectl apply --server-side -f deploy/crds/',
    },
  ];
}

async function deploymentFindings(kube: Kube, { deployment: name }: InstalledAgent): Promise<readonly Finding[]> {
  const { namespace } = kube;
  const at = { area: 'kubernetes', where: `Deployment.apps/${namespace}/${name}` } as const;
  const answer = await get(kube, { group: 'apps', version: 'v1', resource: 'deployments' }, name);
  if (answer.type !== 'ok') {
    const isMissing = answer.type === 'refused' && answer.status === 404;
    return [
      isMissing
        ? { ...at, severity: 'error', reason: 'AgentMissing', what: 'the agent is not installed here', fix: REINSTALL }
        : { ...at, severity: 'unknown', reason: 'AgentUnreadable', what: String(refusalOf(answer)) },
    ];
  }
  const wanted = numberAt(answer.body, 'spec', 'replicas') ?? 1;
  const ready = numberAt(answer.body, 'status', 'readyReplicas') ?? 0;
  if (wanted === 0) {
    const fix = `kubectl -n ${namespace} scale deployment ${name} --replicas=2`;
    return [{ ...at, severity: 'error', reason: 'AgentScaledDown', what: 'it has no replicas', fix }];
  }
  const troubles = await podTroubles(kube);
  if (ready >= wanted) {
    return [
      { ...at, severity: 'ok', reason: 'AgentReady', what: `${ready} of ${wanted} replicas are ready` },
      ...troubles,
    ];
  }
  return [
    {
      ...at,
      severity: ready === 0 ? 'error' : 'warning',
      reason: 'AgentNotReady',
      what: `${ready} of ${wanted} replicas are ready`,
      fix: `kubectl -n ${namespace} describe deployment ${name}; kubectl -n ${namespace} logs deployment/${name}`,
    },
    ...troubles,
  ];
}

async function podTroubles({ client, namespace }: Kube): Promise<readonly Finding[]> {
  const path = resourcePath({ resource: { group: '', version: 'v1', resource: 'pods' }, namespace });
  const query = { labelSelector: 'app.kubernetes.io/part-of=fleetrelay' };
  const answer = await client.request({ method: 'GET', path, query });
  if (answer.type !== 'ok') return [];
  return objectsOf(answer.body.items).flatMap((pod) => {
    const name = textAt(pod, 'metadata', 'name') ?? '';
    const statuses = objectsOf(isJsonObject(pod.status) ? pod.status.containerStatuses : undefined);
    return statuses.flatMap(({ state }): readonly Finding[] => {
      const waiting = isJsonObject(state) && isJsonObject(state.waiting) ? state.waiting : undefined;
      if (waiting === undefined || waiting.reason === 'ContainerCreating') return [];
      return [
        {
          severity: 'error',
          area: 'kubernetes',
          reason: String(waiting.reason ?? 'PodWaiting'),
          where: `Pod/${namespace}/${name}`,
          what: String(waiting.message ?? waiting.reason ?? 'it waits'),
          fix: `kubectl -n ${namespace} logs ${name} --previous`,
        },
      ];
    });
  });
}

/** Is it there? Its content is not asked for. */
async function tokenFinding(kube: Kube, { tokenSecret }: InstalledAgent): Promise<Finding> {
  const { namespace } = kube;
  const at = { area: 'kubernetes', where: `Secret/${namespace}/${tokenSecret}` } as const;
  const resource = { group: '', version: 'v1', resource: 'secrets' };
  const answer = await get(kube, resource, tokenSecret, METADATA_ONLY);
  if (answer.type === 'ok')
    return { ...at, severity: 'ok', reason: 'TokenThere', what: 'the token of the agent is there' };
  if (answer.type === 'refused' && answer.status === 404) {
    return {
      ...at,
      severity: 'error',
      reason: 'TokenMissing',
      what: 'the token of the agent is not there',
      fix: `where the server is: fleetrelay cluster token NAME --data-dir DIR | kubectl -n ${namespace} create secret generic ${tokenSecret} --from-file=token=/dev/stdin`,
    };
  }
  return { ...at, severity: 'unknown', reason: 'TokenUnknown', what: String(refusalOf(answer)) };
}

async function leaseFinding(kube: Kube, { deployment }: InstalledAgent, now: number): Promise<Finding> {
  const { namespace } = kube;
  const at = { area: 'kubernetes', where: `Lease.coordination.k8s.io/${namespace}/${AGENT_LEASE}` } as const;
  const answer = await get(kube, LEASES, AGENT_LEASE);
  const fix = `kubectl -n ${namespace} logs deployment/${deployment}`;
  if (answer.type === 'refused' && answer.status === 404) {
    return { ...at, severity: 'error', reason: 'NeverLed', what: 'no agent has ever led here', fix };
  }
  if (answer.type !== 'ok')
    return { ...at, severity: 'unknown', reason: 'LeaseUnknown', what: String(refusalOf(answer)) };
  const holder = textAt(answer.body, 'spec', 'holderIdentity') ?? '';
  const renewed = Date.parse(textAt(answer.body, 'spec', 'renewTime') ?? '');
  const seconds = numberAt(answer.body, 'spec', 'leaseDurationSeconds') ?? 15;
  if (holder === '') {
    return {
      ...at,
      severity: 'error',
      reason: 'NoLeader',
      what: 'no agent leads: the last one has given the lease back',
      fix,
    };
  }
  if (Number.isNaN(renewed) || now - renewed > seconds * 1000) {
    const since = Number.isNaN(renewed) ? 'it was never renewed' : `last renewed ${new Date(renewed).toISOString()}`;
    const what = `no agent leads: the lease of ${holder} has run out (${since})`;
    return { ...at, severity: 'error', reason: 'LeaseExpired', what, fix };
  }
  return { ...at, severity: 'ok', reason: 'LeaderThere', what: `${holder} leads` };
}

function get(
  { client, namespace }: Kube,
  resource: { readonly group: string; readonly version: string; readonly resource: string },
  name: string,
  accept?: string,
) {
  const path = resourcePath({ resource, namespace, name });
  return client.request({ method: 'GET', path, ...(accept === undefined ? {} : { accept }) });
}

function memberAt(object: JsonObject, part: string, member: string): JsonValue | undefined {
  const inner = object[part];
  return isJsonObject(inner) ? inner[member] : undefined;
}

function numberAt(object: JsonObject, part: string, member: string): number | undefined {
  const value = memberAt(object, part, member);
  return typeof value === 'number' ? value : undefined;
}

function textAt(object: JsonObject, part: string, member: string): string | undefined {
  const value = memberAt(object, part, member);
  return typeof value === 'string' ? value : undefined;
}
