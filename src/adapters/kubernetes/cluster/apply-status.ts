import { refusedInOwnNamespace } from '../../../model/agent/own-namespace.ts';
import { displayKey, type ObjectKey, objectOfStatus, objectRefOf } from '../../../model/objects/object-key.ts';
import { type JsonObject, textOf } from '../../../model/text/json.ts';
import type {
  ApplyOutcome,
  ApplyRequest,
  Differences,
  ObservedObject,
  RemoveOutcome,
  RemoveRequest,
} from '../../../ports/cluster-api.ts';
import { resourcePath } from '../api/paths.ts';
import type { ApiResource, KubeRequest } from '../api/types.ts';
import { isEmpty, undeclaredFields } from './field-sets.ts';
import { fieldsOfStatus, type StatusEntry } from './live/status-store.ts';
import { byTimeDescending, compareFields, STATUS_MANAGER } from './ownership.ts';
import { type FieldConflict, failed, failureOf, listConflicts, managersOf, ownedBy } from './refusals.ts';
import { withoutKind } from './remove.ts';
import { findResource, hindrance, send, type Writing } from './write.ts';

/** Whether the fields of the declared status, and no others, are ours. Who changes one of them becomes its manager. */
export function statusMatches({ live }: Writing, { key, value }: ApplyRequest, observed: ObservedObject): boolean {
  const entry = live.statuses.objects.get(key);
  if (entry === undefined || entry !== observed) return false;
  return lostFields(entry, value).length === 0 && isEmpty(undeclaredFields(fieldsOfStatus(entry), value));
}

/** The declared fields that were lost, and who has them now. */
export function statusDifferences({ live }: Writing, { key, value }: ApplyRequest): Differences {
  const entry = live.statuses.objects.get(key);
  if (entry === undefined) return { fields: [], managers: [] };
  const fields = lostFields(entry, value);
  return { fields, managers: managersOf(ownedBy(value, fields, entry.others)) };
}

function lostFields(entry: StatusEntry, value: JsonObject): readonly string[] {
  return compareFields(value, fieldsOfStatus(entry)).missing;
}

/** Applies the status of an object of others, by force: it is ours to say. An object that does not exist is never made. */
export async function applyStatus(writing: Writing, request: ApplyRequest): Promise<ApplyOutcome> {
  const { live, flapping, ownNamespace } = writing;
  const { key, value, digest } = request;
  const hindered = hindrance(writing);
  if (hindered !== undefined) return hindered;
  const refusal = refusedInOwnNamespace(key, ownNamespace);
  if (refusal !== undefined) return failed(refusal.reason, refusal.message);
  const resource = await findResource(writing, key, textOf(value.apiVersion));
  if ('type' in resource) return resource;
  if (!resource.subresources.includes('status')) {
    return failed('NoStatusSubresource', `${resource.kind} has no status subresource in this cluster`);
  }
  const before = live.statuses.objects.get(key);
  const taken = before === undefined ? [] : takenFields(before, request);
  const flappingWith = flapping.among(key, managersOf(taken));
  if (flappingWith.length > 0) return leftAlone(key, taken, flappingWith);
  const version = before?.resourceVersion;
  const answer = await send(writing, statusRequest(resource, key, value));
  if (answer.type === 'paused' || answer.type === 'failed') return answer;
  if (answer.type === 'refused' && answer.status === 404) return withoutObject(writing, key);
  if (answer.type !== 'ok') return failureOf(answer, false);
  live.statuses.wrote(key, answer.body, resource, digest);
  if (live.statuses.objects.get(key)?.resourceVersion === version) return { type: 'unchanged' };
  if (taken.length > 0) flapping.reversed(key, managersOf(taken));
  return { type: 'applied' };
}

/** The status is applied when the object is seen, if its kind is followed; else it is tried again. */
function withoutObject({ live }: Writing, key: ObjectKey): ApplyOutcome {
  const message = `${displayKey(objectOfStatus(key))} does not exist; its status is applied as soon as it does`;
  return { type: live.statuses.isFollowed(key) ? 'exempt' : 'failed', reason: 'NoObject', message };
}

/**
 * The fields that other managers have taken from us. A manager that removes a field does not own it afterwards: then the one that
 * wrote the status last is the most likely one, if this process has applied the same content before.
 */
function takenFields(entry: StatusEntry, { value, digest }: ApplyRequest): readonly FieldConflict[] {
  const lost = lostFields(entry, value);
  const found = ownedBy(value, lost, entry.others);
  if (found.length > 0 || digest === undefined || entry.applied !== digest) return found;
  const [last] = entry.others.toSorted(byTimeDescending);
  const manager = last?.manager ?? 'a manager without a name';
  return lost.map((field) => ({ manager, field, operation: 'Update' }));
}

function leftAlone(
  key: ObjectKey,
  taken: readonly FieldConflict[],
  managers: readonly string[],
): Extract<ApplyOutcome, { type: 'conflict' }> {
  const theirs = taken.filter(({ manager }) => managers.includes(manager));
  const message = `${listConflicts(theirs)} keeps changing the ${displayKey(key)} back; it is left alone for some minutes. Stop one of the two`;
  return { type: 'conflict', owner: managersOf(theirs).join(', '), message };
}

/** Applies the status without our fields: they go, and other fields stay. */
export async function endStatus(writing: Writing, { key }: RemoveRequest): Promise<RemoveOutcome> {
  const hindered = hindrance(writing);
  if (hindered !== undefined) return hindered;
  // A field manager is the same one in each version of a kind.
  const resource = await findResource(writing, key);
  if ('type' in resource) return withoutKind(writing, key, resource);
  const { group, version, kind } = resource;
  const apiVersion = group === '' ? version : `${group}/${version}`;
  const answer = await send(writing, statusRequest(resource, key, { apiVersion, kind }));
  if (answer.type === 'paused' || answer.type === 'failed') return answer;
  const isGone = answer.type === 'refused' && answer.status === 404;
  if (answer.type !== 'ok' && !isGone) return failureOf(answer, false);
  writing.flapping.forget(key);
  return { type: 'gone' };
}

function statusRequest(resource: ApiResource, key: ObjectKey, value: JsonObject): KubeRequest {
  const { name, namespace } = objectRefOf(key);
  const at = { name, ...(resource.namespaced ? { namespace } : {}) };
  return {
    method: 'PATCH',
    path: resourcePath({ resource, ...at, subresource: 'status' }),
    query: { fieldManager: STATUS_MANAGER, force: 'true' },
    contentType: 'application/apply-patch+yaml',
    body: { ...value, metadata: at },
  };
}
