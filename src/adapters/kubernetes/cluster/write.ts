import { HELD_BY_FINALIZERS } from '../../../model/agent/agent.ts';
import type { AgentSettings } from '../../../model/agent/agent-settings.ts';
import type { Flapping } from '../../../model/limits/flapping.ts';
import {
  displayKey,
  metadataOf,
  type ObjectKey,
  objectRefOf,
  parseApiVersion,
} from '../../../model/objects/object-key.ts';
import { isKeyOfSecret } from '../../../model/objects/secret-values.ts';
import { SERVERS_OWN } from '../../../model/objects/server-fields.ts';
import { isJsonObject, type JsonObject, objectOf, objectsOf, textOf, textsOf } from '../../../model/text/json.ts';
import { type ApplyRequest, NO_SUCH_KIND } from '../../../ports/cluster-api.ts';
import { resourcePath } from '../api/paths.ts';
import type { ApiResource, FollowerDeps, KubeAnswer, KubeClient, KubeRequest } from '../api/types.ts';
import type { Autoscaled } from './live/autoscaled.ts';
import type { CatalogRefresher } from './live/catalog-refresher.ts';
import type { Live } from './live/live.ts';
import { FIELD_MANAGER } from './ownership.ts';
import { type Failure, failed, failureOf, type Hindered } from './refusals.ts';
import { withStamp } from './stamp.ts';

/** What a preview of a write needs. */
export interface Looking {
  readonly client: KubeClient;
  readonly live: {
    readonly catalog: Pick<CatalogRefresher, 'current' | 'refresh'>;
    readonly autoscaled: Pick<Autoscaled, 'has' | 'isClaimed'>;
  };
  readonly settings: () => AgentSettings;
  /** The namespace of the agent of the cluster. */
  readonly agentNamespace: string;
}

/** What all writes of objects share. */
export interface Writing extends Looking, FollowerDeps {
  readonly live: Live;
  /** The agent's own namespace, if objects in it are refused. */
  readonly ownNamespace: string | undefined;
  readonly flapping: Flapping;
  /** Whether a request may be sent at this moment. */
  readonly mayWrite: () => boolean;
}

/** Checks the stop button and the leadership. */
export function hindrance({ live, mayWrite }: Writing): Hindered | undefined {
  if (live.isPaused()) return { type: 'paused' };
  return mayWrite() ? undefined : failed('NotLeading', 'another replica of the agent leads now');
}

/** Sends a write unless it is hindered, which is checked again immediately before the request leaves. */
export async function send(writing: Writing, request: KubeRequest): Promise<KubeAnswer | Hindered> {
  const hindered = hindrance(writing);
  if (hindered !== undefined) return hindered;
  const answer = await writing.client.request({ ...request, maySend: () => hindrance(writing) === undefined });
  return answer.type === 'unreachable' ? (hindrance(writing) ?? answer) : answer;
}

/** The kind of a key as the cluster offers it, in the version of the object. An unknown kind is looked up anew. */
export async function findResource(
  { live: { catalog } }: Looking,
  key: ObjectKey,
  apiVersion?: string,
): Promise<ApiResource | Failure> {
  const { group, kind, namespace } = objectRefOf(key);
  const parsed = apiVersion === undefined ? undefined : parseApiVersion(apiVersion);
  const version = parsed?.ok ? parsed.value.version : undefined;
  const resource = catalog.current().find(group, kind, version) ?? (await catalog.refresh()).find(group, kind, version);
  if (resource === undefined) return noSuchKind(catalog, group, kind, version);
  if (resource.namespaced === (namespace !== '')) return resource;
  const message = resource.namespaced
    ? `${displayKey(key)} needs a namespace`
    : `${kind} lies in no namespace, and ${displayKey(key)} names one`;
  return failed('WrongScope', message);
}

function noSuchKind(catalog: Looking['live']['catalog'], group: string, kind: string, version: string | undefined) {
  const { resources, unreadableGroups } = catalog.current();
  const name = group === '' ? kind : `${kind}.${group}`;
  const versions = resources.filter((each) => each.group === group && each.kind === kind).map((each) => each.version);
  if (versions.length > 0) {
    return failed(NO_SUCH_KIND, `the cluster offers ${name} as ${versions.join(', ')} and not as ${version}`);
  }
  const unreadable = unreadableGroups.has(group) ? '; its API group cannot be read now' : '';
  return failed(NO_SUCH_KIND, `the cluster has no kind ${name}${unreadable}; install its definition`);
}

