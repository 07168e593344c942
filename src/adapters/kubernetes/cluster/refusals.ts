import type { JsonObject } from '../../../model/text/json.ts';
import { firstNames } from '../../../model/text/messages.ts';
import { NAMESPACE_NOT_FOUND, NAMESPACE_TERMINATING } from '../../../ports/cluster-api.ts';
import type { ApiResource, KubeAnswer, KubeRefusal } from '../api/types.ts';
import { compareFields, type FieldManager, isOurs } from './ownership.ts';

/** A request that failed, as the outcome of a write. */
export interface Failure {
  readonly type: 'failed';
  readonly reason: string;
  readonly message: string;
}

/** Why no write may be sent at this moment: the stop button is on, or another replica leads. */
export type Hindered = { readonly type: 'paused' } | Failure;

export function failed(reason: string, message: string): Failure {
  return { type: 'failed', reason, message };
}

/**
 * The failure of an object whose request was not accepted. `secret`: the server's message can quote values, so the failure has only
 * fields and reasons.
 */
export function failureOf(answer: Exclude<KubeAnswer, { type: 'ok' }>, secret: boolean): Failure {
  if (answer.type === 'unreachable') return failed('Unreachable', answer.message);
  const { status, refusal } = answer;
  return failed(classify(status, refusal), secret ? withoutValues(refusal) : refusal.message);
}

/** Whether the object was changed after the UID and resourceVersion that the write was bound to. */
export function isStaleWrite(answer: KubeAnswer | Hindered): boolean {
  return answer.type === 'refused' && answer.status === 409 && !isFieldConflict(answer.refusal);
}

export function isFieldConflict({ causes }: KubeRefusal): boolean {
  return causes.some(({ reason }) => reason === 'FieldManagerConflict');
}

/** Whether fields were changed that cannot be changed: only a new object can have them. */
export function isImmutable({ reason, message, causes }: KubeRefusal): boolean {
  const texts = causes.length === 0 ? [message] : causes.map((cause) => `${cause.field}: ${cause.message}`);
  return reason === 'Invalid' && texts.some((text) => IMMUTABLE.test(text));
}

/**
 * Whether the API server itself never lets the object be deleted, such as a priority class of the system. Answers of
 * webhooks, policies and proxies can read the same, and these can change: a 405 counts only if discovery says that the kind cannot be
 * deleted.
 */
export function isRefusedForGood(
  answer: KubeAnswer | Hindered,
  { verbs }: Pick<ApiResource, 'verbs'>,
): answer is Extract<KubeAnswer, { type: 'refused' }> {
  if (answer.type !== 'refused') return false;
  const { status, refusal } = answer;
  const reason = classify(status, refusal);
  if (reason === 'Forbidden') return /(may not|can ?not) be deleted/i.test(refusal.message);
  return reason === 'NotSupported' && status === 405 && !verbs.includes('delete');
}

/** Whether the live object has a field that the schema of a version does not have. A field of the manifest itself is not meant. */
export function isOtherSchema({ message, causes }: KubeRefusal): boolean {
  return [message, ...causes.map((cause) => cause.message)].some(
    (text) => NOT_DECLARED.test(text) && !OWN_SCHEMA.test(text),
  );
}

const NOT_DECLARED = /not declared in schema/i;
/** The manifest has a field, or a type, that its own version does not have. */
const OWN_SCHEMA = /failed to create typed patch object/i;

const IMMUTABLE =
  /immutable|may not change|may not be changed|cannot be changed|can ?not (change|be modified)|must not update from|only be modified in tandem|only (deletion is|additions to .* are) allowed|(less|greater) than or equal to previous|updates to .* are forbidden|spec is forbidden/i;

