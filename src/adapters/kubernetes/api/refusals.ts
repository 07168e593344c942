import { type JsonObject, type JsonValue, objectOf, objectsOf, textOf } from '../../../model/json.ts';
import type { KubeRefusal } from './types.ts';

/** Reads a `Status`; undefined if it is none. `retryAfter`: the header, seconds or empty. */
export function readStatus(body: JsonObject, retryAfter?: string): KubeRefusal | undefined {
  if (body.kind !== 'Status') return undefined;
  const details = objectOf(body.details);
  const retryAfterMs = secondsOf(retryAfter) ?? secondsOf(details.retryAfterSeconds);
  return {
    reason: textOf(body.reason),
    message: textOf(body.message),
    causes: objectsOf(details.causes).map(readCause),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** What an HTTP status says where the body is no `Status`, with the beginning of what was there instead. */
export function refusalOfText(status: number, body: string, retryAfter?: string): KubeRefusal {
  const retryAfterMs = secondsOf(retryAfter);
  const said = body.trim().replaceAll(/\s+/g, ' ').slice(0, 200);
  return {
    reason: REASONS[status] ?? '',
    message: said === '' ? `HTTP status ${status}` : `HTTP status ${status}: ${said}`,
    causes: [],
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** The position that was asked for is no longer kept: only a whole list helps. */
export function isExpired(status: number, refusal: KubeRefusal): boolean {
  return status === 410 || refusal.reason === 'Expired' || refusal.reason === 'Gone';
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  422: 'Invalid',
  429: 'TooManyRequests',
};

function readCause(cause: JsonObject): KubeRefusal['causes'][number] {
  return { reason: textOf(cause.reason), message: textOf(cause.message), field: textOf(cause.field) };
}

function secondsOf(value: JsonValue | undefined): number | undefined {
  if (value === undefined || value === '') return undefined;
  const seconds = Number(value);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined;
}
