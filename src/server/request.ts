import type { Context } from 'hono';
import { isJsonObject, type JsonObject, type JsonValue } from '../model/json.ts';
import { ok, problem, type Result } from '../model/result.ts';
import type { CallerHeaders } from './local-caller.ts';

/** The headers by which a caller on this machine is told from one that was led here. */
export function callerHeaders({ req }: Context): CallerHeaders {
  return {
    host: req.header('Host'),
    origin: req.header('Origin'),
    fetchSite: req.header('Sec-Fetch-Site'),
    forwarded: ['X-Forwarded-For', 'X-Forwarded-Host', 'Forwarded'].some((name) => req.header(name) !== undefined),
  };
}

/** Checks a text from a request: there, not longer than `max` characters, no control characters. */
export function textOf(what: string, value: JsonValue | undefined, max: number): Result<string> {
  if (typeof value !== 'string' || value === '') return problem(`${what} is missing`);
  if (value.length > max) return problem(`${what} is longer than ${max} characters`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: refusing control characters is the point.
  return /[\u0000-\u001f\u007f]/.test(value) ? problem(`${what} holds a control character`) : ok(value);
}

/** The body as a JSON object. */
export async function jsonBody({ req }: Context): Promise<Result<JsonObject>> {
  try {
    const value = JSON.parse(await req.text()) as JsonValue;
    return isJsonObject(value) ? ok(value) : problem('the body must be a JSON object');
  } catch {
    return problem('the body is not JSON');
  }
}
