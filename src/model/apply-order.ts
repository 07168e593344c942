import { kindOf, type ObjectKey } from './object-key.ts';

const CRD = 'apiextensions.k8s.io/CustomResourceDefinition';
const WEBHOOKS: readonly string[] = [
  'admissionregistration.k8s.io/MutatingWebhookConfiguration',
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration',
];

/** The highest {@link creationRank}. */
export const LAST_RANK = 3;

/**
 * The order in which objects are sent and created; lower ranks are first. Namespaces and CRDs are before what is in them.
 * Webhooks are last, because they could reject other objects.
 */
export function creationRank(key: ObjectKey): number {
  const kind = kindOf(key);
  return kind === '/Namespace' ? 0 : kind === CRD ? 1 : WEBHOOKS.includes(kind) ? LAST_RANK : 2;
}
