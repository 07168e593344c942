import { type JsonObject, objectOf, textOf } from '../../../model/json.ts';
import { objectRefOf } from '../../../model/object-key.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import type { Random } from '../../../ports/random.ts';
import type { ResourceStatus, StatusTarget, StatusWriting } from '../../../ports/resource-status.ts';
import { resourcePath } from '../api/paths.ts';
import type { ApiResource, KubeAnswer, KubeClient, KubeRefusal } from '../api/types.ts';
import { createEventRecorder } from './event-recorder.ts';

const FIELD_MANAGER = 'fleetrelay-status';

interface StatusDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** How a kind (`group/Kind`) is reached; undefined while nobody knows. */
  readonly resourceOf: (kind: string) => ApiResource | undefined;
}

/**
 * Writes status by server-side apply on the status subresource, as a field manager of its own: what others say stays. A
 * list of conditions that somebody else writes as a whole is left to him.
 */
export function createResourceStatus(
  deps: StatusDeps,
  options: { /** Of this process, in events. */ readonly instance: string },
): ResourceStatus {
  const recorder = createEventRecorder(deps, options);
  return {
    write: async (target, status) => {
      const { group, kind } = objectRefOf(target.key);
      const resource = deps.resourceOf(`${group}/${kind}`);
      if (resource === undefined) {
        return { type: 'retry', reason: 'KindUnknown', message: `${kind}.${group} cannot be reached just now` };
      }
      if (!resource.subresources.includes('status')) {
        const message = `the CustomResourceDefinition of ${kind}.${group} that is installed has no status subresource`;
        return { type: 'refused', reason: 'NoStatusSubresource', message };
      }
      return writeStatus(deps.client, resource, target, status);
    },
    mark: async ({ key, uid }, change) => {
      const { group, kind, namespace, name } = objectRefOf(key);
      const resource = deps.resourceOf(`${group}/${kind}`);
      if (resource === undefined) {
        return { type: 'retry', reason: 'KindUnknown', message: `${kind}.${group} cannot be reached just now` };
      }
      const annotations = Object.fromEntries(change.removeAnnotations.map((annotation) => [annotation, null]));
      const answer = await deps.client.request({
        method: 'PATCH',
        path: resourcePath({ resource, name, ...(namespace === '' ? {} : { namespace }) }),
        query: { fieldManager: FIELD_MANAGER },
        contentType: 'application/merge-patch+json',
        // Another object of the same name is refused by its uid.
        body: { metadata: { uid, labels: { ...change.labels }, annotations } },
      });
      const isOther = answer.type === 'refused' && answer.refusal.causes.some(({ field }) => field === 'metadata.uid');
      if (isOther || (answer.type === 'refused' && answer.status === 409)) return { type: 'gone' };
      return writingOf(answer);
    },
    event: recorder.record,
  };
}

/** A write at the same moment is no reason to give up; more of them are one to wait. */
const TRIES = 3;

async function writeStatus(
  client: KubeClient,
  resource: ApiResource,
  target: StatusTarget,
  status: JsonObject,
): Promise<StatusWriting> {
  let { resourceVersion } = target;
  let force = false;
  let said: StatusWriting = { type: 'retry', reason: 'Conflict', message: 'somebody else goes on writing' };
  for (let tries = 0; tries < TRIES; tries += 1) {
    const answer = await apply(client, resource, { ...target, resourceVersion }, status, force);
    if (answer.type !== 'refused' || answer.status !== 409) return writingOf(answer);
    said = { type: 'retry', reason: 'Conflict', message: answer.refusal.message };
    const taken = conflictsOf(answer.refusal);
    const whole = taken.find(({ field }) => field === '.status.conditions' || field === '.status');
    if (whole !== undefined) {
      const message = `${whole.field} is one field there, and somebody else writes it: ${whole.message}`;
      return { type: 'refused', reason: 'StatusOfSomebodyElse', message };
    }
    force ||= taken.length > 0;
    if (taken.length > 0) continue;
    const live = await liveVersion(client, resource, target);
    if (live === undefined) return said;
    if (live === 'gone') return { type: 'gone' };
    resourceVersion = live.resourceVersion;
  }
  return said;
}

/** The status subresource knows no precondition on a uid: the resourceVersion of the object with this uid stands for it. */
function apply(
  client: KubeClient,
  resource: ApiResource,
  { key, resourceVersion, apiVersion }: StatusTarget,
  status: JsonObject,
  force: boolean,
): Promise<KubeAnswer> {
  const { kind, namespace, name } = objectRefOf(key);
  const within = namespace === '' ? {} : { namespace };
  return client.request({
    method: 'PATCH',
    path: resourcePath({ resource, ...within, name, subresource: 'status' }),
    query: { fieldManager: FIELD_MANAGER, fieldValidation: 'Ignore', ...(force ? { force: 'true' } : {}) },
    contentType: 'application/apply-patch+yaml',
    body: { apiVersion, kind, metadata: { name, ...within, resourceVersion }, status },
  });
}

function conflictsOf({ causes }: KubeRefusal): KubeRefusal['causes'] {
  return causes.filter(({ reason }) => reason === 'FieldManagerConflict');
}

/** The object as it is now; undefined if nobody knows. */
async function liveVersion(
  client: KubeClient,
  resource: ApiResource,
  { key, uid }: StatusTarget,
): Promise<{ readonly resourceVersion: string } | 'gone' | undefined> {
  const { namespace, name } = objectRefOf(key);
  const path = resourcePath({ resource, name, ...(namespace === '' ? {} : { namespace }) });
  const live = await client.request({ method: 'GET', path });
  if (live.type === 'refused' && live.status === 404) return 'gone';
  if (live.type !== 'ok') return undefined;
  const metadata = objectOf(live.body.metadata);
  return textOf(metadata.uid) === uid ? { resourceVersion: textOf(metadata.resourceVersion) } : 'gone';
}

function writingOf(answer: KubeAnswer): StatusWriting {
  switch (answer.type) {
    case 'ok':
      return { type: 'written' };
    case 'unreachable':
      return { type: 'retry', reason: 'Unreachable', message: answer.message };
    case 'refused': {
      const { status, refusal } = answer;
      if (status === 404) return { type: 'gone' };
      const said = { reason: refusal.reason === '' ? `Status${status}` : refusal.reason, message: refusal.message };
      // A missing right is given, a conflict passes, an overload ends: what is not valid stays so.
      const isFinal = status === 400 || status === 413 || status === 415 || status === 422;
      return { type: isFinal ? 'refused' : 'retry', ...said };
    }
  }
}
