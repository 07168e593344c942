import type { JsonObject } from '../../../model/json.ts';
import { annotationOf, displayKey, metadataOf, type ObjectKey, objectRefOf } from '../../../model/object-key.ts';
import { NO_SUCH_KIND, type RemoveOutcome, type RemoveRequest } from '../../../ports/cluster-api.ts';
import type { ApiResource } from '../api/types.ts';
import { PRUNE } from './annotations.ts';
import { uidOf } from './apply-body.ts';
import { isDefined } from './definitions.ts';
import { isBeingDeleted, whatHolds } from './deletion.ts';
import { readEntry } from './live/entry.ts';
import { claimOf } from './ownership.ts';
import { type Failure, failed, failureOf, isStaleWrite } from './refusals.ts';
import { findResource, hindrance, isSecret, pathOf, readLive, send, type Writing } from './writing.ts';

const ATTEMPTS = 5;

/** Removes the object if it is ours: its stamp must say so, and it must be the very one that was created. */
export async function removeObject(writing: Writing, request: RemoveRequest): Promise<RemoveOutcome> {
  const { key } = request;
  const hindered = hindrance(writing);
  if (hindered !== undefined) return hindered;
  const resource = await findResource(writing, key);
  if ('type' in resource) return withoutKind(writing, key, resource);
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const live = await readLive(writing, resource, key);
    if (live.type === 'failed') return live;
    if (live.raw === undefined) return forgotten(writing, key);
    const kept = reasonToKeep(request, live.raw);
    if (kept !== undefined) return kept;
    const removed = await deleteJudged(writing, resource, key, live.raw);
    if (removed.type === 'changed') continue;
    if (removed.type === 'gone') writing.flapping.forget(key);
    return removed;
  }
  return failed(true, 'ChangedMeanwhile', `${displayKey(key)} was changed by others while it was being removed`);
}

/** With its kind, every object of it went; and no object has a namespace that its kind does not have, or lacks one. */
async function withoutKind({ live, client }: Writing, key: ObjectKey, why: Failure): Promise<RemoveOutcome> {
  if (why.reason === 'WrongScope') return { type: 'gone' };
  const { group, kind } = objectRefOf(key);
  if (why.reason !== NO_SUCH_KIND || live.catalog.current().unreadableGroups.has(group)) return why;
  const defined = await isDefined(client, group, kind);
  if (defined === false) return { type: 'gone' };
  return defined === true ? why : defined;
}

function forgotten({ live, flapping }: Writing, key: ObjectKey): RemoveOutcome {
  const known = live.objects.get(key);
  if (known !== undefined) live.removed(key, known.uid);
  flapping.forget(key);
  return { type: 'gone' };
}

function reasonToKeep({ key, fleet, identity }: RemoveRequest, raw: JsonObject): RemoveOutcome | undefined {
  const claim = claimOf(raw, fleet, key);
  if (claim.type === 'theirs') {
    return { type: 'notOwned', owner: claim.owner, message: `${displayKey(key)} is held by ${claim.owner} and stays` };
  }
  if (identity !== undefined && identity !== uidOf(raw)) {
    const message = `${displayKey(key)} was deleted and made anew by somebody else (its UID is another one), and stays`;
    return { type: 'notOwned', owner: 'somebody who made it anew', message };
  }
  if (annotationOf(raw, PRUNE) !== 'disabled') return undefined;
  const message = `${displayKey(key)} carries the annotation ${PRUNE}: disabled; it stays, and is not managed any more`;
  return { type: 'exempt', reason: 'PruneDisabled', message };
}

/** Deletes the object as it was judged. `changed`: it is not as it was. */
export async function deleteJudged(
  writing: Writing,
  resource: ApiResource,
  key: ObjectKey,
  raw: JsonObject,
): Promise<Extract<RemoveOutcome, { type: 'gone' | 'waiting' | 'paused' | 'failed' }> | { readonly type: 'changed' }> {
  if (isBeingDeleted(raw)) return { type: 'waiting', message: whatHolds(raw) };
  const { uid, resourceVersion } = metadataOf(raw);
  const answer = await send(writing, {
    method: 'DELETE',
    path: pathOf(resource, key),
    body: {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions: { uid, resourceVersion },
      propagationPolicy: 'Background',
    },
  });
  if (answer.type === 'paused' || answer.type === 'failed') return answer;
  if (answer.type === 'refused' && answer.status === 404) return { type: 'gone' };
  if (answer.type !== 'ok') return isStaleWrite(answer) ? { type: 'changed' } : failureOf(answer, isSecret(key));
  if (isBeingDeleted(answer.body)) {
    writing.live.wrote(readEntry(answer.body, resource));
    return { type: 'waiting', message: whatHolds(answer.body) };
  }
  writing.live.removed(key, uidOf(raw));
  return { type: 'gone' };
}
