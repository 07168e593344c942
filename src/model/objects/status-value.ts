import { isJsonObject, type JsonObject } from '../text/json.ts';
import {
  displayKey,
  isStatusKey,
  metadataOf,
  type ObjectKey,
  objectKey,
  objectOfStatus,
  refOfObject,
} from './object-key.ts';

/** The members of the value of a status, and the members of its metadata. */
const MEMBERS: readonly string[] = ['apiVersion', 'kind', 'metadata', 'status'];
const METADATA: readonly string[] = ['name', 'namespace'];

/**
 * Why a value is not the one of its key; undefined: it is, or the key names an object. The value of a status has the apiVersion, the
 * kind, the name and the namespace of its object, the status, and nothing else.
 */
export function statusProblem(key: ObjectKey, value: JsonObject): string | undefined {
  if (!isStatusKey(key)) return undefined;
  const named = refOfObject(value);
  if (!named.ok) return named.problem;
  if (objectKey(named.value) !== objectOfStatus(key)) return `it names ${displayKey(objectKey(named.value))}`;
  if (!isJsonObject(value.status)) return 'status is missing or not an object';
  const others = Object.keys(value).filter((name) => !MEMBERS.includes(name));
  const more = Object.keys(metadataOf(value)).filter((name) => !METADATA.includes(name));
  const [first] = [...others, ...more.map((name) => `metadata.${name}`)];
  return first === undefined
    ? undefined
    : `it has ${first}, and a status has nothing but its object's name and the status`;
}
