import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';

/** Body of every answer that is an error. `reason` is a constant UpperCamelCase word, `message` a sentence for a person. */
export interface ErrorBody {
  readonly error: { readonly reason: string; readonly message: string };
}

const REASONS = {
  Invalid: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  Conflict: 409,
  TooLarge: 413,
  UnsupportedMediaType: 415,
  Internal: 500,
  Unavailable: 503,
} as const satisfies Readonly<Record<string, ContentfulStatusCode>>;

/** Why a request was not answered; each has its HTTP status. */
export type ErrorReason = keyof typeof REASONS;

/** Answers with an error. */
export function refuse(context: Context, reason: ErrorReason, message: string): Response {
  if (reason === 'Unauthorized') context.header('WWW-Authenticate', 'Bearer realm="fleetrelay"');
  return context.json({ error: { reason, message } } satisfies ErrorBody, REASONS[reason]);
}
