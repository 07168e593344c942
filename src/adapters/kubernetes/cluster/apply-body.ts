import { isJsonObject, type JsonObject, objectOf, textOf } from '../../../model/json.ts';
import { metadataOf, objectRefOf } from '../../../model/object-key.ts';
import type { ApplyRequest } from '../../../ports/cluster-api.ts';
import type { ApiResource } from '../api/types.ts';
import { withStamp } from './stamp.ts';

/** What only an API server writes: declaring it would be refused, or mean something else. */
const SERVERS_OWN: readonly string[] = [
  'creationTimestamp',
  'deletionGracePeriodSeconds',
  'deletionTimestamp',
  'generation',
  'managedFields',
  'resourceVersion',
  'selfLink',
  'uid',
];

/** Largest body in bytes that an API server takes. */
export const LARGEST_BODY_BYTES = 3 * 1024 * 1024;

/** What is sent for a declared object: stamped, in its namespace, without what is not ours to say. */
export function applyBody(request: ApplyRequest, resource: ApiResource): JsonObject {
  const { namespace } = objectRefOf(request.key);
  const { status, ...value } = withPlainSecret(request.value);
  const kept = Object.fromEntries(Object.entries(metadataOf(value)).filter(([name]) => !SERVERS_OWN.includes(name)));
  const { namespace: _said, ...metadata } = kept;
  const spoken = status === undefined || resource.subresources.includes('status') ? value : { ...value, status };
  return withStamp({ ...spoken, metadata: { ...metadata, ...(resource.namespaced ? { namespace } : {}) } }, request);
}

/** `stringData` is for people: an API server does not notice when something goes from it again. */
function withPlainSecret(value: JsonObject): JsonObject {
  if (value.apiVersion !== 'v1' || value.kind !== 'Secret' || !isJsonObject(value.stringData)) return value;
  const { stringData, data, ...rest } = value;
  const plain = Object.entries(stringData).map(([name, text]) => [
    name,
    typeof text === 'string' ? Buffer.from(text).toString('base64') : text,
  ]);
  return { ...rest, data: { ...objectOf(data), ...Object.fromEntries(plain) } };
}

/** The body of a write that fails unless the object is as it was judged. */
export function asOf(body: JsonObject, judged: JsonObject): JsonObject {
  const { uid, resourceVersion } = metadataOf(judged);
  return { ...body, metadata: { ...metadataOf(body), uid, resourceVersion } };
}

/** The body of a write that fails if there is such an object already: no object has this version. */
export function asNew(body: JsonObject): JsonObject {
  return { ...body, metadata: { ...metadataOf(body), resourceVersion: '1' } };
}

/** The id that the cluster has given an object. */
export function uidOf(live: JsonObject): string {
  return textOf(metadataOf(live).uid);
}
