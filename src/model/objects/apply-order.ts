import { AUTOSCALER_KIND } from './autoscalers.ts';
import { isStatusKey, kindOf, type ObjectKey } from './object-key.ts';

/**
 * Annotations of objects that give a part of their content to others, with names of objects of their kind and namespace between commas. A
 * live object is updated only when those are applied that {@link UPDATED_AFTER} names in its new content and not yet in the live one. It is
 * removed only when those are applied that {@link REMOVED_AFTER} names in either.
 */
export const UPDATED_AFTER = 'fleetrelay.dev/updated-after';
export const REMOVED_AFTER = 'fleetrelay.dev/removed-after';

const CRD = 'apiextensions.k8s.io/CustomResourceDefinition';
const WEBHOOKS: readonly string[] = [
  'admissionregistration.k8s.io/MutatingWebhookConfiguration',
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration',
];

/** The highest {@link creationRank}. */
export const LAST_RANK = 5;

const RANKS: ReadonlyMap<string, number> = new Map([
  ['/Namespace', 0],
  [CRD, 1],
  [AUTOSCALER_KIND, 2],
  ...WEBHOOKS.map((kind) => [kind, 4] as const),
]);

/**
 * The order in which objects are sent and created; lower ranks are first. Namespaces and CRDs are before what is in them.
 * Autoscalers are before the objects that they scale: a manifest may give the replicas up in the same revision. Webhooks are after the
 * other objects, because they could reject them. Statuses are last.
 */
export function creationRank(key: ObjectKey): number {
  return isStatusKey(key) ? LAST_RANK : (RANKS.get(kindOf(key)) ?? 3);
}
