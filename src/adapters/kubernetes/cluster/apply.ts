import { type JsonObject, textOf } from '../../../model/json.ts';
import { annotationOf, displayKey, metadataOf, nameOfKind, objectRefOf } from '../../../model/object-key.ts';
import type { ApplyOutcome, ApplyRequest, ObservedObject } from '../../../ports/cluster-api.ts';
import type { ApiResource } from '../api/types.ts';
import { ADOPT, FORCE_CONFLICTS, RECONCILE, REPLACE } from './annotations.ts';
import { applyBody, asNew, asOf, LARGEST_BODY_BYTES, uidOf } from './apply-body.ts';
import { conflictsOf, type FieldConflict, listConflicts, listFields } from './conflicts.ts';
import { isBeingDeleted, whatHolds } from './deletion.ts';
import { awaitServed, isDefinition, isServed } from './established.ts';
import { fieldHolders, isOurs, judgeFields } from './field-ownership.ts';
import { handOver, ignoredFields, withoutFields } from './ignored-fields.ts';
import { digestOfStamp, type LiveEntry, readEntry } from './live/entry.ts';
import { claimOf } from './ownership.ts';
import { failed, failureOf, isFieldConflict, isImmutable, isStaleWrite } from './refusals.ts';
import { deleteJudged } from './remove.ts';
import { stampTextOf } from './stamp.ts';
import { applyRequestOf, findResource, hindrance, isSecret, readLive, send, type Writing } from './writing.ts';

/** An object that somebody else keeps changing is left to the next try. */
const ATTEMPTS = 5;

/** Is a live object as declared? Others may own what we ignore, and what we never declared. */
export function matches(writing: Writing, request: ApplyRequest, observed: ObservedObject): boolean {
  const entry = writing.live.objects.get(observed.key);
  if (entry === undefined || entry !== observed || observed.stale === true) return false;
  return entryMatches(writing, request, entry);
}

function entryMatches(writing: Writing, request: ApplyRequest, entry: LiveEntry): boolean {
  if (entry.stampDigest !== digestOfStamp(stampTextOf(request)) || entry.health?.state === 'terminating') return false;
  entry.settled ||= lostFields(writing, request, entry).length === 0;
  return entry.settled;
}

function lostFields(writing: Writing, request: ApplyRequest, entry: LiveEntry): readonly string[] {
  const { group, kind } = objectRefOf(request.key);
  const resource = writing.live.catalog.current().find(group, kind);
  if (resource === undefined) return [''];
  const declared = withoutFields(applyBody(request, resource), ignoredOf(writing, request));
  return judgeFields(declared, entry.fields(), () => entry.value).missing;
}

function ignoredOf({ live, settings }: Writing, request: ApplyRequest) {
  return ignoredFields(request, settings(), live.autoscaled.has(request.key));
}

/** One apply of one object. */
interface Applying extends Writing {
  readonly request: ApplyRequest;
  readonly resource: ApiResource;
  readonly body: JsonObject;
}

/** What the next write is judged by: nothing there, what the watch has told, or the whole object. */
type Judged =
  | { readonly type: 'absent' }
  | { readonly type: 'seen'; readonly entry: LiveEntry }
  | { readonly type: 'live'; readonly raw: JsonObject };

/** What a judgement comes to: an outcome, or another look. */
type Verdict = ApplyOutcome | 'lookAgain' | 'isGone';

/** Makes the object be as declared, if it is ours to make. */
export async function applyObject(writing: Writing, request: ApplyRequest): Promise<ApplyOutcome> {
  const hindered = hindrance(writing);
  if (hindered !== undefined) return hindered;
  const resource = await findResource(writing, request.key, textOf(request.value.apiVersion));
  if ('type' in resource) return resource;
  const body = applyBody(request, resource);
  const bytes = Buffer.byteLength(JSON.stringify(body));
  if (bytes > LARGEST_BODY_BYTES) return tooLarge(request, bytes);
  writing.live.owns([nameOfKind(resource)]);
  const applying: Applying = { ...writing, request, resource, body };
  const entry = writing.live.objects.get(request.key);
  let judged: Judged = entry === undefined ? { type: 'absent' } : { type: 'seen', entry };
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const verdict = await judge(applying, judged);
    if (typeof verdict !== 'string') return verdict;
    const live = verdict === 'isGone' ? undefined : await readLive(writing, resource, request.key);
    if (live?.type === 'failed') return live;
    judged = live?.raw === undefined ? { type: 'absent' } : { type: 'live', raw: live.raw };
  }
  return failed(
    true,
    'ChangedMeanwhile',
    `${displayKey(request.key)} was changed by others while it was being applied`,
  );
}

function tooLarge({ key }: ApplyRequest, bytes: number): ApplyOutcome {
  const mebibytes = (bytes / (1024 * 1024)).toFixed(1);
  return failed(
    false,
    'TooLarge',
    `${displayKey(key)} has ${mebibytes} MiB, and an API server takes 3 MiB at most; make several objects of it`,
  );
}

