import { refusedInOwnNamespace } from '../../../model/agent/own-namespace.ts';
import { annotationOf, displayKey, nameOfKind, objectRefOf } from '../../../model/objects/object-key.ts';
import { REQUEST_BYTES } from '../../../model/objects/object-size.ts';
import { type JsonObject, textOf } from '../../../model/text/json.ts';
import type { ApplyOutcome, ApplyRequest, Differences, ObservedObject } from '../../../ports/cluster-api.ts';
import type { KubeAnswer } from '../api/types.ts';
import { ADOPT_FROM, mayTakeOver, optsOut, RECONCILE } from './annotations.ts';
import { awaitServed, isDefinition, isServed } from './definitions.ts';
import { isEmpty, undeclaredFields } from './field-sets.ts';
import { formerManagers } from './former-managers.ts';
import { contestedFields, fieldsGivenUp } from './given-up.ts';
import { ignoredOf, withoutFields } from './ignored-fields.ts';
import { digestOfStamp, type LiveEntry, readEntry } from './live/entry.ts';
import {
  type Applying,
  leaveFields,
  leftAlone,
  mayNeedNewObject,
  overwrite,
  refused,
  type Step,
  takeOver,
  written,
} from './overwrite.ts';
import { byTimeDescending, compareFields, fieldManagers, isOurs, ownerOf } from './ownership.ts';
import {
  type FieldConflict,
  failed,
  isFieldConflict,
  isOtherSchema,
  isStaleWrite,
  managersOf,
  ownedBy,
} from './refusals.ts';
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
  type Writing,
  whatHolds,
} from './write.ts';

/** An object that others change this often during one apply is left to the next try. */
const ATTEMPTS = 5;
/** The most steps that one apply needs before its write: five changes of managers, and a deletion. If it takes more, others undo them. */
const PREPARATIONS = 6;

/** Whether a live object is as declared. Fields that are ignored or were never declared do not count. */
export function matches(writing: Writing, request: ApplyRequest, observed: ObservedObject): boolean {
  const entry = writing.live.objects.get(observed.key);
  if (entry === undefined || entry !== observed || observed.stale === true) return false;
  return entryMatches(writing, request, entry);
}

/** What was given up is judged with the managers of the live object, which an entry does not have. */
function entryMatches(writing: Writing, request: ApplyRequest, entry: LiveEntry): boolean {
  return request.givenUp === undefined && isAsDeclared(writing, request, entry);
}

function isAsDeclared(writing: Writing, request: ApplyRequest, entry: LiveEntry): boolean {
  if (!hasStampOf(request, entry) || entry.health?.state === 'terminating') return false;
  entry.settled ||= lostFields(writing, request, entry).length === 0;
  return entry.settled;
}

/** Whether the object was applied with this content and stamp. */
function hasStampOf(request: ApplyRequest, { stampDigest }: LiveEntry): boolean {
  return stampDigest === digestOfStamp(stampTextOf(request));
}

/** The declared fields that we do not own any more, without those that are ignored. */
export function lostFields(writing: Writing, request: ApplyRequest, entry: LiveEntry): readonly string[] {
  const { group, kind } = objectRefOf(request.key);
  const resource = writing.live.catalog.current().find(group, kind);
  if (resource === undefined) return [''];
  const declared = withoutFields(applyBody(request, resource), ignoredOf(writing, request));
  return compareFields(declared, entry.fields(), () => entry.value).missing;
}

/** The declared fields that were lost, and who has them now. A field that was removed has no manager. */
export function differencesOf(writing: Writing, request: ApplyRequest, entry: LiveEntry): Differences {
  const fields = lostFields(writing, request, entry);
  return { fields, managers: managersOf(ownedBy(request.value, fields, entry.others())) };
}

/** The known state of the object, which the next write depends on: absent, as watched, or its complete live state. */
type KnownState =
  | { readonly type: 'absent' }
  | { readonly type: 'watched'; readonly entry: LiveEntry }
  | { readonly type: 'live'; readonly raw: JsonObject };

const REMOVED: ApplyOutcome = { type: 'drifted', drift: 'removed', fields: [], managers: [] };

