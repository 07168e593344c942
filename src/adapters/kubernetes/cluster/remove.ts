import { refusedInOwnNamespace } from '../../../model/agent/own-namespace.ts';
import { lasting, PRUNE, pruneDisabled, refusedAsLasting } from '../../../model/objects/lasting-objects.ts';
import { displayKey, metadataOf, type ObjectKey, objectRefOf } from '../../../model/objects/object-key.ts';
import { isKeyOfSecret } from '../../../model/objects/secret-values.ts';
import type { JsonObject } from '../../../model/text/json.ts';
import { NO_SUCH_KIND, type RemoveOutcome, type RemoveRequest } from '../../../ports/cluster-api.ts';
import type { ApiResource } from '../api/types.ts';
import { optsOut } from './annotations.ts';
import { isDefined } from './definitions.ts';
import { readEntry } from './live/entry.ts';
import { ownerOf } from './ownership.ts';
import { type Failure, failed, failureOf, isRefusedForGood, isStaleWrite } from './refusals.ts';
import {
  findResource,
  hindrance,
  isBeingDeleted,
  pathOf,
  readLive,
  send,
  uidOf,
  type Writing,
  whatHolds,
} from './write.ts';

const ATTEMPTS = 5;

/** Removes the object if it is ours: it must have the stamp of the inventory and the UID of the object that was created. */
export async function removeObject(writing: Writing, request: RemoveRequest): Promise<RemoveOutcome> {
  const { key } = request;
  const { live, flapping } = writing;
  const hindered = hindrance(writing);
  if (hindered !== undefined) return hindered;
  const refusal = refusedInOwnNamespace(key, writing.ownNamespace) ?? refusedAsLasting(key);
  if (refusal !== undefined) return { type: 'exempt', ...refusal };
  const resource = await findResource(writing, key);
  if ('type' in resource) return withoutKind(writing, key, resource);
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const found = await readLive(writing, resource, key);
    if (found.type === 'failed') return found;
    if (found.raw === undefined) {
      const known = live.objects.get(key);
      if (known !== undefined) live.removed(key, known.uid);
      flapping.forget(key);
      return { type: 'gone' };
    }
    const kept = reasonToKeep(writing, request, found.raw);
    if (kept !== undefined) return kept;
    const removed = await deleteJudged(writing, resource, key, found.raw);
    if (removed.type === 'changed') continue;
    if (removed.type === 'lasting') return { type: 'exempt', ...lasting(key, removed.message) };
    if (removed.type === 'gone') flapping.forget(key);
    return removed;
  }
  return failed('ChangedMeanwhile', `${displayKey(key)} was changed by others while it was being removed`);
}

/** No object exists if its kind has no definition, or if its key has the wrong scope. */
export async function withoutKind({ live, client }: Writing, key: ObjectKey, why: Failure): Promise<RemoveOutcome> {
  if (why.reason === 'WrongScope') return { type: 'gone' };
  const { group, kind } = objectRefOf(key);
  if (why.reason !== NO_SUCH_KIND || live.catalog.current().unreadableGroups.has(group)) return why;
  const defined = await isDefined(client, group, kind);
  if (defined === false) return { type: 'gone' };
  return defined === true ? why : defined;
}

function reasonToKeep({ settings }: Writing, request: RemoveRequest, raw: JsonObject): RemoveOutcome | undefined {
  const { key, identity, declared } = request;
  const found = ownerOf(raw, request);
  if (found.type === 'theirs') {
    const { owner } = found;
    return { type: 'notOwned', owner, message: `${displayKey(key)} is held by ${owner} and stays` };
  }
  if (identity !== undefined && identity !== uidOf(raw)) {
    const message = `${displayKey(key)} was deleted and created again by others (it has another UID), and stays`;
    return { type: 'notOwned', owner: 'the manager that created it again', message };
  }
  if (!optsOut(PRUNE, raw, declared, settings())) return undefined;
  return { type: 'exempt', ...pruneDisabled(key) };
}

/**
 * Deletes the object with the UID and resourceVersion of `raw`. `changed`: it has another one. `lasting`: the API server refuses it, and
 * will refuse every later request.
 */
export async function deleteJudged(
  writing: Writing,
  resource: ApiResource,
  key: ObjectKey,
  raw: JsonObject,
): Promise<
  | Extract<RemoveOutcome, { type: 'gone' | 'waiting' | 'paused' | 'failed' }>
  | { readonly type: 'changed' }
  | { readonly type: 'lasting'; readonly message: string }
> {
  if (isBeingDeleted(raw)) return { type: 'waiting', message: whatHolds(raw) };
  const { uid, resourceVersion } = metadataOf(raw);
  const preconditions = { uid, resourceVersion };
  const answer = await send(writing, {
    method: 'DELETE',
    path: pathOf(resource, key),
    body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions, propagationPolicy: 'Background' },
  });
  if (answer.type === 'paused' || answer.type === 'failed') return answer;
  if (answer.type === 'refused' && answer.status === 404) return { type: 'gone' };
  if (answer.type !== 'ok') {
    const failure = failureOf(answer, isKeyOfSecret(key));
    if (isRefusedForGood(answer, resource)) return { type: 'lasting', message: failure.message };
    return isStaleWrite(answer) ? { type: 'changed' } : failure;
  }
  if (isBeingDeleted(answer.body)) {
    writing.live.wrote(readEntry(answer.body, resource, writing.live.reading));
    return { type: 'waiting', message: whatHolds(answer.body) };
  }
  writing.live.removed(key, uidOf(raw));
  return { type: 'gone' };
}
