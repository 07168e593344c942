import type { Context } from 'hono';
import { isJsonObject, type JsonObject, type JsonValue } from '../model/json.ts';
import { ok, problem, type Result } from '../model/result.ts';
import { isLoopback } from './listen-address.ts';

/**
 * Returns why a request is not trusted although it arrived on a loopback listener; undefined: it is. A web page can make a
 * browser on this machine send requests: under a name of its own that resolves to 127.0.0.1 (seen in `Host`), or from a
 * page of another origin (seen in `Origin` and `Sec-Fetch-Site`). Behind a proxy, the address says nothing of the caller.
 */
export function localCallerProblem({ req }: Context): string | undefined {
  if (['X-Forwarded-For', 'X-Forwarded-Host', 'Forwarded'].some((name) => req.header(name) !== undefined)) {
    return 'the request came through a proxy; configure a token or secret for that';
  }
  const host = req.header('Host');
  const [, ipv6, name = ''] = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]+))(?::\d{1,5})?$/.exec(host ?? '') ?? [];
  if (!isLoopback((ipv6 ?? name).toLowerCase())) return 'the Host header must be localhost or a loopback address';
  const origin = req.header('Origin');
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) {
    return 'the request comes from another web page (Origin)';
  }
  return ['same-origin', 'none'].includes(req.header('Sec-Fetch-Site') ?? 'none')
    ? undefined
    : 'the request comes from another web page (Sec-Fetch-Site)';
}

/** Checks a text of a request: not missing, not longer than `max` characters, without control characters. */
export function textOf(what: string, value: JsonValue | undefined, max: number): Result<string> {
  if (typeof value !== 'string' || value === '') return problem(`${what} is missing`);
  if (value.length > max) return problem(`${what} is longer than ${max} characters`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: refusing control characters is the point.
  return /[\u0000-\u001f\u007f]/.test(value) ? problem(`${what} holds a control character`) : ok(value);
}

/** Reads the body as a JSON object. */
export async function jsonBody({ req }: Context): Promise<Result<JsonObject>> {
  try {
    const value = JSON.parse(await req.text()) as JsonValue;
    return isJsonObject(value) ? ok(value) : problem('the body must be a JSON object');
  } catch {
    return problem('the body is not JSON');
  }
}
