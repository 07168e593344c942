import { type JsonObject, textOf } from '../../../model/json.ts';
import { annotationOf, displayKey, metadataOf, nameOfKind, objectRefOf } from '../../../model/object-key.ts';
import { REQUEST_BYTES } from '../../../model/object-size.ts';
import { refusedInOwnNamespace } from '../../../model/own-namespace.ts';
import { isKeyOfSecret } from '../../../model/secret-values.ts';
import type { ApplyOutcome, ApplyRequest, ObservedObject } from '../../../ports/cluster-api.ts';
import type { ApiResource, KubeAnswer } from '../api/types.ts';
import { ADOPT, FORCE_CONFLICTS, optsOut, RECONCILE, REPLACE } from './annotations.ts';
import { awaitServed, isDefinition, isServed } from './definitions.ts';
import { handOver, ignoredFields, withoutFields } from './ignored-fields.ts';
import { digestOfStamp, type LiveEntry, readEntry } from './live/entry.ts';
import { byTimeDescending, compareFields, fieldManagers, isOurs, ownerOf } from './ownership.ts';
import {
  conflictsOf,
  type FieldConflict,
  failed,
  failureOf,
  type Hindered,
  isFieldConflict,
  isImmutable,
  isStaleWrite,
  listConflicts,
  listFields,
} from './refusals.ts';
import { deleteJudged } from './remove.ts';
import { stampTextOf } from './stamp.ts';
import {
  applyBody,
  applyRequestOf,
  asNew,
  asOf,
  findResource,
  hindrance,
  isBeingDeleted,
  readLive,
  send,
  uidOf,
  type Writing,
  whatHolds,
} from './write.ts';

/** An object that others change this often during one apply is left to the next try. */
const ATTEMPTS = 5;

/** Whether a live object is as declared. Fields that are ignored or were never declared do not count. */
export function matches(writing: Writing, request: ApplyRequest, observed: ObservedObject): boolean {
  const entry = writing.live.objects.get(observed.key);
  if (entry === undefined || entry !== observed || observed.stale === true) return false;
  return entryMatches(writing, request, entry);
}

function entryMatches(writing: Writing, request: ApplyRequest, entry: LiveEntry): boolean {
  if (!hasStampOf(request, entry) || entry.health?.state === 'terminating') return false;
  entry.settled ||= lostFields(writing, request, entry).length === 0;
  return entry.settled;
}

/** Whether the object was applied with this content and stamp. */
function hasStampOf(request: ApplyRequest, { stampDigest }: LiveEntry): boolean {
  return stampDigest === digestOfStamp(stampTextOf(request));
}

/** The declared fields that we do not own any more, without those that are ignored. */
function lostFields(writing: Writing, request: ApplyRequest, entry: LiveEntry): readonly string[] {
  const { group, kind } = objectRefOf(request.key);
  const resource = writing.live.catalog.current().find(group, kind);
  if (resource === undefined) return [''];
  const declared = withoutFields(applyBody(request, resource), ignoredOf(writing, request));
  return compareFields(declared, entry.fields(), () => entry.value).missing;
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

/** The known state of the object, which the next write depends on: absent, as watched, or its complete live state. */
type KnownState =
  | { readonly type: 'absent' }
  | { readonly type: 'watched'; readonly entry: LiveEntry }
  | { readonly type: 'live'; readonly raw: JsonObject };

/** The outcome, or why another attempt is needed: the object must be read again, or it is gone. */
type Step = ApplyOutcome | 'readAgain' | 'isGone';

/** Applies the object if it does not exist, is ours, or is adopted. Others' changes during the apply are read and judged. */
export async function applyObject(writing: Writing, request: ApplyRequest): Promise<ApplyOutcome> {
  const { key } = request;
  const hindered = hindrance(writing);
  if (hindered !== undefined) return hindered;
  const refusal = refusedInOwnNamespace(key, writing.ownNamespace);
  if (refusal !== undefined) return failed(refusal.reason, refusal.message);
  const resource = await findResource(writing, key, textOf(request.value.apiVersion));
  if ('type' in resource) return resource;
  const body = applyBody(request, resource);
  const bytes = Buffer.byteLength(JSON.stringify(body));
  if (bytes > REQUEST_BYTES) {
    const size = `${displayKey(key)} has ${(bytes / (1024 * 1024)).toFixed(1)} MiB`;
    return failed('TooLarge', `${size}, and an API server takes 3 MiB at most; make several objects of it`);
  }
  writing.live.owns([{ kind: nameOfKind(resource), namespace: objectRefOf(request.key).namespace }]);
  const applying: Applying = { ...writing, request, resource, body };
  const entry = writing.live.objects.get(key);
  let known: KnownState = entry === undefined ? { type: 'absent' } : { type: 'watched', entry };
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const step = await applyTo(applying, known);
    if (typeof step !== 'string') return step;
    const live = step === 'isGone' ? undefined : await readLive(writing, resource, key);
    if (live?.type === 'failed') return live;
    known = live?.raw === undefined ? { type: 'absent' } : { type: 'live', raw: live.raw };
  }
  return failed('ChangedMeanwhile', `${displayKey(key)} was changed by others while it was being applied`);
}

