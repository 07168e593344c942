import { type JsonObject, objectOf, textOf } from '../text/json.ts';
import { groupOf, type ObjectKey, objectKey, objectRefOf } from './object-key.ts';

/** The kind of the objects that set the replicas of others. */
export const AUTOSCALER_KIND = 'autoscaling/HorizontalPodAutoscaler';

/** The object whose replicas an autoscaler sets; undefined: it names none. */
export function autoscaledBy(autoscaler: ObjectKey, { spec }: JsonObject): ObjectKey | undefined {
  const { apiVersion, kind, name } = objectOf(objectOf(spec).scaleTargetRef);
  if (name === undefined) return undefined;
  const { namespace } = objectRefOf(autoscaler);
  return objectKey({ group: groupOf(textOf(apiVersion)), kind: textOf(kind), namespace, name: textOf(name) });
}