/** Whether the object is not made again if others have removed it. */
function staysRemoved({ leavesDrift, applied }: ApplyRequest): boolean {
  return leavesDrift === true && applied === true;
}

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
  // Whether others have removed it is read: a watch can be late.
  const first = entry === undefined && staysRemoved(request) ? await readLive(writing, resource, key) : undefined;
  if (first?.type === 'failed') return first;
  if (first !== undefined && first.raw === undefined) return REMOVED;
  let known: KnownState =
    first?.raw !== undefined
      ? { type: 'live', raw: first.raw }
      : entry === undefined
        ? { type: 'absent' }
        : { type: 'watched', entry };
  let changes = 0;
  let preparations = 0;
  while (changes < ATTEMPTS && preparations <= PREPARATIONS) {
    const step = await applyTo(applying, known);
    if (typeof step !== 'string') return step;
    if (step === 'readAgain') changes += 1;
    else preparations += 1;
    const live = step === 'isGone' ? undefined : await readLive(writing, resource, key);
    if (live?.type === 'failed') return live;
    const isRemoved = live !== undefined && live.raw === undefined && known.type !== 'absent';
    if (isRemoved && staysRemoved(request)) return REMOVED;
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
    request.givenUp === undefined &&
    annotationOf(request.value, ADOPT_FROM) === '' &&
    isEmpty(undeclaredFields(entry.fields(), body)) &&
    !optsOut(RECONCILE, value, request.value, applying.settings());
  if (!isPlain || ignoredOf(applying, request).length > 0) return 'readAgain';
  const bound = asOf(body, { metadata: { uid, resourceVersion } });
  const answer = await send(applying, applyRequestOf(resource, request.key, bound, { force: false }));
  if (answer.type === 'ok') return written(applying, answer.body, resourceVersion);
  const needsRead = isStaleWrite(answer) || (answer.type === 'refused' && needsLiveState(answer));
  return needsRead ? 'readAgain' : refused(request, answer);
}

/** Whether the complete live object decides what can be written after a refusal. */
function needsLiveState(answer: Extract<KubeAnswer, { type: 'refused' }>): boolean {
  return isFieldConflict(answer.refusal) || mayNeedNewObject(answer) || isOtherSchema(answer.refusal);
}

async function applyToLive(applying: Applying, raw: JsonObject): Promise<Step> {
  const { request, resource, live, flapping } = applying;
  const { key, stamp, value } = request;
  const owner = ownerOf(raw, { ...stamp, key });
  const isAdopted = owner.type === 'theirs' && owner.adoptable && mayTakeOver(key, value, raw, applying.agentNamespace);
  if (owner.type === 'theirs' && !isAdopted) {
    return { type: 'conflict', owner: owner.owner, message: owner.message };
  }
  if (optsOut(RECONCILE, raw, value, applying.settings())) return exempt(request);
  if (isBeingDeleted(raw)) {
    const afterwards = staysRemoved(request) ? ', which is only reported' : ', and made anew when it is gone';
    return failed('BeingDeleted', `${displayKey(key)} is being deleted${afterwards}: ${whatHolds(raw)}`);
  }
  const entry = readEntry(raw, resource, live.reading);
  if (owner.type === 'ours') live.wrote(entry);
  if (isAsDeclared(applying, request, entry)) return contestedFields(applying, raw) ?? unchanged(applying, entry.uid);
  const left = request.leavesDrift === true && owner.type === 'ours' ? leftDrift(applying, entry) : undefined;
  if (left !== undefined) return left;
  const managers = fieldManagers(raw);
  const former = formerManagers(managers, value, isAdopted);
  if (former.length > 0) return takeOver(applying, raw, former, isAdopted);
  const leaving = await leaveFields(applying, raw);
  if (leaving !== undefined) return leaving;
  const givenUp = fieldsGivenUp(applying, managers);
  if (givenUp !== undefined) return { type: 'givesUp', fields: givenUp };
  const taken = isAdopted ? [] : takenFields(applying, raw, entry);
  const flappingWith = flapping.among(key, managersOf(taken));
  if (flappingWith.length > 0) return leftAlone(request, taken, flappingWith);
  return overwrite(applying, raw, { isAdopted, taken });
}

/**
 * The drift of an object that was applied with this content; undefined: there is none. Its stamp may name other files. Fields that are
 * being given up are given up first: the drift is seen again afterwards.
 */
function leftDrift(applying: Applying, entry: LiveEntry): ApplyOutcome | undefined {
  const { request } = applying;
  if (request.givenUp !== undefined) return undefined;
  const isSame = hasStampOf(request, entry) || (request.digest !== undefined && entry.declared === request.digest);
  const found = isSame ? differencesOf(applying, request, entry) : undefined;
  if (found === undefined || found.fields.length === 0) return undefined;
  return { type: 'drifted', drift: 'changed', ...found, identity: entry.uid };
}

/** The fields that other managers have taken from us since this declaration was applied. */
function takenFields({ request, ...writing }: Applying, raw: JsonObject, entry: LiveEntry): readonly FieldConflict[] {
  if (!hasStampOf(request, entry)) return [];
  const others = fieldManagers(raw).filter((manager) => !isOurs(manager));
  const lost = lostFields(writing, request, entry);
  const found = ownedBy(request.value, lost, others);
  if (found.length > 0) return found;
  // A manager that removes a field does not own it afterwards. The manager that wrote last is the most likely one.
  const [last] = others.filter(({ subresource }) => subresource === '').toSorted(byTimeDescending);
  const manager = last?.manager ?? 'a manager without a name';
  return lost.map((field) => ({ manager, field, operation: 'Update' }));
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
