import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { given } from '../model/values/given.ts';

/** Body of every error response. */
export interface ErrorBody {
  readonly error: {
    /** Constant UpperCamelCase word. */
    readonly reason: string;
    /** Sentence for a person. */
    readonly message: string;
    /** With the reason NotLeader: HOST:PORT or URL of the leader's API, if it is known. */
    readonly leader?: string;
  };
}

const REASONS = {
  Invalid: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  Conflict: 409,
  NotLeader: 409,
  TooLarge: 413,
  UnsupportedMediaType: 415,
  Internal: 500,
  Unavailable: 503,
  Unrecorded: 503,
} as const satisfies Readonly<Record<string, ContentfulStatusCode>>;

/** Reason of an error response; each has its HTTP status. */
export type ErrorReason = keyof typeof REASONS;

/** Makes an error response. */
export function refuse(context: Context, reason: ErrorReason, message: string, leader?: string): Response {
  if (reason === 'Unauthorized') context.header('WWW-Authenticate', 'Bearer realm="fleetrelay"');
  const error = { reason, message, ...given({ leader }) };
  return context.json({ error } satisfies ErrorBody, REASONS[reason]);
}
