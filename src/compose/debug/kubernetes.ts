import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import { openInventory } from '../../adapters/kubernetes/inventory/inventory.ts';
import { LEASES } from '../../adapters/kubernetes/lease.ts';
import { type JsonValue, objectsOf, textOf } from '../../model/json.ts';
import { errorText } from '../../model/messages.ts';
import { metadataOf } from '../../model/object-key.ts';
import { kubernetesFindings } from '../check/kubernetes.ts';
import { type Kube, type KubeTarget, openKube, refusalOf, systemDeps } from '../kube.ts';
import { installedAgent } from '../manifests/installed-agent.ts';
import type { RunIo } from '../options.ts';
import type { DebugPiece } from './piece.ts';

const CORE = { group: '', version: 'v1' };

/** What is asked for in the namespace of fleetrelay. No Secrets, and no ConfigMaps but the agent's settings. */
const LISTS = [
  { group: 'apps', version: 'v1', resource: 'deployments' },
  { group: 'apps', version: 'v1', resource: 'replicasets' },
  { ...CORE, resource: 'pods' },
  { ...CORE, resource: 'events' },
  { ...CORE, resource: 'services' },
  LEASES,
  { group: 'networking.k8s.io', version: 'v1', resource: 'networkpolicies' },
];

/** What the API server of a cluster says of fleetrelay's namespace there. */
export async function kubernetesPieces(
  target: KubeTarget,
  logLines: number,
  io: Pick<RunIo, 'cwd' | 'env' | 'version'>,
): Promise<readonly DebugPiece[]> {
  const kube = await openKube(target, io).catch((error: unknown) => errorText(error));
  if (typeof kube === 'string') return [{ path: 'kubernetes', type: 'missing', why: kube }];
  try {
    const findings = await kubernetesFindings(target, io);
    return [
      { path: 'kubernetes/check.json', type: 'json', value: findings.map((finding) => ({ ...finding })) },
      await one(kube, 'kubernetes/version.json', '/version'),
      { path: 'kubernetes/kinds.json', type: 'json', value: kindsOf(kube) },
      await one(kube, 'kubernetes/namespace.json', pathOf(kube, { ...CORE, resource: 'namespaces' }, true)),
      await one(
        kube,
        'kubernetes/settings.json',
        pathOf(kube, { ...CORE, resource: 'configmaps' }, (await installedAgent(kube)).settings),
      ),
      ...(await Promise.all(
        LISTS.map((resource) => one(kube, `kubernetes/${resource.resource}.json`, pathOf(kube, resource))),
      )),
      await inventoryPiece(kube),
      ...(await logPieces(kube, logLines)),
    ];
  } finally {
    await kube.client.close();
  }
}

/** `which` true: the namespace itself; a name: that object; nothing: all in the namespace. */
function pathOf(
  { namespace }: Kube,
  resource: { readonly group: string; readonly version: string; readonly resource: string },
  which?: string | true,
): string {
  if (which === true) return resourcePath({ resource, name: namespace });
  return resourcePath({ resource, namespace, ...(which === undefined ? {} : { name: which }) });
}

async function one({ client }: Kube, path: string, at: string): Promise<DebugPiece> {
  const answer = await client.request({ method: 'GET', path: at, query: {} });
  return answer.type === 'ok'
    ? { path, type: 'json', value: answer.body }
    : { path, type: 'missing', why: refusalOf(answer) ?? '' };
}

function kindsOf({ catalog }: Kube): JsonValue {
  return {
    kinds: catalog.preferred.map(({ group, version, kind }) => `${kind}.${version}.${group}`),
    unreadableGroups: [...catalog.unreadableGroups],
  };
}

async function inventoryPiece({ client, namespace }: Kube): Promise<DebugPiece> {
  const path = 'kubernetes/inventory.json';
  try {
    const loaded = await openInventory({ ...systemDeps(), client }, { namespace }).load();
    return { path, type: 'json', value: JSON.parse(JSON.stringify(loaded)) as JsonValue };
  } catch (error) {
    return { path, type: 'missing', why: errorText(error) };
  }
}

async function logPieces(kube: Kube, lines: number): Promise<readonly DebugPiece[]> {
  const pods = { ...CORE, resource: 'pods' };
  const answer = await kube.client.request({
    method: 'GET',
    path: pathOf(kube, pods),
    query: { labelSelector: 'app.kubernetes.io/part-of=fleetrelay' },
  });
  const listed = answer.type === 'ok' ? objectsOf(answer.body.items) : [];
  const names = listed.map((pod) => textOf(metadataOf(pod).name)).filter((name) => name !== '');
  return Promise.all(
    names.map(async (name): Promise<DebugPiece> => {
      // A name in an archive is at most 100 bytes long.
      const path = `kubernetes/logs/${name.slice(-60)}.log`;
      const log = await kube.client.request({
        method: 'GET',
        path: resourcePath({ resource: pods, namespace: kube.namespace, name, subresource: 'log' }),
        query: { tailLines: String(lines), timestamps: 'true' },
        accept: 'text/plain, */*',
      });
      return log.type === 'ok'
        ? { path, type: 'text', text: String(log.body.text ?? '') }
        : { path, type: 'missing', why: refusalOf(log) ?? '' };
    }),
  );
}