function judge(applying: Applying, judged: Judged): Verdict | Promise<Verdict> {
  switch (judged.type) {
    case 'absent':
      return create(applying);
    case 'seen':
      return judgeSeen(applying, judged.entry);
    case 'live':
      return judgeLive(applying, judged.raw);
  }
}

async function create(applying: Applying): Promise<Verdict> {
  const { request, resource, body } = applying;
  const answer = await send(applying, applyRequestOf(resource, request.key, asNew(body), { force: false }));
  if (answer.type === 'ok') return written(applying, answer.body, undefined);
  // Whatever the words: something is there.
  if (answer.type === 'refused' && answer.status === 409) return 'lookAgain';
  return refused(applying, answer);
}

/** The common way: ours, as it was left, and to be something else now. All else needs a look at the whole object. */
async function judgeSeen(applying: Applying, entry: LiveEntry): Promise<Verdict> {
  const { request, resource, body } = applying;
  if (entryMatches(applying, request, entry)) return unchanged(applying, entry.uid);
  const { value, uid, resourceVersion, stampDigest } = entry;
  const ours = entry.stamp?.key === request.key && entry.stamp.fleet === request.stamp.fleet;
  const drifted = stampDigest === digestOfStamp(stampTextOf(request));
  const plain = ours && !drifted && !isBeingDeleted(value) && annotationOf(value, RECONCILE) !== 'disabled';
  if (!plain || ignoredOf(applying, request).length > 0) return 'lookAgain';
  const judged = { metadata: { uid, resourceVersion } };
  const answer = await send(applying, applyRequestOf(resource, request.key, asOf(body, judged), { force: false }));
  if (answer.type === 'ok') return written(applying, answer.body, resourceVersion);
  return isStaleAnswer(answer) || needsWhole(answer) ? 'lookAgain' : refused(applying, answer);
}

function needsWhole(answer: Awaited<ReturnType<typeof send>>): boolean {
  return answer.type === 'refused' && (isFieldConflict(answer.refusal) || isImmutable(answer.refusal));
}

async function judgeLive(applying: Applying, raw: JsonObject): Promise<Verdict> {
  const { request, resource, live, flapping } = applying;
  const { key, stamp, value } = request;
  const claim = claimOf(raw, stamp.fleet, key);
  const adopted = claim.type === 'theirs' && claim.adoptable && annotationOf(value, ADOPT) === 'true';
  if (claim.type === 'theirs' && !adopted) return { type: 'conflict', owner: claim.owner, message: claim.message };
  if (annotationOf(raw, RECONCILE) === 'disabled') return exempt(request);
  if (isBeingDeleted(raw)) {
    return failed(
      true,
      'BeingDeleted',
      `${displayKey(key)} is being deleted, and made anew when it is gone: ${whatHolds(raw)}`,
    );
  }
  const entry = readEntry(raw, resource);
  if (claim.type === 'ours') live.wrote(entry);
  if (entryMatches(applying, request, entry)) return unchanged(applying, entry.uid);
  const others = adopted ? [] : contestedFields(applying, raw, entry);
  const fighting = flapping.among(
    key,
    others.map(({ manager }) => manager),
  );
  if (fighting.length > 0)
    return fight(
      request,
      others.filter(({ manager }) => fighting.includes(manager)),
    );
  return overwrite(applying, raw, { force: adopted, others });
}

/** Who has taken fields from us since we applied what is declared. */
function contestedFields(
  { request, ...writing }: Applying,
  raw: JsonObject,
  entry: LiveEntry,
): readonly FieldConflict[] {
  if (entry.stampDigest !== digestOfStamp(stampTextOf(request))) return [];
  const lost = lostFields(writing, request, entry);
  const others = fieldHolders(raw).filter((holder) => !isOurs(holder));
  const found = others.flatMap(({ manager, operation, fields }) => {
    const held = new Set(judgeFields(request.value, fields).held);
    return lost.filter((field) => held.has(field)).map((field): FieldConflict => ({ manager, field, operation }));
  });
  if (found.length > 0) return found;
  // Who removes a field holds nothing of it; the last one who wrote is as near as one gets.
  const last = others.filter(({ subresource }) => subresource === '').toSorted((a, b) => (a.time < b.time ? 1 : -1))[0];
  const manager = last?.manager ?? 'somebody who left no name';
  return lost.map((field) => ({ manager, field, operation: 'Update' }));
}

interface Force {
  readonly force: boolean;
  readonly others: readonly FieldConflict[];
}

