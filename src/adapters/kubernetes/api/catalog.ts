import { type JsonObject, objectOf, objectsOf, textOf, textsOf } from '../../../model/json.ts';
import { parseObjectRef } from '../../../model/object-key.ts';
import { ok, problem, type Result } from '../../../model/result.ts';
import { type ApiGroup, loadLegacyGroups } from './legacy-discovery.ts';
import type { ApiCatalog, ApiResource, KubeClient } from './types.ts';

const AGGREGATED = ['v2', 'v2beta1']
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .concat('application/json')
  .join(',');

/**
 * Asks an API server for all kinds that it offers. What a group offered according to `before` still counts while the group
 * cannot be read. The problem is a sentence for people: nothing is known then.
 */
export async function loadCatalog(client: KubeClient, before?: ApiCatalog): Promise<Result<ApiCatalog>> {
  const [core, named] = await Promise.all([loadGroups(client, '/api'), loadGroups(client, '/apis')]);
  if (!core.ok) return core;
  if (!named.ok) return named;
  const unreadable = new Set<string>();
  const resources: ApiResource[] = [];
  for (const group of [...core.value, ...named.value]) {
    resources.push(...group.resources);
    if (!group.unreadable) continue;
    unreadable.add(group.name);
    resources.push(...missingFrom(group, before));
  }
  return ok(createCatalog(resources, unreadable));
}

/** A catalog of these kinds, as far as keys can name them; of several versions, the one that comes first is preferred. */
export function createCatalog(
  offered: readonly ApiResource[],
  unreadableGroups: ReadonlySet<string> = new Set(),
): ApiCatalog {
  const byVersion = new Map<string, ApiResource>();
  const byKind = new Map<string, ApiResource>();
  const resources: ApiResource[] = [];
  for (const resource of offered) {
    const { group, kind, version } = resource;
    const key = `${group}/${version}/${kind}`;
    if (byVersion.has(key) || !canBeNamed(group, kind)) continue;
    byVersion.set(key, resource);
    resources.push(resource);
    if (!byKind.has(`${group}/${kind}`)) byKind.set(`${group}/${kind}`, resource);
  }
  return {
    find: (group, kind, version) =>
      version === undefined ? byKind.get(`${group}/${kind}`) : byVersion.get(`${group}/${version}/${kind}`),
    resources,
    preferred: [...byKind.values()],
    unreadableGroups,
  };
}

/** An API server takes kinds like `Odd-Kind` too; whoever reads keys refuses them, together with everything beside them. */
function canBeNamed(group: string, kind: string): boolean {
  return parseObjectRef({ group, kind, namespace: '', name: 'any' }).ok;
}

function missingFrom(group: ApiGroup, before: ApiCatalog | undefined): readonly ApiResource[] {
  const known = (before?.resources ?? []).filter((resource) => resource.group === group.name);
  const read = new Set(group.resources.map(({ version, kind }) => `${version}/${kind}`));
  return known.filter(({ version, kind }) => !read.has(`${version}/${kind}`));
}

async function loadGroups(client: KubeClient, path: '/api' | '/apis'): Promise<Result<readonly ApiGroup[]>> {
  const answer = await client.request({ method: 'GET', path, accept: AGGREGATED });
  switch (answer.type) {
    case 'unreachable':
      return problem(`the kinds that ${client.server} offers cannot be read: ${answer.message}`);
    case 'refused':
      return problem(`${client.server} does not say which kinds it offers (${path}): ${answer.refusal.message}`);
    case 'ok':
      break;
  }
  if (answer.body.kind !== 'APIGroupDiscoveryList') return loadLegacyGroups(client, path, answer.body);
  if (!Array.isArray(answer.body.items)) return problem(`${client.server}${path} answers with a list without items`);
  return ok(objectsOf(answer.body.items).map(readGroup));
}

function readGroup(group: JsonObject): ApiGroup {
  const name = textOf(objectOf(group.metadata).name);
  const versions = objectsOf(group.versions);
  return {
    name,
    resources: versions.flatMap((version) => {
      return objectsOf(version.resources).flatMap((resource) => readResource(name, textOf(version.version), resource));
    }),
    unreadable: versions.some(({ freshness }) => freshness === 'Stale'),
  };
}

function readResource(group: string, version: string, resource: JsonObject): readonly ApiResource[] {
  const { responseKind, scope } = resource;
  const kind = textOf(objectOf(responseKind).kind);
  const plural = textOf(resource.resource);
  if (version === '' || plural === '' || kind === '') return [];
  return [
    {
      group,
      version,
      kind,
      resource: plural,
      namespaced: scope === 'Namespaced',
      verbs: textsOf(resource.verbs),
      subresources: objectsOf(resource.subresources).map(({ subresource }) => textOf(subresource)),
    },
  ];
}
