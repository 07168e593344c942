import { isIP } from 'node:net';
import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import { openInventory } from '../../adapters/kubernetes/inventory/inventory.ts';
import { LEASES } from '../../adapters/kubernetes/lease.ts';
import { customKinds, engineKinds, resourceKindOf } from '../../model/fleet/engine-kinds.ts';
import { annotationOf, metadataOf } from '../../model/objects/object-key.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../model/text/json.ts';
import { errorText } from '../../model/text/messages.ts';
import { AGENT_LEASE } from '../agent/names.ts';
import {
  isMissing,
  type Kube,
  type KubeIo,
  type KubeResource,
  METADATA_ONLY,
  OUR_PARTS,
  openKube,
  RESOURCES,
  read,
  refusalOf,
  systemDeps,
} from '../kube.ts';
import { type InstalledAgent, installedAgent } from '../manifests/installed-agent.ts';
import type { KubeTarget } from '../options.ts';
import { certificateOf, dateRows, shownCertificate } from './certificates.ts';
import { type Finding, type Fixes, findingsOf, firstOf, type Row } from './finding.ts';
import { rightsRows } from './rights.ts';
import { serverBesideFindings } from './server-beside.ts';
import { webhookRows } from './webhook.ts';

const SKEW_MS = 30_000;

/** Findings about the agent in a cluster, as its API server shows it. Changes nothing, reads no Secret. */
export async function kubernetesFindings(target: KubeTarget, io: KubeIo): Promise<readonly Finding[]> {
  const opened = await openKube(target, io).catch(errorText);
  if (typeof opened === 'string') {
    const where = target.context ?? target.kubeconfig ?? 'kubeconfig';
    const fix = 'try: kubectl version, with the same --kubeconfig and --context';
    return findingsAt(where, [[true, 'error', 'ApiServerUnusable', opened, fix]]);
  }
  await using kube = opened;
  const { rows, now } = await clockRows(kube);
  return [
    ...findingsAt(kube.client.server, [
      ...(await versionRows(kube)),
      ...rows,
      ...(await apiServerCertificateRows(kube)),
      ...kindRows(kube),
    ]),
    ...(await namespaceFindings(kube, now)),
  ];
}

function findingsAt(where: string, rows: readonly Row[], fixes?: Fixes): readonly Finding[] {
  return findingsOf({ area: 'kubernetes', where }, rows, fixes);
}

async function versionRows({ client }: Kube): Promise<readonly Row[]> {
  const answer = await client.request({ method: 'GET', path: '/version' });
  if (answer.type !== 'ok') return [[true, 'unknown', 'VersionUnknown', `its version: ${refusalOf(answer)}`]];
  const version = String(answer.body.gitVersion);
  const isOld = Number(/^v1\.(\d+)/.exec(version)?.[1] ?? 0) < 27;
  return [
    [!isOld, 'ok', 'ApiServerReachable', `the API server answers (${version})`],
    [isOld, 'error', 'ApiServerOld', `the API server is ${version}; fleetrelay needs 1.27 or later`],
  ];
}

/** Compares the clock here with that of the API server, which stamps a review of the user. `now`: by the API server. */
async function clockRows({ client }: Kube): Promise<{ readonly rows: readonly Row[]; readonly now: number }> {
  const { clock } = systemDeps();
  const asked = clock.now();
  const answer = await client.request({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  });
  const stamped = answer.type === 'ok' ? Date.parse(textOf(metadataOf(answer.body).creationTimestamp)) : Number.NaN;
  if (Number.isNaN(stamped)) return { rows: [], now: clock.now() };
  const skew = stamped - asked;
  const what = `its clock is ${Math.abs(Math.round(skew / 1000))} s ${skew > 0 ? 'ahead of' : 'behind'} the one here`;
  const fix = 'set the clocks right (NTP): leases and certificates depend on them';
  return { rows: [[Math.abs(skew) > SKEW_MS, 'warning', 'ClockSkew', what, fix]], now: stamped };
}

async function apiServerCertificateRows({ client }: Kube): Promise<readonly Row[]> {
  const url = URL.canParse(client.server) ? new URL(client.server) : undefined;
  if (url?.protocol !== 'https:') return [];
  const shown = await shownCertificate(url.hostname.replaceAll(/[[\]]/g, ''), Number(url.port || 443), undefined);
  return shown.type === 'silent' ? [] : dateRows(shown.certificate, 'the API server', systemDeps().clock.now());
}

