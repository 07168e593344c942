import { isIP } from 'node:net';
import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import { openInventory } from '../../adapters/kubernetes/inventory/inventory.ts';
import { isJsonObject, type JsonObject, objectOf, textOf } from '../../model/json.ts';
import { errorText } from '../../model/messages.ts';
import { annotationOf, metadataOf } from '../../model/object-key.ts';
import { type Kube, type KubeTarget, openKube, refusalOf, systemDeps } from '../kube.ts';
import { type InstalledAgent, installedAgent } from '../manifests/installed-agent.ts';
import type { RunIo } from '../options.ts';
import { certificateOf, dateFinding, shownCertificate } from './certificates.ts';
import { agentFindings, crdFindings } from './deployment.ts';
import type { Finding } from './finding.ts';
import { rightsFindings } from './rights.ts';

const SKEW_MS = 30_000;

/** What is wrong with the agent in a cluster, as seen through its API server. Changes nothing, reads no Secret. */
export async function kubernetesFindings(
  target: KubeTarget,
  io: Pick<RunIo, 'cwd' | 'env' | 'version'>,
): Promise<readonly Finding[]> {
  const kube = await openKube(target, io).catch((error: unknown) => errorText(error));
  if (typeof kube === 'string') {
    return [
      {
        severity: 'error',
        area: 'kubernetes',
        reason: 'ApiServerUnusable',
        where: target.context ?? target.kubeconfig ?? 'kubeconfig',
        what: kube,
        fix: 'try: kubectl version, with the same --kubeconfig and --context',
      },
    ];
  }
  try {
    const clock = await clockFindings(kube);
    return [
      await versionFinding(kube),
      ...clock.findings,
      ...(await apiServerCertificate(kube)),
      ...crdFindings(kube.catalog, kube.client.server),
      ...(await insideFindings(kube, clock.now)),
    ];
  } finally {
    await kube.client.close();
  }
}

/** What lies in the agent's namespace; without the namespace there is nothing more to look at. */
async function insideFindings(kube: Kube, now: number): Promise<readonly Finding[]> {
  const { namespace } = kube;
  const resource = { group: '', version: 'v1', resource: 'namespaces' };
  const answer = await kube.client.request({ method: 'GET', path: resourcePath({ resource, name: namespace }) });
  const at = { area: 'kubernetes', where: `Namespace/${namespace}` } as const;
  if (answer.type !== 'ok') {
    const isMissing = answer.type === 'refused' && answer.status === 404;
    return [
      {
        ...at,
        severity: isMissing ? 'error' : 'unknown',
        reason: isMissing ? 'NamespaceMissing' : 'NamespaceUnreadable',
        what: isMissing ? `there is no namespace ${namespace} in ${kube.client.server}` : String(refusalOf(answer)),
        fix: isMissing
          ? 'name the namespace of the agent with -n, or install it: fleetrelay cluster register NAME --install'
          : 'look with a user who may read it',
      },
    ];
  }
  const agent = await installedAgent(kube);
  return [
    ...namespaceFindings(answer.body, at),
    ...(await agentFindings(kube, agent, now)),
    ...(await rightsFindings(kube, agent)),
    await inventoryFinding(kube),
    ...(await relayFindings(kube, agent, now)),
  ];
}

function namespaceFindings(
  body: JsonObject,
  at: { readonly area: 'kubernetes'; readonly where: string },
): readonly Finding[] {
  const found: Finding[] = [];
  if (objectOf(body.status).phase === 'Terminating') {
    found.push({ ...at, severity: 'error', reason: 'NamespaceTerminating', what: 'it is being deleted' });
  }
  if (annotationOf(body, 'fleetrelay.dev/paused') === 'true') {
    found.push({
      ...at,
      severity: 'warning',
      reason: 'ClusterPaused',
      what: 'the stop button is on: nothing is written in this cluster',
      fix: `kubectl annotate namespace ${textOf(metadataOf(body).name)} fleetrelay.dev/paused-`,
    });
  }
  return found;
}

async function versionFinding({ client }: Kube): Promise<Finding> {
  const at = { area: 'kubernetes', where: client.server } as const;
  const answer = await client.request({ method: 'GET', path: '/version' });
  if (answer.type !== 'ok') {
    return { ...at, severity: 'unknown', reason: 'VersionUnknown', what: `its version: ${refusalOf(answer)}` };
  }
  const version = String(answer.body.gitVersion);
  const minor = Number(/^v1\.(\d+)/.exec(version)?.[1] ?? 0);
  return minor >= 22
    ? { ...at, severity: 'ok', reason: 'ApiServerReachable', what: `the API server answers (${version})` }
    : {
        ...at,
        severity: 'error',
        reason: 'ApiServerOld',
        what: `the API server is ${version}; server-side apply needs 1.22 or later`,
      };
}