function applyTo(applying: Applying, known: KnownState): Promise<Step> {
  switch (known.type) {
    case 'absent':
      return create(applying);
    case 'watched':
      return applyToWatched(applying, known.entry);
    case 'live':
      return applyToLive(applying, known.raw);
  }
}

async function create(applying: Applying): Promise<Step> {
  const { request, resource, body } = applying;
  const answer = await send(applying, applyRequestOf(resource, request.key, asNew(body), { force: false }));
  if (answer.type === 'ok') return written(applying, answer.body, undefined);
  // Each 409 means that the object exists, whatever its message.
  if (answer.type === 'refused' && answer.status === 409) return 'readAgain';
  return refused(request, answer);
}

/** The frequent case: the object is ours, no other manager has changed it, and its declaration is new. Else the object is read. */
async function applyToWatched(applying: Applying, entry: LiveEntry): Promise<Step> {
  const { request, resource, body } = applying;
  if (entryMatches(applying, request, entry)) return unchanged(applying, entry.uid);
  const { value, uid, resourceVersion, stamp } = entry;
  const isPlain =
    stamp?.key === request.key &&
    stamp.fleet === request.stamp.fleet &&
    stamp.nonce === request.stamp.nonce &&
    !hasStampOf(request, entry) &&
    !isBeingDeleted(value) &&
    !optsOut(RECONCILE, value, request.value, applying.settings());
  if (!isPlain || ignoredOf(applying, request).length > 0) return 'readAgain';
  const bound = asOf(body, { metadata: { uid, resourceVersion } });
  const answer = await send(applying, applyRequestOf(resource, request.key, bound, { force: false }));
  if (answer.type === 'ok') return written(applying, answer.body, resourceVersion);
  const needsRead =
    answer.type === 'refused' &&
    (isStaleWrite(answer) || isFieldConflict(answer.refusal) || isImmutable(answer.refusal));
  return needsRead ? 'readAgain' : refused(request, answer);
}

async function applyToLive(applying: Applying, raw: JsonObject): Promise<Step> {
  const { request, resource, live, flapping } = applying;
  const { key, stamp, value } = request;
  const owner = ownerOf(raw, { ...stamp, key });
  const isAdopted = owner.type === 'theirs' && owner.adoptable && annotationOf(value, ADOPT) === 'true';
  if (owner.type === 'theirs' && !isAdopted) {
    return { type: 'conflict', owner: owner.owner, message: owner.message };
  }
  if (optsOut(RECONCILE, raw, value, applying.settings())) return exempt(request);
  if (isBeingDeleted(raw)) {
    const message = `${displayKey(key)} is being deleted, and made anew when it is gone: ${whatHolds(raw)}`;
    return failed('BeingDeleted', message);
  }
  const entry = readEntry(raw, resource, live.judge);
  if (owner.type === 'ours') live.wrote(entry);
  if (entryMatches(applying, request, entry)) return unchanged(applying, entry.uid);
  const taken = isAdopted ? [] : takenFields(applying, raw, entry);
  const flappingWith = flapping.among(key, managersOf(taken));
  if (flappingWith.length > 0) return leftAlone(request, taken, flappingWith);
  return overwrite(applying, raw, isAdopted, taken);
}

/** The fields that other managers have taken from us since this declaration was applied. */
function takenFields({ request, ...writing }: Applying, raw: JsonObject, entry: LiveEntry): readonly FieldConflict[] {
  if (!hasStampOf(request, entry)) return [];
  const lost = lostFields(writing, request, entry);
  const others = fieldManagers(raw).filter((manager) => !isOurs(manager));
  const found = others.flatMap(({ manager, operation, fields }) => {
    const owned = new Set(compareFields(request.value, fields).owned);
    return lost.filter((field) => owned.has(field)).map((field): FieldConflict => ({ manager, field, operation }));
  });
  if (found.length > 0) return found;
  // A manager that removes a field does not own it afterwards. The manager that wrote last is the most likely one.
  const [last] = others.filter(({ subresource }) => subresource === '').toSorted(byTimeDescending);
  const manager = last?.manager ?? 'a manager without a name';
  return lost.map((field) => ({ manager, field, operation: 'Update' }));
}