/** The kinds of fleetrelay that this API server has; a workload cluster needs none of them. */
function kindRows({ catalog }: Kube): readonly Row[] {
  const wanted = customKinds.filter((id) => !engineKinds[id].isForeign).map(resourceKindOf);
  if (wanted.every(({ group, kind }) => catalog.find(group, kind) === undefined)) return [];
  const lacking = wanted.filter(
    ({ group, version, kind }) => catalog.find(group, kind, version)?.subresources.includes('status') !== true,
  );
  const names = lacking.map(({ group, version, kind }) => `${kind}.${version}.${group}`).join(', ');
  const what = `these kinds are missing here, or lack a status: ${names}`;
  return firstOf([
    [lacking.length === 0, 'ok', 'KindsInstalled', "fleetrelay's kinds are installed"],
    [true, 'error', 'KindsOutdated', what, 'kubectl apply --server-side -f deploy/crds/'],
  ]);
}

/** Findings in the agent's namespace. Without the namespace there is nothing more to look at. */
async function namespaceFindings(kube: Kube, now: number): Promise<readonly Finding[]> {
  const { namespace, client } = kube;
  const where = `Namespace/${namespace}`;
  const answer = await client.request({
    method: 'GET',
    path: resourcePath({ resource: RESOURCES.namespaces, name: namespace }),
  });
  if (answer.type !== 'ok') {
    const what = `there is no namespace ${namespace} in ${client.server}`;
    const fix =
      'name the namespace of the agent with -n, or install it: fleetrelay cluster register NAME --install --help';
    const rows = firstOf([
      [isMissing(answer), 'error', 'NamespaceMissing', what, fix],
      [true, 'unknown', 'NamespaceUnreadable', refusalOf(answer) ?? '', 'look with a user who may read it'],
    ]);
    return findingsAt(where, rows);
  }
  const agent = await installedAgent(kube);
  const fixes = fixesFor(namespace, agent);
  const isPaused = annotationOf(answer.body, 'fleetrelay.dev/paused') === 'true';
  const isEnding = objectOf(answer.body.status).phase === 'Terminating';
  return [
    ...findingsAt(
      where,
      [
        [isEnding, 'error', 'NamespaceTerminating', 'it is being deleted'],
        [isPaused, 'warning', 'ClusterPaused', 'the stop button is on: nothing is written in this cluster'],
      ],
      fixes,
    ),
    ...(await Promise.all(questionsAbout(agent, now).map((question) => ask(kube, question, fixes)))).flat(),
    ...(await podFindings(kube)),
    ...findingsAt(`system:serviceaccount:${namespace}:${agent.serviceAccount}`, await rightsRows(kube, agent), fixes),
    ...(await webhookFindings(kube, agent, now, fixes)),
    ...findingsAt(`ConfigMap/${namespace}/fleetrelay-inventory`, await inventoryRows(kube), fixes),
    ...(await relayFindings(kube, agent, now)),
    ...(await serverBesideFindings(kube, agent, (await settingOf(kube, agent.settings, 'server')) ?? '')),
  ];
}

async function webhookFindings(
  kube: Kube,
  { webhook }: InstalledAgent,
  now: number,
  fixes: Fixes,
): Promise<readonly Finding[]> {
  if (webhook === undefined) return [];
  const { configuration } = webhook;
  const where = `MutatingWebhookConfiguration.admissionregistration.k8s.io/${configuration}`;
  return findingsAt(where, await webhookRows(kube, configuration, now), fixes);
}

