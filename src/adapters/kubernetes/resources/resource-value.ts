import { isJsonObject, type JsonObject, jsonEquals, objectOf, textOf } from '../../../model/json.ts';
import { objectKey, refOfObject } from '../../../model/object-key.ts';
import { ok, type Result } from '../../../model/result.ts';
import type { CustomResource } from '../../../ports/custom-resources.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** What is kept of an object. A value that is equal to that of `before` is the same one. */
export function customResourceOf(object: JsonObject, before: CustomResource | undefined): Result<CustomResource> {
  const ref = refOfObject(object);
  if (!ref.ok) return ref;
  const { status, ...declared } = object;
  const { managedFields: _managed, resourceVersion, annotations, ...metadata } = objectOf(object.metadata);
  const { [LAST_APPLIED]: _applied, ...kept } = objectOf(annotations);
  const value: JsonObject = {
    ...declared,
    metadata: { ...metadata, ...(Object.keys(kept).length === 0 ? {} : { annotations: kept }) },
  };
  return ok({
    key: objectKey(ref.value),
    uid: textOf(metadata.uid),
    resourceVersion: textOf(resourceVersion),
    generation: typeof metadata.generation === 'number' ? metadata.generation : 0,
    value: before !== undefined && jsonEquals(before.value, value) ? before.value : value,
    status: isJsonObject(status) ? status : undefined,
  });
}