/** Applies over a live object. `taken`: fields of other managers that this overwrites. */
async function overwrite(
  applying: Applying,
  raw: JsonObject,
  force: boolean,
  taken: readonly FieldConflict[],
): Promise<Step> {
  const { request, resource, body, flapping, log } = applying;
  const { key, value } = request;
  const managers = fieldManagers(raw);
  const bound = asOf(handOver(body, raw, managers, ignoredOf(applying, request)), raw);
  const answer = await send(applying, applyRequestOf(resource, key, bound, { force }));
  if (answer.type === 'ok') {
    const before = textOf(metadataOf(raw).resourceVersion);
    const isChanged = textOf(metadataOf(answer.body).resourceVersion) !== before;
    if (taken.length > 0 && isChanged) flapping.reversed(key, managersOf(taken));
    return written(applying, answer.body, before);
  }
  if (isStaleWrite(answer)) return 'readAgain';
  if (force || answer.type !== 'refused' || !isFieldConflict(answer.refusal)) {
    return refusedOver(applying, raw, answer);
  }
  const conflicts = conflictsOf(answer.refusal, managers);
  const declared = conflicts.filter(({ operation }) => operation === 'Apply');
  if (declared.length > 0 && annotationOf(value, FORCE_CONFLICTS) !== 'true') return contested(request, declared);
  const flappingWith = flapping.among(key, managersOf(conflicts));
  if (flappingWith.length > 0) return leftAlone(request, conflicts, flappingWith);
  log.info('fields are taken back', { object: displayKey(key), from: listConflicts(conflicts) });
  return overwrite(applying, raw, true, [...taken, ...conflicts]);
}

function managersOf(conflicts: readonly FieldConflict[]): readonly string[] {
  return [...new Set(conflicts.map(({ manager }) => manager))];
}

type NotWritten = Exclude<KubeAnswer, { type: 'ok' }> | Hindered;

/** A change of an immutable field: the message names the way out, or the object is deleted, if its manifest allows that. */
async function refusedOver(applying: Applying, raw: JsonObject, answer: NotWritten): Promise<Step> {
  const { request, resource } = applying;
  if (answer.type !== 'refused' || !isImmutable(answer.refusal)) return refused(request, answer);
  const { kind } = objectRefOf(request.key);
  const { message } = failureOf(answer, isKeyOfSecret(request.key));
  if (kind === 'Namespace' || kind === 'CustomResourceDefinition') {
    return failed('ImmutableField', `${message}; a ${kind} is never replaced, since all that is in it would go`);
  }
  if (annotationOf(request.value, REPLACE) !== 'true') {
    const way = `set the annotation ${REPLACE}: "true" in its manifest to have it deleted and made anew`;
    return failed('ImmutableField', `${message}; ${way}`);
  }
  const removed = await deleteJudged(applying, resource, request.key, raw);
  switch (removed.type) {
    case 'gone':
      return 'isGone';
    case 'changed':
      return 'readAgain';
    case 'waiting':
      return failed('BeingReplaced', `${displayKey(request.key)} is deleted to be made anew: ${removed.message}`);
    default:
      return removed;
  }
}

function refused({ key }: ApplyRequest, answer: NotWritten): ApplyOutcome {
  return answer.type === 'paused' || answer.type === 'failed' ? answer : failureOf(answer, isKeyOfSecret(key));
}

/** `before`: the resourceVersion that was written over. */
async function written(applying: Applying, raw: JsonObject, before: string | undefined): Promise<ApplyOutcome> {
  const { live, resource } = applying;
  const entry = readEntry(raw, resource, live.judge, true);
  live.wrote(entry);
  const waited = await awaitServed(applying, raw);
  if (waited !== undefined) return waited;
  return { type: before === entry.resourceVersion ? 'unchanged' : 'applied', identity: uidOf(raw) };
}

async function unchanged(applying: Applying, identity: string): Promise<ApplyOutcome> {
  const { key, value } = applying.request;
  const waited = isDefinition(key) && !isServed(applying, value) ? await awaitServed(applying, value) : undefined;
  return waited ?? { type: 'unchanged', identity };
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

function leftAlone(
  { key }: ApplyRequest,
  conflicts: readonly FieldConflict[],
  managers: readonly string[],
): ApplyOutcome {
  const theirs = conflicts.filter(({ manager }) => managers.includes(manager));
  const fields = listFields([...new Set(theirs.map(({ field }) => field))]);
  return {
    type: 'conflict',
    owner: managersOf(theirs).join(', '),
    message: `${listConflicts(theirs)} keeps changing ${displayKey(key)} back; it is left alone for some minutes. Stop one of the two, or let others own the fields with the annotation fleetrelay.dev/ignore-fields (${fields})`,
  };
}
