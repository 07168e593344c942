import { type JsonObject, objectOf, parseJson } from '../model/text/json.ts';

/** Reads the first value of a header. */
export type Header = (name: string) => string | undefined;

/** The body of a hook: JSON, or a form with JSON. Empty if it is neither. */
export function bodyOf(header: Header, body: Uint8Array): JsonObject {
  const text = new TextDecoder().decode(body);
  const isForm = header('Content-Type')?.startsWith('application/x-www-form-urlencoded') === true;
  return objectOf(parseJson(isForm ? (new URLSearchParams(text).get('payload') ?? '') : text));
}
