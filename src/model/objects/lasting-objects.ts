import type { Hold } from '../fleet/ledger.ts';
import type { JsonObject } from '../text/json.ts';
import { annotationOf, displayKey, type ObjectKey } from './object-key.ts';

/** Reason of an object whose removal every API server refuses, or answers by making it again. */
export const NOT_REMOVABLE = 'NotRemovable';

/** Objects of every cluster. Source: the admission plugin NamespaceLifecycle and the controllers of kube-apiserver 1.36. */
const LASTING: readonly string[] = [
  ...['default', 'kube-system', 'kube-public', 'kube-node-lease'].map((name) => `/Namespace//${name}`),
  '/Service/default/kubernetes',
  '/Endpoints/default/kubernetes',
  'discovery.k8s.io/EndpointSlice/default/kubernetes',
];

/** Whether every cluster with an API server has the object. */
export function isLasting(key: ObjectKey): boolean {
  return LASTING.includes(key);
}

/** Why an object of {@link isLasting} can be neither removed nor replaced. */
export const WHY_LASTING = 'every cluster has it, and its API server needs it';

/** Why an object is never removed from a cluster with an API server; undefined: it can be. */
export function refusedAsLasting(key: ObjectKey): Hold | undefined {
  return isLasting(key) ? lasting(key, WHY_LASTING) : undefined;
}

/** The object stays for this reason, which no later request ends. */
export function lasting(key: ObjectKey, why: string): Hold {
  return { reason: NOT_REMOVABLE, message: `${displayKey(key)} stays, and is not managed any more: ${why}` };
}

/** The annotation of an object that stays in a cluster with an API server when its manifest is removed. */
export const PRUNE = 'fleetrelay.dev/prune';

/** Why an object with this manifest is not removed; undefined: the manifest does not say so. */
export function refusedByPrune(key: ObjectKey, manifest: JsonObject): Hold | undefined {
  return annotationOf(manifest, PRUNE) === 'disabled' ? pruneDisabled(key) : undefined;
}

/** The object stays, since an annotation says so. */
export function pruneDisabled(key: ObjectKey): Hold {
  const message = `${displayKey(key)} carries the annotation ${PRUNE}: disabled; it stays, and is not managed any more`;
  return { reason: 'PruneDisabled', message };
}
