import { WHY_LASTING } from '../../../model/objects/lasting-objects.ts';
import { annotationOf, displayKey, metadataOf, objectRefOf } from '../../../model/objects/object-key.ts';
import { isKeyOfSecret } from '../../../model/objects/secret-values.ts';
import { REPLACE, replacementOf } from '../../../model/objects/updates/update-outlook.ts';
import { type JsonObject, textOf } from '../../../model/text/json.ts';
import type { ApplyOutcome, ApplyRequest } from '../../../ports/cluster-api.ts';
import type { ApiResource, KubeAnswer, KubeRefusal } from '../api/types.ts';
import { FORCE_CONFLICTS } from './annotations.ts';
import { awaitServed } from './definitions.ts';
import { isEmpty, joinedFields, subtractFields, undeclaredFields } from './field-sets.ts';
import { allFields, namedInOtherVersion, type Ownership, ourFields, ownershipRequest } from './former-managers.ts';
import { contestedFields, fieldsLeft } from './given-up.ts';
import { handOver, ignoredOf } from './ignored-fields.ts';
import { readEntry } from './live/entry.ts';
import { refusedAsNew } from './new-object.ts';
import { type FieldManager, fieldManagers, isOurs } from './ownership.ts';
import {
  conflictsOf,
  type FieldConflict,
  failed,
  failureOf,
  type Hindered,
  isFieldConflict,
  isImmutable,
  isOtherSchema,
  isStaleWrite,
  listConflicts,
  listFields,
  managersOf,
} from './refusals.ts';
import { deleteJudged } from './remove.ts';
import { applyRequestOf, asOf, pathOf, send, uidOf, type Writing } from './write.ts';

/** One apply of one object. */
export interface Applying extends Writing {
  readonly request: ApplyRequest;
  readonly resource: ApiResource;
  readonly body: JsonObject;
}

/**
 * The outcome, or why another attempt is needed. `readAgain`: the object is not what it was known to be, or others changed it. `isPrepared`:
 * we changed its managers, and it must be read again. `isGone`: we deleted it, to make it anew.
 */
export type Step = ApplyOutcome | 'readAgain' | 'isPrepared' | 'isGone';

interface Overwriting {
  readonly isAdopted: boolean;
  readonly taken: readonly FieldConflict[];
  readonly force?: boolean;
}

/** Applies over a live object. `taken`: fields of other managers that this overwrites. `isAdopted`: all of them. */
export async function overwrite(
  applying: Applying,
  raw: JsonObject,
  { isAdopted, taken, force = isAdopted }: Overwriting,
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
    return (await otherOwnership(applying, raw, answer, isAdopted)) ?? refusedOver(applying, raw, answer);
  }
  const conflicts = conflictsOf(answer.refusal, managers);
  const declared = conflicts.filter(({ operation }) => operation === 'Apply');
  if (declared.length > 0 && annotationOf(value, FORCE_CONFLICTS) !== 'true') return contested(request, declared);
  const flappingWith = flapping.among(key, managersOf(conflicts));
  if (flappingWith.length > 0) return leftAlone(request, conflicts, flappingWith);
  log.info('fields are taken back', { object: displayKey(key), from: listConflicts(conflicts) });
  return overwrite(applying, raw, { isAdopted, taken: [...taken, ...conflicts], force: true });
}

/**
 * What can be written after a refusal if other fields are ours; undefined: that is no way out. An entry that names fields in another
 * version of the kind lacks the fields of this version: our entry is named anew, and the entries of others if that is not enough.
 * A field that an adoption would remove and the API server keeps is owned by no manager afterwards.
 */
async function otherOwnership(
  applying: Applying,
  raw: JsonObject,
  answer: NotWritten,
  isAdopted: boolean,
): Promise<Step | undefined> {
  if (answer.type !== 'refused') return undefined;
  const fields = ourFields(raw);
  const old = isOtherSchema(answer.refusal) ? namedInOtherVersion(raw, textOf(applying.body.apiVersion)) : undefined;
  if (old !== undefined && !isEmpty(fields)) {
    return setOwnership(
      applying,
      raw,
      { fields, renamesOthers: old === 'others' },
      'named in the new version of the kind',
    );
  }
  const undeclared = undeclaredFields(fields, applying.body);
  if (!isAdopted || !isImmutable(answer.refusal) || isEmpty(undeclared)) return undefined;
  return setOwnership(
    applying,
    raw,
    { fields: subtractFields(fields, undeclared) },
    'left as they are, since they cannot change',
  );
}

type NotWritten = Exclude<KubeAnswer, { type: 'ok' }> | Hindered;

/**
 * A change that only a new object can have: the message names the way out, or the object is deleted, if its manifest allows that.
 * Before that the API server says whether it accepts a new one, so that nothing is lost.
 */
