import type { AgentSettings } from '../../../model/agent-settings.ts';
import type { JsonObject } from '../../../model/json.ts';
import { displayKey, type ObjectKey, objectRefOf, parseApiVersion } from '../../../model/object-key.ts';
import type { Clock } from '../../../ports/clock.ts';
import { NO_SUCH_KIND } from '../../../ports/cluster-api.ts';
import type { Log } from '../../../ports/log.ts';
import { resourcePath } from '../api/paths.ts';
import type { ApiResource, KubeAnswer, KubeClient, KubeRequest } from '../api/types.ts';
import { FIELD_MANAGER } from './field-ownership.ts';
import type { Flapping } from './flapping.ts';
import type { Autoscaled } from './live/autoscaled.ts';
import type { CatalogRefresher } from './live/catalog-refresher.ts';
import type { Live } from './live/live.ts';
import { type Failure, failed, failureOf } from './refusals.ts';

/** What is needed to say what a write would be. */
export interface Looking {
  readonly client: KubeClient;
  readonly live: {
    readonly catalog: Pick<CatalogRefresher, 'current' | 'refresh'>;
    readonly autoscaled: Pick<Autoscaled, 'has'>;
  };
  readonly settings: () => AgentSettings;
}

/** What writes of objects share. */
export interface Writing extends Looking {
  readonly clock: Clock;
  readonly log: Log;
  readonly live: Live;
  readonly flapping: Flapping;
  /** May a request be sent at this moment? */
  readonly mayWrite: () => boolean;
}

/** Why a write is not sent at this moment. */
export type Hindered = { readonly type: 'paused' } | Failure;

/** Asked right before each write. */
export function hindrance({ live, mayWrite }: Writing): Hindered | undefined {
  if (live.isPaused()) return { type: 'paused' };
  if (mayWrite()) return undefined;
  return failed(true, 'NotLeading', 'another replica of the agent leads now');
}

/** The kind as this cluster offers it, in the version of the object; looked for anew if it is not known. */
export async function findResource(
  { live }: Looking,
  key: ObjectKey,
  apiVersion?: string,
): Promise<ApiResource | Failure> {
  const { group, kind, namespace } = objectRefOf(key);
  const parsed = apiVersion === undefined ? undefined : parseApiVersion(apiVersion);
  const version = parsed?.ok ? parsed.value.version : undefined;
  const resource =
    live.catalog.current().find(group, kind, version) ?? (await live.catalog.refresh()).find(group, kind, version);
  if (resource === undefined) return noSuchKind(live, group, kind, version);
  if (resource.namespaced === (namespace !== '')) return resource;
  const message = resource.namespaced
    ? `${displayKey(key)} needs a namespace`
    : `${kind} lies in no namespace, and ${displayKey(key)} names one`;
  return failed(false, 'WrongScope', message);
}

function noSuchKind(
  { catalog: refresher }: Looking['live'],
  group: string,
  kind: string,
  version: string | undefined,
): Failure {
  const catalog = refresher.current();
  const name = group === '' ? kind : `${kind}.${group}`;
  const versions = catalog.resources
    .filter((resource) => resource.group === group && resource.kind === kind)
    .map((resource) => resource.version);
  if (versions.length > 0) {
    return failed(true, NO_SUCH_KIND, `the cluster offers ${name} as ${versions.join(', ')} and not as ${version}`);
  }
  const unreadable = catalog.unreadableGroups.has(group) ? '; its API group cannot be read now' : '';
  return failed(true, NO_SUCH_KIND, `the cluster has no kind ${name}${unreadable}; install its definition`);
}

/** The path of one object. */
export function pathOf(resource: ApiResource, key: ObjectKey): string {
  const { name, namespace } = objectRefOf(key);
  return resourcePath({ resource, name, ...(namespace === '' ? {} : { namespace }) });
}

/** The object as it is now; undefined: it is not there. */
export async function readLive(
  { client }: Pick<Looking, 'client'>,
  resource: ApiResource,
  key: ObjectKey,
): Promise<{ readonly type: 'live'; readonly raw: JsonObject | undefined } | Failure> {
  const answer = await client.request({ method: 'GET', path: pathOf(resource, key) });
  if (answer.type === 'ok') return { type: 'live', raw: answer.body };
  if (answer.type === 'refused' && answer.status === 404) return { type: 'live', raw: undefined };
  return failureOf(answer, isSecret(key));
}

/** The request of a server-side apply. */
export function applyRequestOf(
  resource: ApiResource,
  key: ObjectKey,
  body: JsonObject,
  options: { readonly force: boolean; readonly dryRun?: true },
): KubeRequest {
  return {
    method: 'PATCH',
    path: pathOf(resource, key),
    query: {
      fieldManager: FIELD_MANAGER,
      force: String(options.force),
      ...(options.dryRun === true ? { dryRun: 'All' } : {}),
    },
    contentType: 'application/apply-patch+yaml',
    body,
  };
}

/** Sends a write unless something is against it at this moment; it is asked again right before it leaves. */
export async function send(writing: Writing, request: KubeRequest): Promise<KubeAnswer | Hindered> {
  const hindered = hindrance(writing);
  if (hindered !== undefined) return hindered;
  const maySend = (): boolean => hindrance(writing) === undefined;
  const answer = await writing.client.request({ ...request, maySend });
  return answer.type === 'unreachable' ? (hindrance(writing) ?? answer) : answer;
}

export function isSecret(key: ObjectKey): boolean {
  return key.startsWith('/Secret/');
}
