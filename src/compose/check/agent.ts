import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import { openInventory } from '../../adapters/kubernetes/inventory/inventory.ts';
import { LEASES } from '../../adapters/kubernetes/lease.ts';
import { annotationOf, metadataOf } from '../../model/objects/object-key.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../model/text/json.ts';
import { AGENT_LEASE } from '../agent/names.ts';
import {
  isMissing,
  type Kube,
  type KubeResource,
  METADATA_ONLY,
  OUR_PARTS,
  RESOURCES,
  read,
  refusalOf,
  systemDeps,
} from '../kube.ts';
import { type InstalledAgent, installedAgent } from '../manifests/installed-agent.ts';
import type { ApiServerSubject } from './api-server.ts';
import { type Fixes, type Found, firstOf, foundAt, type Row } from './finding.ts';

/** An agent in its namespace. */
export interface AgentSubject {
  readonly kube: Kube;
  /** By the API server, in milliseconds since 1970. */
  readonly now: number;
  readonly place: JsonObject;
  readonly agent: InstalledAgent;
  /** HOST:PORT of the server in its settings; undefined: there are none. */
  readonly server: string | undefined;
  /** What mends findings in this namespace. */
  readonly fixes: Fixes;
}

/** Looks for the namespace of an agent. Without it there is nothing more to look at: `missing` says so. */
export async function agentSubject({
  kube,
  now,
}: ApiServerSubject): Promise<AgentSubject | { readonly missing: readonly Found[] }> {
  const { namespace, client } = kube;
  const path = resourcePath({ resource: RESOURCES.namespaces, name: namespace });
  const answer = await client.request({ method: 'GET', path });
  if (answer.type === 'ok') {
    const agent = await installedAgent(kube);
    const server = await settingOf(kube, agent.settings, 'server');
    return { kube, now, place: answer.body, agent, server, fixes: fixesFor(namespace, agent) };
  }
  const what = `there is no namespace ${namespace} in ${client.server}`;
  const fix =
    'name the namespace of the agent with -n, or install it: fleetrelay cluster register NAME --install --help';
  const rows = firstOf([
    [isMissing(answer), 'error', 'NamespaceMissing', what, fix],
    [true, 'unknown', 'NamespaceUnreadable', refusalOf(answer) ?? '', 'look with a user who may read it'],
  ]);
  return { missing: foundAt(`Namespace/${namespace}`, rows) };
}

/** A member of a ConfigMap in the agent's namespace; undefined if it is not there. */
export async function settingOf(kube: Kube, name: string, key: string): Promise<string | undefined> {
  const answer = await read(kube, RESOURCES.configMaps, { name });
  const value = answer.type === 'ok' ? objectOf(answer.body.data)[key] : undefined;
  return typeof value === 'string' ? value : undefined;
}

/** The commands that mend what is wrong in the agent's namespace. */
function fixesFor(namespace: string, { deployment, tokenSecret }: InstalledAgent): Fixes {
  const kubectl = `kubectl -n ${namespace}`;
  const logs = `${kubectl} logs deployment/${deployment}`;
  const register = 'fleetrelay cluster register NAME --install';
  const again = `${register} --server HOST:PORT with the options of its installation`;
  const places = '--namespaces NS,... (or --allow all-namespaces)';
  return {
    ClusterPaused: `kubectl annotate namespace ${namespace} fleetrelay.dev/paused-`,
    AgentMissing: `${register} --server HOST:PORT --data-dir DIR ${places}`,
    AgentScaledDown: `${kubectl} scale deployment ${deployment} --replicas=2`,
    AgentNotReady: `${kubectl} describe deployment ${deployment}; ${logs}`,
    TokenMissing: `where the server is: fleetrelay cluster token NAME --data-dir DIR | ${kubectl} create secret generic ${tokenSecret} --from-file=token=/dev/stdin`,
    WebhookMissing: `install it again: ${register} --with-webhook --server HOST:PORT with the options of its installation (or helm upgrade, kubectl apply -k)`,
    WebhookNotTrusted: logs,
    NeverLed: logs,
    NoLeader: logs,
    LeaseExpired: logs,
    RightsMissing: `apply its roles again: ${again} (the manifests are the same)`,
    NothingWritable: `${register} --server HOST:PORT ${places}; kustomize: an overlay of agent-apply-namespace`,
    InventoryMissing: 'a leading agent makes it, and enters what bears its stamp',
    InventoryDamaged: `restore it from a backup, or: ${kubectl} delete configmap fleetrelay-inventory (the agent then enters what bears its stamp)`,
  };
}

export function namespace({ kube, place, fixes }: AgentSubject): readonly Found[] {
  const isPaused = annotationOf(place, 'fleetrelay.dev/paused') === 'true';
  const isEnding = objectOf(place.status).phase === 'Terminating';
  const rows: readonly Row[] = [
    [isEnding, 'error', 'NamespaceTerminating', 'it is being deleted'],
    [isPaused, 'warning', 'ClusterPaused', 'the stop button is on: nothing is written in this cluster'],
  ];
  return foundAt(`Namespace/${kube.namespace}`, rows, fixes);
}

