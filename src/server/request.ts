import { isJsonObject, type JsonObject, type JsonValue, parseJsonBytes } from '../model/text/json.ts';
import { ok, problem, type Result } from '../model/values/result.ts';

/** Checks a text of a request: not missing, not longer than `max` characters, without control characters. */
export function textOf(what: string, value: JsonValue | undefined, max: number): Result<string> {
  if (typeof value !== 'string' || value === '') return problem(`${what} is missing`);
  if (value.length > max) return problem(`${what} is longer than ${max} characters`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: refusing control characters is the point.
  return /[\u0000-\u001f\u007f]/.test(value) ? problem(`${what} holds a control character`) : ok(value);
}

/** Reads a body as a JSON object. */
export function jsonBody(bytes: Uint8Array): Result<JsonObject> {
  const value = parseJsonBytes(bytes);
  if (value === undefined) return problem('the body is not JSON');
  return isJsonObject(value) ? ok(value) : problem('the body must be a JSON object');
}
