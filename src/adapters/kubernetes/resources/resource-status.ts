import { type JsonObject, objectOf, textOf } from '../../../model/json.ts';
import { annotationOf, objectRefOf } from '../../../model/object-key.ts';
import type { MetadataChange, ResourceStatus, StatusTarget, StatusWriting } from '../../../ports/resource-status.ts';
import { resourcePath } from '../api/paths.ts';
import type { ApiResource, FollowerDeps, KubeAnswer, KubeClient } from '../api/types.ts';
import { createEventRecorder } from './event-recorder.ts';

const FIELD_MANAGER = 'fleetrelay-status';
/** More conflicts with writes of others than this are a reason to wait. */
const TRIES = 3;

interface StatusDeps extends FollowerDeps {
  /** A kind (`group/Kind`) as the server offers it; undefined while it does not. */
  readonly resourceOf: (kind: string) => ApiResource | undefined;
}

type Retry = Extract<StatusWriting, { readonly type: 'retry' }>;

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
    write: (target, status) => withResource(target, (resource) => writeStatus(client, resource, target, status)),
    mark: (target, change) => withResource(target, (resource) => writeMetadata(client, resource, target, change)),
    event: recorder.record,
  };
}

async function writeStatus(
  client: KubeClient,
  resource: ApiResource,
  target: StatusTarget,
  status: JsonObject,
): Promise<StatusWriting> {
  if (!resource.subresources.includes('status')) {
    const message = `the CustomResourceDefinition of ${resource.kind}.${resource.group} that is installed has no status subresource`;
    return { type: 'refused', reason: 'NoStatusSubresource', message };
  }
  const { namespace, name } = objectRefOf(target.key);
  const metadata = { name, ...(namespace === '' ? {} : { namespace }) };
  let { resourceVersion } = target;
  let force = false;
  let conflict: Retry = { type: 'retry', reason: 'Conflict', message: '' };
  for (let tries = 0; tries < TRIES; tries += 1) {
    const answer = await client.request({
      method: 'PATCH',
      path: pathOf(resource, target, 'status'),
      query: { fieldManager: FIELD_MANAGER, fieldValidation: 'Ignore', ...(force ? { force: 'true' } : {}) },
      contentType: 'application/apply-patch+yaml',
      // The status subresource takes no precondition on a UID. The resourceVersion of the object with this UID stands for it.
      body: {
        apiVersion: target.apiVersion,
        kind: resource.kind,
        metadata: { ...metadata, resourceVersion },
        status,
      },
    });
    if (answer.type !== 'refused' || answer.status !== 409) return writingOf(answer);
    conflict = { ...conflict, message: answer.refusal.message };
    const taken = answer.refusal.causes.filter(({ reason }) => reason === 'FieldManagerConflict');
    const atomic = taken.find(({ field }) => field === '.status.conditions' || field === '.status');
    if (atomic !== undefined) {
      const message = `${atomic.field} is one field there, and another manager writes it: ${atomic.message}`;
      return { type: 'refused', reason: 'StatusOfOtherManager', message };
    }
    force ||= taken.length > 0;
    if (taken.length > 0) continue;
    const live = await readLive(client, resource, target, conflict);
    if ('type' in live) return live;
    resourceVersion = live.resourceVersion;
  }
  return conflict;
}

/**
 * Changes labels and annotations of the object in the version from which the change was computed. After a write of others
 * the change is computed again: an annotation that has another value by then stays.
 */
async function writeMetadata(
  client: KubeClient,
  resource: ApiResource,
  target: StatusTarget,
  { labels, removeAnnotations }: MetadataChange,
): Promise<StatusWriting> {
  const { uid } = target;
  let { resourceVersion } = target;
  let removed = Object.entries(removeAnnotations);
  let conflict: Retry = { type: 'retry', reason: 'Conflict', message: '' };
  for (let tries = 0; tries < TRIES; tries += 1) {
    const annotations = Object.fromEntries(removed.map(([name]) => [name, null]));
    const answer = await client.request({
      method: 'PATCH',
      path: pathOf(resource, target),
      query: { fieldManager: FIELD_MANAGER },
      contentType: 'application/merge-patch+json',
      body: { metadata: { uid, resourceVersion, labels, annotations } },
    });
    const isOther = answer.type === 'refused' && answer.refusal.causes.some(({ field }) => field === 'metadata.uid');
    if (isOther) return { type: 'gone' };
    if (answer.type !== 'refused' || answer.status !== 409) return writingOf(answer);
    conflict = { ...conflict, message: answer.refusal.message };
    const live = await readLive(client, resource, target, conflict);
    if ('type' in live) return live;
    resourceVersion = live.resourceVersion;
    removed = removed.filter(([name, value]) => annotationOf(live.object, name) === value);
  }
  return conflict;
}

/** Reads the object after a conflict. Returns `conflict` if the server does not answer. */
async function readLive(
  client: KubeClient,
  resource: ApiResource,
  target: StatusTarget,
  conflict: Retry,
): Promise<{ readonly object: JsonObject; readonly resourceVersion: string } | StatusWriting> {
  const live = await client.request({ method: 'GET', path: pathOf(resource, target) });
  if (live.type === 'refused' && live.status === 404) return { type: 'gone' };
  if (live.type !== 'ok') return conflict;
  const { uid, resourceVersion } = objectOf(live.body.metadata);
  return uid === target.uid ? { object: live.body, resourceVersion: textOf(resourceVersion) } : { type: 'gone' };
}

function pathOf(resource: ApiResource, { key }: StatusTarget, subresource?: string): string {
  const { namespace, name } = objectRefOf(key);
  return resourcePath({
    resource,
    name,
    ...(namespace === '' ? {} : { namespace }),
    ...(subresource === undefined ? {} : { subresource }),
  });
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
