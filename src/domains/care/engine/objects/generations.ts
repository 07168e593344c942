import { metadataOf } from '../../../../model/objects/object-key.ts';
import { type JsonObject, objectOf } from '../../../../model/text/json.ts';

/** The generation of a live object, and the one that its status is of (0: none); undefined: the object does not say its own. */
export function generationsOf(
  value: JsonObject,
): { readonly generation: number; readonly observed: number } | undefined {
  const { generation } = metadataOf(value);
  const { observedGeneration } = objectOf(value.status);
  if (typeof generation !== 'number') return undefined;
  return { generation, observed: typeof observedGeneration === 'number' ? observedGeneration : 0 };
}