/** Judges an object of the namespace; `missing` is the error if it does not exist. */
async function looked(
  { kube, fixes }: AgentSubject,
  [resource, kind, name]: readonly [KubeResource, kind: string, name: string],
  missing: readonly [reason: string, what: string],
  judge: (object: JsonObject) => readonly Row[],
): Promise<readonly Found[]> {
  // Of a Secret only whether it exists: its content is not asked for.
  const answer = await read(kube, resource, { name, ...(kind === 'Secret' ? { accept: METADATA_ONLY } : {}) });
  const other: readonly Row[] = [
    [isMissing(answer), 'error', ...missing],
    [true, 'unknown', 'ObjectUnreadable', refusalOf(answer) ?? ''],
  ];
  const rows = answer.type === 'ok' ? judge(answer.body) : other;
  return foundAt(`${kind}/${kube.namespace}/${name}`, firstOf(rows), fixes);
}

export function deployment(subject: AgentSubject): Promise<readonly Found[]> {
  const noAgent = ['AgentMissing', 'the agent is not installed here'] as const;
  const object = [RESOURCES.deployments, 'Deployment.apps', subject.agent.deployment] as const;
  return looked(subject, object, noAgent, ({ spec, status }) => {
    const wanted = numberOf(objectOf(spec).replicas) ?? 1;
    const ready = numberOf(objectOf(status).readyReplicas) ?? 0;
    const what = `${ready} of ${wanted} replicas are ready`;
    return [
      [wanted === 0, 'error', 'AgentScaledDown', 'it has no replicas'],
      [ready >= wanted, 'ok', 'AgentReady', what],
      [true, ready === 0 ? 'error' : 'warning', 'AgentNotReady', what],
    ];
  });
}

export function token(subject: AgentSubject): Promise<readonly Found[]> {
  const noToken = ['TokenMissing', 'the token of the agent is not there'] as const;
  const object = [RESOURCES.secrets, 'Secret', subject.agent.tokenSecret] as const;
  return looked(subject, object, noToken, () => [[true, 'ok', 'TokenThere', 'the token of the agent is there']]);
}

export function lease(subject: AgentSubject): Promise<readonly Found[]> {
  const noLease = ['NeverLed', 'no agent has ever led here'] as const;
  return looked(subject, [LEASES, 'Lease.coordination.k8s.io', AGENT_LEASE], noLease, ({ spec }) => {
    const { holderIdentity, renewTime, leaseDurationSeconds } = objectOf(spec);
    const holder = textOf(holderIdentity);
    const renewed = Date.parse(textOf(renewTime));
    const never = Number.isNaN(renewed);
    const isOver = never || subject.now - renewed > (numberOf(leaseDurationSeconds) ?? 15) * 1000;
    const since = never ? 'it was never renewed' : `last renewed ${new Date(renewed).toISOString()}`;
    return [
      [holder === '', 'error', 'NoLeader', 'no agent leads: the last one has given the lease back'],
      [isOver, 'error', 'LeaseExpired', `no agent leads: the lease of ${holder} has run out (${since})`],
      [true, 'ok', 'LeaderThere', `${holder} leads`],
    ];
  });
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** Containers of ours that wait for something else than their creation. */
export async function pods({ kube }: AgentSubject): Promise<readonly Found[]> {
  const answer = await read(kube, RESOURCES.pods, { query: OUR_PARTS });
  const listed = answer.type === 'ok' ? objectsOf(answer.body.items) : [];
  return listed.flatMap((pod) => {
    const name = textOf(metadataOf(pod).name);
    const fix = `kubectl -n ${kube.namespace} logs ${name} --previous`;
    return objectsOf(objectOf(pod.status).containerStatuses).flatMap(({ state }) => {
      const { waiting } = objectOf(state);
      const { reason = 'PodWaiting', message = reason } = objectOf(waiting);
      const isWaiting = waiting !== undefined && reason !== 'ContainerCreating';
      return foundAt(`Pod/${kube.namespace}/${name}`, [[isWaiting, 'error', String(reason), String(message), fix]]);
    });
  });
}

export async function inventory({
  kube: { client, namespace: place },
  fixes,
}: AgentSubject): Promise<readonly Found[]> {
  const loaded = await openInventory({ ...systemDeps(), client }, { namespace: place }).load();
  const rows = (): Row => {
    switch (loaded.type) {
      case 'missing':
        return [true, 'warning', 'InventoryMissing', 'there is no inventory: no agent has led here, or it was removed'];
      case 'damaged':
        return [true, 'error', 'InventoryDamaged', loaded.message];
      case 'found': {
        const { records, state } = loaded;
        const what = `${records.length} objects of the fleet ${state.fleet ?? '(none)'} are in the inventory`;
        return [true, 'ok', 'InventoryReadable', what];
      }
    }
  };
  return foundAt(`ConfigMap/${place}/fleetrelay-inventory`, [rows()], fixes);
}
