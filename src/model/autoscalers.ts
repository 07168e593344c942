import { type JsonObject, objectOf, textOf } from './json.ts';
import { type ObjectKey, objectKey, objectRefOf } from './object-key.ts';

/** The kind of the objects that set the replicas of others. */
export const AUTOSCALER_KIND = 'autoscaling/HorizontalPodAutoscaler';

/** The object whose replicas an autoscaler sets; undefined: it names none. */
export function autoscaledBy(autoscaler: ObjectKey, { spec }: JsonObject): ObjectKey | undefined {
  const { apiVersion, kind, name } = objectOf(objectOf(spec).scaleTargetRef);
  if (name === undefined) return undefined;
  const slash = textOf(apiVersion).indexOf('/');
  const group = slash < 0 ? '' : textOf(apiVersion).slice(0, slash);
  return objectKey({ group, kind: textOf(kind), namespace: objectRefOf(autoscaler).namespace, name: textOf(name) });
}
