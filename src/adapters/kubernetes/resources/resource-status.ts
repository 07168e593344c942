import { annotationOf, objectRefOf } from '../../../model/objects/object-key.ts';
import { type JsonObject, objectOf, textOf } from '../../../model/text/json.ts';
import { given } from '../../../model/values/given.ts';
import type { MetadataChange, ResourceStatus, StatusTarget, StatusWriting } from '../../../ports/resource-status.ts';
import { resourcePath } from '../api/paths.ts';
import type { ApiResource, FollowerDeps, KubeAnswer, KubeClient, KubeRefusal, KubeRequest } from '../api/types.ts';
import { createEventRecorder } from './event-recorder.ts';

const FIELD_MANAGER = 'fleetrelay-status';
/** More conflicts with writes of others than this are a reason to wait. */
const TRIES = 3;

interface StatusDeps extends FollowerDeps {
  /** A kind (`group/Kind`) as the server offers it; undefined while it does not. */
  readonly resourceOf: (kind: string) => ApiResource | undefined;
}

/**
 * Writes status by server-side apply on the status subresource, with a field manager of its own: fields of others stay. Where
 * the conditions are one atomic list that another manager writes, the status is not written.
 */
export function createResourceStatus(
  deps: StatusDeps,
  options: { /** Name of this process, in events. */ readonly instance: string },
): ResourceStatus {
  const recorder = createEventRecorder(deps, options);
  const { client } = deps;

  async function withResource(
    { key }: StatusTarget,
    write: (resource: ApiResource) => Promise<StatusWriting>,
  ): Promise<StatusWriting> {
    const { group, kind } = objectRefOf(key);
    const resource = deps.resourceOf(`${group}/${kind}`);
    if (resource !== undefined) return write(resource);
    return { type: 'retry', reason: 'KindUnknown', message: `${kind}.${group} cannot be reached just now` };
  }

  return {
    write: (target, status) =>
      withResource(target, async (resource) => {
        if (resource.subresources.includes('status')) return writeStatus(client, resource, target, status);
        const { group, kind } = resource;
        const message = `the CustomResourceDefinition of ${kind}.${group} that is installed has no status subresource`;
        return { type: 'refused', reason: 'NoStatusSubresource', message };
      }),
    mark: (target, change) => withResource(target, (resource) => writeMetadata(client, resource, target, change)),
    event: recorder.record,
  };
}

function writeStatus(
  client: KubeClient,
  resource: ApiResource,
  target: StatusTarget,
  status: JsonObject,
): Promise<StatusWriting> {
  const { namespace, name } = objectRefOf(target.key);
  const named = { name, ...(namespace === '' ? {} : { namespace }) };
  let force = false;
  const request = (resourceVersion: string): KubeRequest => ({
    method: 'PATCH',
    path: pathOf(resource, target, 'status'),
    query: { fieldManager: FIELD_MANAGER, fieldValidation: 'Ignore', ...(force ? { force: 'true' } : {}) },
    contentType: 'application/apply-patch+yaml',
    // The status subresource takes no precondition on a UID. The resourceVersion of the object with this UID stands for it.
    body: { apiVersion: target.apiVersion, kind: resource.kind, metadata: { ...named, resourceVersion }, status },
  });
  return writeLatest(client, resource, target, request, ({ causes }) => {
    const taken = causes.filter(({ reason }) => reason === 'FieldManagerConflict');
    force ||= taken.length > 0;
    const atomic = taken.find(({ field }) => field === '.status.conditions' || field === '.status');
    if (atomic === undefined) return undefined;
    const message = `${atomic.field} is one field there, and another manager writes it: ${atomic.message}`;
    return { type: 'refused', reason: 'StatusOfOtherManager', message };
  });
}

/** Changes labels and annotations. An annotation that has another value after a write of others stays. */
function writeMetadata(
  client: KubeClient,
  resource: ApiResource,
  target: StatusTarget,
  { labels, removeAnnotations }: MetadataChange,
): Promise<StatusWriting> {
  const { uid } = target;
  const request = (resourceVersion: string, live?: JsonObject): KubeRequest => {
    const removed = Object.entries(removeAnnotations).filter(
      ([name, value]) => live === undefined || annotationOf(live, name) === value,
    );
    const annotations = Object.fromEntries(removed.map(([name]) => [name, null]));
    return {
      method: 'PATCH',
      path: pathOf(resource, target),
      query: { fieldManager: FIELD_MANAGER },
      contentType: 'application/merge-patch+json',
      body: { metadata: { uid, resourceVersion, labels, annotations } },
    };
  };
  return writeLatest(client, resource, target, request, ({ causes }) =>
    causes.some(({ field }) => field === 'metadata.uid') ? { type: 'gone' } : undefined,
  );
}

/**
 * Sends a write that is bound to the version from which it was computed. After a write of others it reads the object and
 * computes the write again. `final`: the result that a refusal means, if it does not depend on the version.
 */
async function writeLatest(
  client: KubeClient,
  resource: ApiResource,
  target: StatusTarget,
  request: (resourceVersion: string, live?: JsonObject) => KubeRequest,
  final: (refusal: KubeRefusal) => StatusWriting | undefined,
): Promise<StatusWriting> {
  let next = request(target.resourceVersion);
  for (let tries = 1; ; tries += 1) {
    const answer = await client.request(next);
    if (answer.type !== 'refused') return writingOf(answer);
    const result = final(answer.refusal) ?? (answer.status === 409 ? undefined : writingOf(answer));
    if (result !== undefined) return result;
    const live = await client.request({ method: 'GET', path: pathOf(resource, target) });
    if (live.type === 'refused' && live.status === 404) return { type: 'gone' };
    if (live.type !== 'ok' || tries === TRIES) {
      return { type: 'retry', reason: 'Conflict', message: answer.refusal.message };
    }
    const { uid, resourceVersion } = objectOf(live.body.metadata);
    if (uid !== target.uid) return { type: 'gone' };
    next = request(textOf(resourceVersion), live.body);
  }
}

function pathOf(resource: ApiResource, { key }: StatusTarget, subresource?: string): string {
  const { namespace, name } = objectRefOf(key);
  return resourcePath({ resource, name, ...(namespace === '' ? {} : { namespace }), ...given({ subresource }) });
}

function writingOf(answer: KubeAnswer): StatusWriting {
  switch (answer.type) {
    case 'ok':
      return { type: 'written', resourceVersion: textOf(objectOf(answer.body.metadata).resourceVersion) };
    case 'unreachable':
      return { type: 'retry', reason: 'Unreachable', message: answer.message };
    case 'refused': {
      const { status, refusal } = answer;
      if (status === 404) return { type: 'gone' };
      const reason = refusal.reason === '' ? `Status${status}` : refusal.reason;
      // Missing rights, conflicts and overload can end; an invalid status stays invalid.
      const isFinal = [400, 413, 415, 422].includes(status);
      return { type: isFinal ? 'refused' : 'retry', reason, message: refusal.message };
    }
  }
}