async function refusedOver(applying: Applying, raw: JsonObject, answer: NotWritten): Promise<Step> {
  const { request, resource } = applying;
  if (answer.type !== 'refused' || !mayNeedNewObject(answer) || isOfOthers(answer.refusal, raw)) {
    return refused(request, answer);
  }
  const failure = failureOf(answer, isKeyOfSecret(request.key));
  const isFixed = isImmutable(answer.refusal);
  const { message } = failure;
  const replacement = replacementOf(request.key, request.value);
  if (replacement === 'never' || replacement === 'lasts') {
    return isFixed ? failed('ImmutableField', `${message}; ${whyNeverReplaced(replacement, request)}`) : failure;
  }
  const hindrance = await refusedAsNew(applying, raw);
  if (hindrance !== undefined) {
    // A manifest that is wrong by itself is refused in the same words.
    if (!isFixed && hindrance.reason === 'Invalid') return failure;
    const why = `it is not made anew, since a dry run of a new object under another name fails: ${hindrance.message}`;
    return failed(hindrance.reason, `${message}; ${why}`);
  }
  if (replacement === 'asks') {
    const way = `set the annotation ${REPLACE}: "true" in its manifest to have it deleted and made anew`;
    return failed('ImmutableField', `${message}; ${way}`);
  }
  const removed = await deleteJudged(applying, resource, request.key, raw);
  switch (removed.type) {
    case 'gone':
      return 'isGone';
    case 'changed':
      return 'readAgain';
    case 'lasting':
      return failed('ImmutableField', `${message}; it cannot be replaced: ${removed.message}`);
    case 'waiting':
      return failed('BeingReplaced', `${displayKey(request.key)} is deleted to be made anew: ${removed.message}`);
    default:
      return removed;
  }
}

function whyNeverReplaced(replacement: 'never' | 'lasts', { key }: ApplyRequest): string {
  if (replacement === 'lasts') return `it is never replaced: ${WHY_LASTING}`;
  return `a ${objectRefOf(key).kind} is never replaced, since all that is in it would go`;
}

/**
 * Whether the change can be what is not valid, and not the manifest: fields never change, or defaults of the older version stay. A
 * webhook or a policy that denies changes is not got round, unless it says that a field is immutable.
 */
export function mayNeedNewObject(answer: Extract<KubeAnswer, { type: 'refused' }>): boolean {
  const { refusal } = answer;
  return refusal.reason === 'Invalid' && (failureOf(answer, false).reason === 'Invalid' || isImmutable(refusal));
}

/** Whether the refusal may be of what other managers have added: they would add it to a new object, too. */
function isOfOthers(refusal: KubeRefusal, raw: JsonObject): boolean {
  if (isImmutable(refusal)) return false;
  return fieldManagers(raw).some(
    (manager) =>
      !isOurs(manager) &&
      manager.subresource === '' &&
      Object.keys(manager.fields).some((name) => name !== 'f:metadata' && name !== 'f:status'),
  );
}

/** The outcome of a write that was not accepted. */
export function refused({ key }: ApplyRequest, answer: NotWritten): ApplyOutcome {
  return answer.type === 'paused' || answer.type === 'failed' ? answer : failureOf(answer, isKeyOfSecret(key));
}

/** `before`: the resourceVersion that was written over. */
export async function written(applying: Applying, raw: JsonObject, before: string | undefined): Promise<ApplyOutcome> {
  const { live, resource } = applying;
  const entry = readEntry(raw, resource, live.reading, true);
  live.wrote(entry);
  const waited = await awaitServed(applying, raw);
  const hindered = waited ?? contestedFields(applying, raw);
  if (hindered !== undefined) return hindered;
  return { type: before === entry.resourceVersion ? 'unchanged' : 'applied', identity: uidOf(raw) };
}

/**
 * Has the fields of former managers as ours, so that an apply removes those that are not declared. The object is read again then. The
 * declared fields of an object that is ours already are left to no manager: they count as lost, and their declared values are written.
 */
export async function takeOver(
  applying: Applying,
  raw: JsonObject,
  former: readonly FieldManager[],
  isAdopted: boolean,
): Promise<Step> {
  const from = managersOf(former).join(', ');
  const ours = ourFields(raw);
  const theirs = allFields(former);
  const fields = joinedFields(ours, isAdopted ? theirs : undeclaredFields(theirs, applying.body));
  return setOwnership(applying, raw, { fields, over: former }, `taken over from ${from}`);
}

/** Gives up our ownership of the fields that are undeclared and left to others, so that they stay. Undefined: there are none. */
export async function leaveFields(applying: Applying, raw: JsonObject): Promise<Step | undefined> {
  const ours = ourFields(raw);
  const left = fieldsLeft(applying, ours);
  if (isEmpty(left)) return undefined;
  return setOwnership(applying, raw, { fields: subtractFields(ours, left) }, 'left to others as they are');
}

/** Writes which fields are ours. The object is read again then. */
async function setOwnership(
  applying: Applying,
  raw: JsonObject,
  ownership: Omit<Ownership, 'apiVersion'>,
  what: string,
): Promise<Step> {
  const { request, resource, body, log } = applying;
  const change = { ...ownership, apiVersion: textOf(body.apiVersion) };
  const answer = await send(applying, ownershipRequest(pathOf(resource, request.key), raw, change));
  if (answer.type !== 'ok') return isStaleWrite(answer) ? 'readAgain' : refused(request, answer);
  log.info(`fields are ${what}`, { object: displayKey(request.key) });
  return 'isPrepared';
}

function contested({ key }: ApplyRequest, conflicts: readonly FieldConflict[]): ApplyOutcome {
  return {
    type: 'conflict',
    owner: managersOf(conflicts).join(', '),
    message: `fields of ${displayKey(key)} are declared by others too: ${listConflicts(conflicts)}; let one of the two declare them, or set the annotation ${FORCE_CONFLICTS}: "true" in its manifest to take them`,
  };
}

/** Others keep changing fields back. */
export function leftAlone(
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
