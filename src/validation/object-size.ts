import { type FieldProblem, fieldError } from '../manifest/problem.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../model/json.ts';

/** What an API server reads of the body of a request: `MaxRequestBodyBytes` of k8s.io/apiserver. */
const MOST_BYTES = 3 * 1024 * 1024;

/**
 * Returns the problem of an object that has more bytes as JSON than an API server takes in the body of a request; undefined if
 * it has not. Counts no further than to the limit, as aliases can make an object large that is small in its file.
 */
export function sizeProblem(object: JsonObject): FieldProblem | undefined {
  if (leftAfter(object, MOST_BYTES) >= 0) return undefined;
  const message = 'the object has more than 3 MiB as JSON, and an API server takes no more in a request';
  return fieldError('ObjectTooLarge', [], message, 'make several objects of it');
}

/** Of a number of bytes those that the JSON of a value leaves; negative if it has more. */
function leftAfter(value: JsonValue | undefined, bytes: number): number {
  if (bytes < 0) return bytes;
  if (typeof value === 'string') return bytes - bytesOf(value, bytes);
  if (Array.isArray(value)) {
    let left = bytes - Math.max(2, value.length + 1);
    for (const item of value) {
      left = leftAfter(item, left);
      if (left < 0) return left;
    }
    return left;
  }
  if (!isJsonObject(value)) return bytes - String(value).length;
  let left = bytes - 1;
  for (const key in value) {
    // A colon, and a comma or the end.
    left = leftAfter(value[key], left - bytesOf(key, left) - 2);
    if (left < 0) return left;
  }
  return left;
}

/** The bytes of a text in JSON. A text that is too long in any case is not looked at. */
function bytesOf(text: string, most: number): number {
  if (text.length < SHORT) return text.length + 2;
  return text.length > most ? text.length : Buffer.byteLength(JSON.stringify(text));
}

/** Short texts have few characters of several bytes, so that they count as ASCII. */
const SHORT = 64;