/** The commands that mend what is wrong in the agent's namespace. */
function fixesFor(namespace: string, { deployment, tokenSecret }: InstalledAgent): Fixes {
  const kubectl = `kubectl -n ${namespace}`;
  const logs = `${kubectl} logs deployment/${deployment}`;
  return {
    ClusterPaused: `kubectl annotate namespace ${namespace} fleetrelay.dev/paused-`,
    AgentMissing:
      'fleetrelay cluster register NAME --install --server HOST:PORT --data-dir DIR --namespaces NS,... (or --allow all-namespaces)',
    AgentScaledDown: `${kubectl} scale deployment ${deployment} --replicas=2`,
    AgentNotReady: `${kubectl} describe deployment ${deployment}; ${logs}`,
    TokenMissing: `where the server is: fleetrelay cluster token NAME --data-dir DIR | ${kubectl} create secret generic ${tokenSecret} --from-file=token=/dev/stdin`,
    WebhookMissing:
      'install it again: fleetrelay cluster register NAME --install --with-webhook --server HOST:PORT with the options of its installation (or helm upgrade, kubectl apply -k)',
    WebhookNotTrusted: logs,
    NeverLed: logs,
    NoLeader: logs,
    LeaseExpired: logs,
    RightsMissing:
      'apply its roles again: fleetrelay cluster register NAME --install --server HOST:PORT with the options of its installation (the manifests are the same)',
    NothingWritable:
      'fleetrelay cluster register NAME --install --server HOST:PORT --namespaces NS,... (or --allow all-namespaces); kustomize: an overlay of agent-apply-namespace',
    InventoryMissing: 'a leading agent makes it, and enters what bears its stamp',
    InventoryDamaged: `restore it from a backup, or: ${kubectl} delete configmap fleetrelay-inventory (the agent then enters what bears its stamp)`,
  };
}

/** An object of the namespace: the error if it does not exist, and the rows that it gives otherwise. */
type Question = readonly [
  resource: KubeResource,
  kind: string,
  name: string,
  missing: readonly [reason: string, what: string],
  judge: (object: JsonObject) => readonly Row[],
];

function questionsAbout({ deployment, tokenSecret }: InstalledAgent, now: number): readonly Question[] {
  const { deployments, secrets } = RESOURCES;
  const there: readonly Row[] = [[true, 'ok', 'TokenThere', 'the token of the agent is there']];
  const noToken = ['TokenMissing', 'the token of the agent is not there'] as const;
  const noAgent = ['AgentMissing', 'the agent is not installed here'] as const;
  const noLease = ['NeverLed', 'no agent has ever led here'] as const;
  return [
    [deployments, 'Deployment.apps', deployment, noAgent, deploymentRows],
    [secrets, 'Secret', tokenSecret, noToken, () => there],
    [LEASES, 'Lease.coordination.k8s.io', AGENT_LEASE, noLease, (lease) => leaseRows(lease, now)],
  ];
}

async function ask(kube: Kube, question: Question, fixes: Fixes): Promise<readonly Finding[]> {
  const [resource, kind, name, missing, judge] = question;
  // Of a Secret only whether it exists: its content is not asked for.
  const answer = await read(kube, resource, { name, ...(kind === 'Secret' ? { accept: METADATA_ONLY } : {}) });
  const other = firstOf([
    [isMissing(answer), 'error', ...missing],
    [true, 'unknown', 'ObjectUnreadable', refusalOf(answer) ?? ''],
  ]);
  return findingsAt(`${kind}/${kube.namespace}/${name}`, answer.type === 'ok' ? judge(answer.body) : other, fixes);
}

function deploymentRows({ spec, status }: JsonObject): readonly Row[] {
  const wanted = numberOf(objectOf(spec).replicas) ?? 1;
  const ready = numberOf(objectOf(status).readyReplicas) ?? 0;
  const what = `${ready} of ${wanted} replicas are ready`;
  return firstOf([
    [wanted === 0, 'error', 'AgentScaledDown', 'it has no replicas'],
    [ready >= wanted, 'ok', 'AgentReady', what],
    [true, ready === 0 ? 'error' : 'warning', 'AgentNotReady', what],
  ]);
}

