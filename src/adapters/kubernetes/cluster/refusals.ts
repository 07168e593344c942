import { NAMESPACE_NOT_FOUND } from '../../../ports/cluster-api.ts';
import type { KubeAnswer, KubeRefusal } from '../api/types.ts';

/** A request that came to nothing, as the outcome of a write. */
export interface Failure {
  readonly type: 'failed';
  readonly retryable: boolean;
  readonly reason: string;
  readonly message: string;
}

type NotOk = Exclude<KubeAnswer, { type: 'ok' }>;

/**
 * What a request that was not taken means for an object. Time can mend what lies outside of it. `secret`: the server's
 * words may quote values, so only fields and reasons are passed on.
 */
export function failureOf(answer: NotOk, secret: boolean): Failure {
  if (answer.type === 'unreachable') return failed(true, 'Unreachable', answer.message);
  const { retryable, reason } = judge(answer.status, answer.refusal);
  return failed(retryable, reason, secret ? withoutValues(answer.refusal) : answer.refusal.message);
}

/** The answer does not depend on the object: it is not as it was when it was judged. */
export function isStaleWrite(answer: KubeAnswer): boolean {
  return answer.type === 'refused' && answer.status === 409 && !isFieldConflict(answer.refusal);
}

export function isFieldConflict({ causes }: KubeRefusal): boolean {
  return causes.some(({ reason }) => reason === 'FieldManagerConflict');
}

/** A field that cannot be changed once it is set: only another object helps. */
export function isImmutable({ reason, message, causes }: KubeRefusal): boolean {
  return (
    reason === 'Invalid' && [message, ...causes.map((cause) => cause.message)].some((text) => IMMUTABLE.test(text))
  );
}

const IMMUTABLE =
  /immutable|may not change once set|may not be changed|cannot be changed|can ?not change|updates to .* are forbidden|spec is forbidden|may not change fields/i;

interface Judgement {
  readonly retryable: boolean;
  readonly reason: string;
}

const later = (reason: string): Judgement => ({ retryable: true, reason });
const never = (reason: string): Judgement => ({ retryable: false, reason });

function judge(status: number, refusal: KubeRefusal): Judgement {
  const { message } = refusal;
  if (refusal.causes.some(({ reason }) => reason === 'NamespaceTerminating')) return later('NamespaceTerminating');
  if (/request is too large|message larger than max|entity too large|may not be more than \d+ bytes/i.test(message)) {
    return never('TooLarge');
  }
  // An admission webhook and a policy may be changed, or see something else another time.
  if (/admission webhook .* denied/i.test(message)) return later('DeniedByWebhook');
  if (/ValidatingAdmissionPolicy .* denied/i.test(message)) return later('DeniedByPolicy');
  if (/failed calling webhook/i.test(message)) return later('WebhookUnavailable');
  if (/exceeded quota/i.test(message)) return later('QuotaExceeded');
  if (/not declared in schema|failed to create typed patch object/i.test(message)) return never('Invalid');
  return byStatus(status, message);
}

function byStatus(status: number, message: string): Judgement {
  switch (status) {
    case 400:
      return never('Rejected');
    case 401:
      return later('Unauthorized');
    case 403:
      return later('Forbidden');
    case 404:
      return later(/namespaces? .* not found/i.test(message) ? NAMESPACE_NOT_FOUND : 'NotFound');
    case 405:
    case 415:
      return never('NotSupported');
    case 409:
      return later('ChangedMeanwhile');
    case 413:
      return never('TooLarge');
    case 422:
      return never('Invalid');
    case 429:
      return later('Throttled');
    default:
      return status >= 500 ? later('ServerError') : never('Rejected');
  }
}

function withoutValues({ reason, causes }: KubeRefusal): string {
  const where = causes.map((cause) => `${cause.field === '' ? 'it' : cause.field}: ${cause.reason}`);
  return `the API server refuses the Secret (${[reason, ...where].join('; ')}); its words are left out, they may hold values`;
}

export function failed(retryable: boolean, reason: string, message: string): Failure {
  return { type: 'failed', retryable, reason, message };
}