/** Compares the clock here with that of the API server, which stamps what it answers; also says who we are. */
async function clockFindings({
  client,
}: Kube): Promise<{ readonly findings: readonly Finding[]; readonly now: number }> {
  const { clock } = systemDeps();
  const at = { area: 'kubernetes', where: client.server } as const;
  const asked = clock.now();
  const answer = await client.request({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  });
  const { metadata } = answer.type === 'ok' ? answer.body : {};
  const stamped = isJsonObject(metadata) ? Date.parse(String(metadata.creationTimestamp)) : Number.NaN;
  if (Number.isNaN(stamped)) return { findings: [], now: clock.now() };
  const skew = stamped - asked;
  if (Math.abs(skew) <= SKEW_MS) return { findings: [], now: stamped };
  const what = `its clock is ${Math.abs(Math.round(skew / 1000))} s ${skew > 0 ? 'ahead of' : 'behind'} the one here`;
  const fix = 'set the clocks right (NTP): leases and certificates depend on them';
  return { findings: [{ ...at, severity: 'warning', reason: 'ClockSkew', what, fix }], now: stamped };
}

async function apiServerCertificate({ client }: Kube): Promise<readonly Finding[]> {
  const url = URL.canParse(client.server) ? new URL(client.server) : undefined;
  if (url?.protocol !== 'https:') return [];
  const shown = await shownCertificate(url.hostname.replaceAll(/[[\]]/g, ''), Number(url.port || 443), undefined);
  if (shown.type === 'silent') return [];
  return [dateFinding(shown.certificate, 'the API server', client.server, systemDeps().clock.now())];
}

async function inventoryFinding(kube: Kube): Promise<Finding> {
  const { namespace, client } = kube;
  const at = { area: 'kubernetes', where: `ConfigMap/${namespace}/fleetrelay-inventory` } as const;
  const loaded = await openInventory({ ...systemDeps(), client }, { namespace })
    .load()
    .catch((error: unknown) => errorText(error));
  if (typeof loaded === 'string') return { ...at, severity: 'unknown', reason: 'InventoryUnreadable', what: loaded };
  switch (loaded.type) {
    case 'missing':
      return {
        ...at,
        severity: 'warning',
        reason: 'InventoryMissing',
        what: 'there is no inventory yet: no agent has led here, or somebody has removed it',
        fix: 'a leading agent makes it, and enters what bears its stamp',
      };
    case 'damaged':
      return {
        ...at,
        severity: 'error',
        reason: 'InventoryDamaged',
        what: loaded.message,
        fix: `restore it from a backup, or: kubectl -n ${namespace} delete configmap fleetrelay-inventory (the agent then enters what bears its stamp)`,
      };
    case 'found': {
      const { fleet } = loaded.state;
      const what = `${loaded.records.length} objects of the fleet ${fleet ?? '(none)'} are in the inventory`;
      return { ...at, severity: 'ok', reason: 'InventoryReadable', what };
    }
  }
}

/** The relay as the agent is told to reach it, dialled from here. */
async function relayFindings(kube: Kube, agent: InstalledAgent, now: number): Promise<readonly Finding[]> {
  const server = await settingOf(kube, agent.settings, 'server');
  if (server === undefined) return [];
  const ca = agent.authority && (await settingOf(kube, agent.authority.name, agent.authority.key));
  const found: Finding[] = [];
  const authority = ca === undefined ? undefined : certificateOf(ca);
  if (ca !== undefined) {
    const where = `ConfigMap/${kube.namespace}/${agent.authority?.name}`;
    found.push(
      authority === undefined
        ? {
            severity: 'error',
            area: 'kubernetes',
            reason: 'AuthorityUnreadable',
            where,
            what: 'it holds no certificate',
            fix: "the server's is trust/ca.crt in its data directory",
          }
        : dateFinding(authority, "the server's authority", where, now),
    );
  }
  return [...found, ...(await dialFindings(server, ca, now))];
}

async function dialFindings(server: string, ca: string | undefined, now: number): Promise<readonly Finding[]> {
  const at = { area: 'kubernetes', where: server } as const;
  const colon = server.lastIndexOf(':');
  const host = server.slice(0, colon).replaceAll(/[[\]]/g, '');
  const shown = await shownCertificate(host, Number(server.slice(colon + 1)), ca);
  if (shown.type === 'silent') {
    const what = `the server that the agent is told to reach does not answer from here: ${shown.message}`;
    const fix =
      isIP(host) === 0 ? 'from inside the cluster it may; see the log of the agent' : 'see the log of the agent';
    return [{ ...at, severity: 'unknown', reason: 'RelayUnreachableFromHere', what, fix }];
  }
  const dates = dateFinding(shown.certificate, 'the server', server, now);
  if (shown.distrust === undefined) return [dates];
  const fix = `the server's authority is trust/ca.crt in its data directory; a name is added with: fleetrelay serve --tls-name ${host}`;
  const what = `the agent will not trust the server: ${shown.distrust}`;
  return [dates, { ...at, severity: 'error', reason: 'RelayNotTrusted', what, fix }];
}

async function settingOf({ client, namespace }: Kube, name: string, key: string): Promise<string | undefined> {
  const resource = { group: '', version: 'v1', resource: 'configmaps' };
  const answer = await client.request({ method: 'GET', path: resourcePath({ resource, namespace, name }) });
  const { data } = answer.type === 'ok' ? answer.body : {};
  const value = isJsonObject(data) ? data[key] : undefined;
  return typeof value === 'string' ? value : undefined;
}
