import { type JsonObject, objectOf, textOf } from '../../../model/json.ts';
import { ok, problem, type Result } from '../../../model/result.ts';
import type { ReflectorOptions } from './types.ts';

/** Checks that this is an object of the followed kind. Items of a list do not name their kind: it is filled in. */
export function readReflected(
  object: JsonObject,
  { resource, namespace: only }: ReflectorOptions,
): Result<{ readonly object: JsonObject; readonly resourceVersion: string }> {
  const metadata = objectOf(object.metadata);
  const name = textOf(metadata.name);
  const namespace = textOf(metadata.namespace);
  const resourceVersion = textOf(metadata.resourceVersion);
  if (name === '') return problem(`an object of kind ${resource.kind} has no name`);
  if (resourceVersion === '') return problem(`${name} has no resourceVersion`);
  if (resource.namespaced ? namespace === '' : namespace !== '') {
    return problem(
      `${name} ${resource.namespaced ? 'is in no namespace' : 'is in a namespace, which its kind is not'}`,
    );
  }
  if (only !== undefined && namespace !== only) return problem(`${name} is in another namespace than was asked for`);
  const { apiVersion = apiVersionOf(resource), kind = resource.kind } = object;
  if (kind !== resource.kind || typeof apiVersion !== 'string') return problem(`${name} is no ${resource.kind}`);
  const named = object.apiVersion !== undefined && object.kind !== undefined;
  return ok({ object: named ? object : { ...object, apiVersion, kind }, resourceVersion });
}

/** The version of a list or of a bookmark; undefined if it names none that could be watched from. */
export function positionOf(object: JsonObject): string | undefined {
  const version = textOf(objectOf(object.metadata).resourceVersion);
  return version === '' || version === '0' ? undefined : version;
}

/** Whether `a` is from before `b`. Only versions that are numbers can be compared; of others nobody knows. */
export function isOlder(a: string, b: string): boolean {
  if (!/^\d+$/.test(a) || !/^\d+$/.test(b)) return false;
  return a.length === b.length ? a < b : a.length < b.length;
}

function apiVersionOf({ group, version }: ReflectorOptions['resource']): string {
  return group === '' ? version : `${group}/${version}`;
}