function leaseRows({ spec }: JsonObject, now: number): readonly Row[] {
  const { holderIdentity, renewTime, leaseDurationSeconds } = objectOf(spec);
  const holder = textOf(holderIdentity);
  const renewed = Date.parse(textOf(renewTime));
  const isOver = Number.isNaN(renewed) || now - renewed > (numberOf(leaseDurationSeconds) ?? 15) * 1000;
  const since = Number.isNaN(renewed) ? 'it was never renewed' : `last renewed ${new Date(renewed).toISOString()}`;
  return firstOf([
    [holder === '', 'error', 'NoLeader', 'no agent leads: the last one has given the lease back'],
    [isOver, 'error', 'LeaseExpired', `no agent leads: the lease of ${holder} has run out (${since})`],
    [true, 'ok', 'LeaderThere', `${holder} leads`],
  ]);
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** Containers of ours that wait for something else than their creation. */
async function podFindings(kube: Kube): Promise<readonly Finding[]> {
  const answer = await read(kube, RESOURCES.pods, { query: OUR_PARTS });
  const pods = answer.type === 'ok' ? objectsOf(answer.body.items) : [];
  return pods.flatMap((pod) => {
    const name = textOf(metadataOf(pod).name);
    const fix = `kubectl -n ${kube.namespace} logs ${name} --previous`;
    return objectsOf(objectOf(pod.status).containerStatuses).flatMap(({ state }) => {
      const { waiting } = objectOf(state);
      const { reason = 'PodWaiting', message = reason } = objectOf(waiting);
      const isWaiting = waiting !== undefined && reason !== 'ContainerCreating';
      return findingsAt(`Pod/${kube.namespace}/${name}`, [[isWaiting, 'error', String(reason), String(message), fix]]);
    });
  });
}

async function inventoryRows({ client, namespace }: Kube): Promise<readonly Row[]> {
  const loaded = await openInventory({ ...systemDeps(), client }, { namespace })
    .load()
    .catch(errorText);
  if (typeof loaded === 'string') return [[true, 'unknown', 'InventoryUnreadable', loaded]];
  switch (loaded.type) {
    case 'missing':
      return [[true, 'warning', 'InventoryMissing', 'there is no inventory: no agent has led here, or it was removed']];
    case 'damaged':
      return [[true, 'error', 'InventoryDamaged', loaded.message]];
    case 'found': {
      const fleet = loaded.state.fleet ?? '(none)';
      const what = `${loaded.records.length} objects of the fleet ${fleet} are in the inventory`;
      return [[true, 'ok', 'InventoryReadable', what]];
    }
  }
}

/** Returns findings about the server's certificate, as this machine sees it at the address that the agent has. */
async function relayFindings(kube: Kube, agent: InstalledAgent, now: number): Promise<readonly Finding[]> {
  const server = await settingOf(kube, agent.settings, 'server');
  if (server === undefined) return [];
  const ca = agent.authority && (await settingOf(kube, agent.authority.name, agent.authority.key));
  const authority = ca === undefined ? undefined : certificateOf(ca);
  const fix = "the server's CA certificate is trust/ca.crt in its data directory";
  return [
    ...findingsAt(`ConfigMap/${kube.namespace}/${agent.authority?.name}`, [
      [ca !== undefined && authority === undefined, 'error', 'AuthorityUnreadable', 'it holds no certificate', fix],
      ...(authority === undefined ? [] : dateRows(authority, "the server's authority", now)),
    ]),
    ...findingsAt(server, await dialRows(server, ca, now)),
  ];
}

async function dialRows(server: string, ca: string | undefined, now: number): Promise<readonly Row[]> {
  const colon = server.lastIndexOf(':');
  const host = server.slice(0, colon).replaceAll(/[[\]]/g, '');
  const shown = await shownCertificate(host, Number(server.slice(colon + 1)), ca);
  if (shown.type === 'silent') {
    const what = `the server does not answer from here at the address that the agent uses: ${shown.message}`;
    const log = 'see the log of the agent';
    const fix = isIP(host) === 0 ? `from inside the cluster it may; ${log}` : log;
    return [[true, 'unknown', 'RelayUnreachableFromHere', what, fix]];
  }
  const { certificate, distrust } = shown;
  const fix = `the server's authority is trust/ca.crt in its data directory; a name is added with: fleetrelay serve --tls-name ${host}`;
  return [
    ...dateRows(certificate, 'the server', now),
    [distrust !== undefined, 'error', 'RelayNotTrusted', `the agent will not trust the server: ${distrust}`, fix],
  ];
}

async function settingOf(kube: Kube, name: string, key: string): Promise<string | undefined> {
  const answer = await read(kube, RESOURCES.configMaps, { name });
  const value = answer.type === 'ok' ? objectOf(answer.body.data)[key] : undefined;
  return typeof value === 'string' ? value : undefined;
}