async function overwrite(applying: Applying, raw: JsonObject, { force, others }: Force): Promise<Verdict> {
  const { request, resource, body, flapping, log } = applying;
  const { key } = request;
  const holders = fieldHolders(raw);
  const now = asOf(handOver(body, raw, holders, ignoredOf(applying, request)), raw);
  const answer = await send(applying, applyRequestOf(resource, key, now, { force }));
  if (answer.type === 'ok') {
    const before = textOf(metadataOf(raw).resourceVersion);
    // Nothing was put back if nothing was written.
    if (others.length > 0 && textOf(metadataOf(answer.body).resourceVersion) !== before)
      flapping.reversed(key, managersOf(others));
    return written(applying, answer.body, before);
  }
  if (answer.type !== 'refused' || force)
    return isStaleAnswer(answer) ? 'lookAgain' : refusedOver(applying, raw, answer);
  if (!isFieldConflict(answer.refusal)) return isStaleWrite(answer) ? 'lookAgain' : refusedOver(applying, raw, answer);
  const conflicts = conflictsOf(answer.refusal, holders);
  const declared = conflicts.filter(({ operation }) => operation === 'Apply');
  if (declared.length > 0 && annotationOf(request.value, FORCE_CONFLICTS) !== 'true')
    return contested(request, declared);
  const fighting = flapping.among(key, managersOf(conflicts));
  if (fighting.length > 0)
    return fight(
      request,
      conflicts.filter(({ manager }) => fighting.includes(manager)),
    );
  log.info('fields are taken back', { object: displayKey(key), from: listConflicts(conflicts) });
  return overwrite(applying, raw, { force: true, others: [...others, ...conflicts] });
}

function isStaleAnswer(answer: Awaited<ReturnType<typeof send>>): boolean {
  return answer.type === 'refused' && isStaleWrite(answer);
}

function managersOf(conflicts: readonly FieldConflict[]): readonly string[] {
  return [...new Set(conflicts.map(({ manager }) => manager))];
}

/** An immutable field is named with the way out, or the object is made anew where a manifest says so. */
async function refusedOver(
  applying: Applying,
  raw: JsonObject,
  answer: Exclude<Awaited<ReturnType<typeof send>>, { type: 'ok' }>,
): Promise<Verdict> {
  if (answer.type !== 'refused' || !isImmutable(answer.refusal)) return refused(applying, answer);
  const { request, resource } = applying;
  const { kind } = objectRefOf(request.key);
  const { message } = failureOf(answer, isSecret(request.key));
  if (kind === 'Namespace' || kind === 'CustomResourceDefinition') {
    return failed(false, 'ImmutableField', `${message}; a ${kind} is never replaced, since all that is in it would go`);
  }
  if (annotationOf(request.value, REPLACE) !== 'true') {
    const way = `set the annotation ${REPLACE}: "true" in its manifest to have it deleted and made anew`;
    return failed(false, 'ImmutableField', `${message}; ${way}`);
  }
  const removed = await deleteJudged(applying, resource, request.key, raw);
  switch (removed.type) {
    case 'gone':
      return 'isGone';
    case 'changed':
      return 'lookAgain';
    case 'waiting':
      return failed(true, 'BeingReplaced', `${displayKey(request.key)} is deleted to be made anew: ${removed.message}`);
    default:
      return removed;
  }
}

function refused(
  { request }: Applying,
  answer: Exclude<Awaited<ReturnType<typeof send>>, { type: 'ok' }>,
): ApplyOutcome {
  if (answer.type === 'paused' || answer.type === 'failed') return answer;
  return failureOf(answer, isSecret(request.key));
}

async function written(applying: Applying, raw: JsonObject, before: string | undefined): Promise<ApplyOutcome> {
  const { live, resource } = applying;
  const entry = readEntry(raw, resource, true);
  live.wrote(entry);
  const waited = await awaitServed(applying, raw);
  if (waited !== undefined) return waited;
  return { type: before === entry.resourceVersion ? 'unchanged' : 'applied', identity: uidOf(raw) };
}

async function unchanged(applying: Applying, identity: string): Promise<ApplyOutcome> {
  const { request } = applying;
  if (isDefinition(request.key) && !isServed(applying, request.value)) {
    const waited = await awaitServed(applying, request.value);
    if (waited !== undefined) return waited;
  }
  return { type: 'unchanged', identity };
}

function exempt({ key }: ApplyRequest): ApplyOutcome {
  return {
    type: 'exempt',
    reason: 'ReconcileDisabled',
    message: `${displayKey(key)} carries the annotation ${RECONCILE}: disabled; remove it to let it be managed again`,
  };
}

function contested({ key }: ApplyRequest, conflicts: readonly FieldConflict[]): ApplyOutcome {
  return {
    type: 'conflict',
    owner: managersOf(conflicts).join(', '),
    message: `fields of ${displayKey(key)} are declared by others too: ${listConflicts(conflicts)}; let one of the two declare them, or set the annotation ${FORCE_CONFLICTS}: "true" in its manifest to take them`,
  };
}

function fight({ key }: ApplyRequest, conflicts: readonly FieldConflict[]): ApplyOutcome {
  const fields = listFields([...new Set(conflicts.map(({ field }) => field))]);
  return {
    type: 'conflict',
    owner: managersOf(conflicts).join(', '),
    message: `${listConflicts(conflicts)} keeps changing ${displayKey(key)} back; it is left alone for some minutes. Stop one of the two, or let others own the fields with the annotation fleetrelay.dev/ignore-fields (${fields})`,
  };
}