/** The path of one object. */
export function pathOf(resource: ApiResource, key: ObjectKey): string {
  const { name, namespace } = objectRefOf(key);
  return resourcePath({ resource, name, ...(namespace === '' ? {} : { namespace }) });
}

/** Reads the object. `raw` undefined: it does not exist. */
export async function readLive(
  { client }: Pick<Looking, 'client'>,
  resource: ApiResource,
  key: ObjectKey,
): Promise<{ readonly type: 'live'; readonly raw: JsonObject | undefined } | Failure> {
  const answer = await client.request({ method: 'GET', path: pathOf(resource, key) });
  if (answer.type === 'ok') return { type: 'live', raw: answer.body };
  if (answer.type === 'refused' && answer.status === 404) return { type: 'live', raw: undefined };
  return failureOf(answer, isKeyOfSecret(key));
}

/** The request of a server-side apply. */
export function applyRequestOf(
  resource: ApiResource,
  key: ObjectKey,
  body: JsonObject,
  options: { readonly force: boolean; readonly dryRun?: true },
): KubeRequest {
  const dryRun = options.dryRun === true ? { dryRun: 'All' } : {};
  return {
    method: 'PATCH',
    path: pathOf(resource, key),
    query: { fieldManager: FIELD_MANAGER, force: String(options.force), ...dryRun },
    contentType: 'application/apply-patch+yaml',
    body,
  };
}

/** The body that is applied for a declared object: stamped, in its namespace, without fields that only an API server sets. */
export function applyBody(request: ApplyRequest, resource: ApiResource): JsonObject {
  const { status, ...value } = withPlainSecret(request.value);
  const { namespace: _declared, deletionTimestamp: _deletion, ...declared } = metadataOf(value);
  const metadata = Object.fromEntries(Object.entries(declared).filter(([name]) => !SERVERS_OWN.includes(name)));
  const { namespace } = objectRefOf(request.key);
  const hasStatus = status !== undefined && !resource.subresources.includes('status');
  return withStamp(
    {
      ...value,
      ...(hasStatus ? { status } : {}),
      metadata: { ...metadata, ...(resource.namespaced ? { namespace } : {}) },
    },
    request,
  );
}

/** Moves `stringData` to `data`: an API server does not notice when an entry is removed from `stringData`. */
function withPlainSecret(value: JsonObject): JsonObject {
  if (value.apiVersion !== 'v1' || value.kind !== 'Secret' || !isJsonObject(value.stringData)) return value;
  const { stringData, data, ...rest } = value;
  const plain = Object.entries(stringData).map(([name, text]) => [
    name,
    typeof text === 'string' ? Buffer.from(text).toString('base64') : text,
  ]);
  return { ...rest, data: { ...objectOf(data), ...Object.fromEntries(plain) } };
}

/** The body of a write that fails unless the object still has the UID and resourceVersion of `judged`. */
export function asOf(body: JsonObject, judged: JsonObject): JsonObject {
  const { uid, resourceVersion } = metadataOf(judged);
  return { ...body, metadata: { ...metadataOf(body), uid, resourceVersion } };
}

/** The body of a write that fails if the object exists: no object has this resourceVersion. */
export function asNew(body: JsonObject): JsonObject {
  return { ...body, metadata: { ...metadataOf(body), resourceVersion: '1' } };
}

export function uidOf(live: JsonObject): string {
  return textOf(metadataOf(live).uid);
}

export function isBeingDeleted(live: JsonObject): boolean {
  return metadataOf(live).deletionTimestamp !== undefined;
}

/** Why an object that is being deleted still exists, for people. */
export function whatHolds({ kind, spec, status, metadata }: JsonObject): string {
  const isNamespace = kind === 'Namespace';
  const finalizers = [
    ...textsOf(objectOf(metadata).finalizers),
    ...(isNamespace ? textsOf(objectOf(spec).finalizers) : []),
  ];
  const held = finalizers.length === 0 ? 'it is given time to end' : `${HELD_BY_FINALIZERS}: ${finalizers.join(', ')}`;
  // The conditions of a terminating Namespace name what is left in it.
  const conditions = isNamespace ? objectsOf(objectOf(status).conditions) : [];
  const reasons = conditions.filter((each) => each.status === 'True').map(({ message }) => textOf(message));
  return [held, ...reasons].join('; ');
}
