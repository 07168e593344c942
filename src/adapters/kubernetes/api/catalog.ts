import { KUBERNETES_VERSION } from '../../../model/agent/agent.ts';
import { parseObjectRef } from '../../../model/objects/object-key.ts';
import { type JsonObject, objectOf, objectsOf, textOf, textsOf } from '../../../model/text/json.ts';
import { ok, problem, type Result } from '../../../model/values/result.ts';
import type { ApiCatalog, ApiResource, KubeClient } from './types.ts';

/** Aggregated discovery: all kinds in one answer. Kubernetes has it since 1.27, as v2 since 1.30. */
const AGGREGATED = ['v2', 'v2beta1']
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .concat('application/json')
  .join(',');

/** Kinds of the answers of an API server without aggregated discovery. */
const UNAGGREGATED: readonly unknown[] = ['APIVersions', 'APIGroupList'];

/** What one API group offers, in the server's order of preference. */
interface ApiGroup {
  readonly name: string;
  readonly resources: readonly ApiResource[];
  /** A version of the group could not be read: its aggregated API is down. */
  readonly isUnreadable: boolean;
}

/**
 * Asks an API server for all kinds that it offers. While a group cannot be read, the kinds that it offered in `before` still
 * count. The problem is a sentence for people: then no kind is known.
 */
export async function loadCatalog(client: KubeClient, before?: ApiCatalog): Promise<Result<ApiCatalog>> {
  const [core, named, version = before?.kubernetesVersion] = await Promise.all([
    loadGroups(client, '/api'),
    loadGroups(client, '/apis'),
    loadVersion(client),
  ]);
  if (!core.ok) return core;
  if (!named.ok) return named;
  const groups = [...core.value, ...named.value];
  const unreadable = new Set(groups.filter(({ isUnreadable }) => isUnreadable).map(({ name }) => name));
  // createCatalog keeps the first one of each kind and version, which is the one that was read now.
  const remembered = (before?.resources ?? []).filter(({ group }) => unreadable.has(group));
  const catalog = createCatalog([...groups.flatMap(({ resources }) => resources), ...remembered], unreadable);
  return ok(version === undefined ? catalog : { ...catalog, kubernetesVersion: version });
}

/** The version of the API server; undefined if it does not answer with one. */
async function loadVersion(client: KubeClient): Promise<string | undefined> {
  const answer = await client.request({ method: 'GET', path: '/version' });
  const version = answer.type === 'ok' ? textOf(answer.body.gitVersion) : '';
  return KUBERNETES_VERSION.test(version) ? version : undefined;
}

/** Makes a catalog of the kinds that an object key can name. Of several versions of a kind the first is the preferred one. */
export function createCatalog(
  offered: readonly ApiResource[],
  unreadableGroups: ReadonlySet<string> = new Set(),
): ApiCatalog {
  const byVersion = new Map<string, ApiResource>();
  const byKind = new Map<string, ApiResource>();
  for (const resource of offered) {
    const { group, kind, version } = resource;
    const key = `${group}/${version}/${kind}`;
    // API servers accept kinds like `Odd-Kind`, which no object key can hold.
    const isNameable = parseObjectRef({ group, kind, namespace: '', name: 'any' }).ok;
    if (byVersion.has(key) || !isNameable) continue;
    byVersion.set(key, resource);
    if (!byKind.has(`${group}/${kind}`)) byKind.set(`${group}/${kind}`, resource);
  }
  return {
    find: (group, kind, version) =>
      version === undefined ? byKind.get(`${group}/${kind}`) : byVersion.get(`${group}/${version}/${kind}`),
    resources: [...byVersion.values()],
    preferred: [...byKind.values()],
    unreadableGroups,
  };
}

async function loadGroups(client: KubeClient, path: '/api' | '/apis'): Promise<Result<readonly ApiGroup[]>> {
  const answer = await client.request({ method: 'GET', path, accept: AGGREGATED });
  switch (answer.type) {
    case 'unreachable':
      return problem(`the kinds that ${client.server} offers cannot be read: ${answer.message}`);
    case 'refused':
      return problem(`${client.server} refuses to list the kinds that it offers (${path}): ${answer.refusal.message}`);
    case 'ok':
      break;
  }
  const { kind, items } = answer.body;
  if (UNAGGREGATED.includes(kind)) {
    return problem(`${client.server} has no aggregated discovery: Kubernetes 1.27 or newer is needed`);
  }
  if (kind !== 'APIGroupDiscoveryList') return problem(`${client.server}${path} does not answer as an API server does`);
  if (!Array.isArray(items)) return problem(`${client.server}${path} answers with a list without items`);
  return ok(objectsOf(items).map(readGroup));
}

function readGroup({ metadata, versions }: JsonObject): ApiGroup {
  const name = textOf(objectOf(metadata).name);
  const all = objectsOf(versions);
  return {
    name,
    resources: all.flatMap(({ version, resources }) =>
      objectsOf(resources).flatMap((resource) => readResource(name, textOf(version), resource)),
    ),
    isUnreadable: all.some(({ freshness }) => freshness === 'Stale'),
  };
}

function readResource(group: string, version: string, offered: JsonObject): readonly ApiResource[] {
  const kind = textOf(objectOf(offered.responseKind).kind);
  const resource = textOf(offered.resource);
  if (version === '' || resource === '' || kind === '') return [];
  const namespaced = offered.scope === 'Namespaced';
  const subresources = objectsOf(offered.subresources).map(({ subresource }) => textOf(subresource));
  return [{ group, version, kind, resource, namespaced, verbs: textsOf(offered.verbs), subresources }];
}