/** Reasons of refusals by their message; the first that matches. */
const BY_MESSAGE: readonly (readonly [message: RegExp, reason: string])[] = [
  [/request is too large|message larger than max|entity too large|may not be more than \d+ bytes/i, 'TooLarge'],
  [/admission webhook .* denied/i, 'DeniedByWebhook'],
  [/ValidatingAdmissionPolicy .* denied/i, 'DeniedByPolicy'],
  [/failed calling webhook/i, 'WebhookUnavailable'],
  [/exceeded quota/i, 'QuotaExceeded'],
  [NOT_DECLARED, 'Invalid'],
  [OWN_SCHEMA, 'Invalid'],
];

const BY_STATUS: Readonly<Record<number, string>> = {
  400: 'Rejected',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'NotSupported',
  409: 'ChangedMeanwhile',
  413: 'TooLarge',
  415: 'NotSupported',
  422: 'Invalid',
  429: 'Throttled',
};

function classify(status: number, { message, causes }: KubeRefusal): string {
  if (causes.some(({ reason }) => reason === NAMESPACE_TERMINATING)) return NAMESPACE_TERMINATING;
  for (const [text, reason] of BY_MESSAGE) if (text.test(message)) return reason;
  if (status === 404 && /namespaces? .* not found/i.test(message)) return NAMESPACE_NOT_FOUND;
  return BY_STATUS[status] ?? (status >= 500 ? 'ServerError' : 'Rejected');
}

function withoutValues({ reason, causes }: KubeRefusal): string {
  const where = causes.map((cause) => `${cause.field === '' ? 'it' : cause.field}: ${asReason(cause.reason)}`);
  return `the API server refuses the Secret (${[asReason(reason), ...where].join('; ')}); its words are left out, they may hold values`;
}

/** A webhook gives any text as a reason. */
function asReason(text: string): string {
  return /^[A-Za-z]*$/.test(text) ? text : 'refused';
}

/** A field that we declare and another manager owns. */
export interface FieldConflict {
  readonly manager: string;
  /** As the API server names it. */
  readonly field: string;
  /** `Apply`: the manager declares the field, as we do. `Update`: it wrote the field. */
  readonly operation: 'Apply' | 'Update';
}

const MANAGER = /^conflict with ("(?:[^"\\]|\\.)*")/;

/**
 * The conflicts that a refused apply names. A manager that applies and updates counts as one that applies: its fields are never
 * taken by force.
 *
 * @param managers of the live object
 */
export function conflictsOf({ causes }: KubeRefusal, managers: readonly FieldManager[]): readonly FieldConflict[] {
  return causes.flatMap(({ reason, message, field }) => {
    const quoted = MANAGER.exec(message)?.[1];
    if (reason !== 'FieldManagerConflict' || quoted === undefined) return [];
    const manager = unquote(quoted);
    const isApplied = managers.some((one) => one.manager === manager && one.operation === 'Apply' && !isOurs(one));
    return [{ manager, field, operation: isApplied ? 'Apply' : 'Update' } as const];
  });
}

function unquote(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted.slice(1, -1);
  }
}

const MOST_NAMED = 5;

/** The managers that have declared fields that we have lost. */
export function ownedBy(
  declared: JsonObject,
  lost: readonly string[],
  others: readonly FieldManager[],
): readonly FieldConflict[] {
  return others.flatMap(({ manager, operation, fields }) => {
    const owned = new Set(compareFields(declared, fields).owned);
    return lost.filter((field) => owned.has(field)).map((field): FieldConflict => ({ manager, field, operation }));
  });
}

/** The field managers that these name, each once. */
export function managersOf(named: readonly { readonly manager: string }[]): readonly string[] {
  return [...new Set(named.map(({ manager }) => manager))];
}

/** `.spec.a, .spec.b and 3 more`. */
export function listFields(fields: readonly string[]): string {
  return firstNames(fields, MOST_NAMED);
}

/** `"argocd" (.spec.a, .spec.b); "helm" (.spec.c)`. */
export function listConflicts(conflicts: readonly FieldConflict[]): string {
  const byManager = Map.groupBy(conflicts, ({ manager }) => manager);
  return [...byManager]
    .map(([manager, all]) => `"${manager}" (${listFields(all.map(({ field }) => field))})`)
    .join('; ');
}
