import { type JsonObject, objectOf, objectsOf, textOf, textsOf } from '../../../model/json.ts';
import { ok, problem, type Result } from '../../../model/result.ts';
import type { ApiResource, KubeClient } from './types.ts';

/** What one API group offers, in the server's order of preference. */
export interface ApiGroup {
  readonly name: string;
  readonly resources: readonly ApiResource[];
  /** Not all of it could be read. */
  readonly unreadable: boolean;
}

/** Reads group by group what a server offers that does not say everything in one answer. `body`: of `path`. */
export async function loadLegacyGroups(
  client: KubeClient,
  path: '/api' | '/apis',
  body: JsonObject,
): Promise<Result<readonly ApiGroup[]>> {
  switch (body.kind) {
    case 'APIVersions':
      return ok([await loadGroup(client, '', path, textsOf(body.versions))]);
    case 'APIGroupList':
      return ok(
        await Promise.all(
          objectsOf(body.groups).map((group) => {
            const name = textOf(group.name);
            return loadGroup(client, name, `${path}/${encodeURIComponent(name)}`, versionsOf(group));
          }),
        ),
      );
    default:
      return problem(`${client.server}${path} does not answer as an API server does`);
  }
}

function versionsOf(group: JsonObject): readonly string[] {
  const preferred = textOf(objectOf(group.preferredVersion).version);
  const versions = objectsOf(group.versions).map(({ version }) => textOf(version));
  return [preferred, ...versions.filter((version) => version !== preferred)].filter((version) => version !== '');
}

async function loadGroup(
  client: KubeClient,
  name: string,
  path: string,
  versions: readonly string[],
): Promise<ApiGroup> {
  const read = await Promise.all(versions.map((version) => loadVersion(client, name, path, version)));
  return { name, resources: read.flatMap((resources) => resources ?? []), unreadable: read.includes(undefined) };
}

/** Undefined: it could not be read. */
async function loadVersion(
  client: KubeClient,
  group: string,
  path: string,
  version: string,
): Promise<readonly ApiResource[] | undefined> {
  const answer = await client.request({ method: 'GET', path: `${path}/${encodeURIComponent(version)}` });
  if (answer.type === 'refused' && answer.status === 404) return [];
  if (answer.type !== 'ok' || !Array.isArray(answer.body.resources)) return undefined;
  const listed = objectsOf(answer.body.resources);
  return listed.flatMap((resource) => {
    const [plural, kind] = [textOf(resource.name), textOf(resource.kind)];
    if (plural === '' || kind === '' || plural.includes('/')) return [];
    const subresources = subresourcesIn(listed, plural);
    const namespaced = resource.namespaced === true;
    return [{ group, version, kind, resource: plural, namespaced, verbs: textsOf(resource.verbs), subresources }];
  });
}

/** The subresources of a kind; a version lists them beside the kinds, as `PLURAL/NAME`. */
export function subresourcesIn(listed: readonly JsonObject[], plural: string): readonly string[] {
  return listed
    .map(({ name }) => textOf(name))
    .filter((name) => name.startsWith(`${plural}/`))
    .map((name) => name.slice(plural.length + 1));
}
