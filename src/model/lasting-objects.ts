import type { Hold } from './ledger.ts';
import { displayKey, type ObjectKey } from './object-key.ts';

/** Reason of an object whose removal every API server refuses, or answers by making it again. */
export const NOT_REMOVABLE = 'NotRemovable';

/** Objects of every cluster. Source: the admission plugin NamespaceLifecycle and the controllers of kube-apiserver 1.36. */
const LASTING: readonly string[] = [
  ...['default', 'kube-system', 'kube-public', 'kube-node-lease'].map((name) => `/Namespace//${name}`),
  '/Service/default/kubernetes',
  '/Endpoints/default/kubernetes',
  'discovery.k8s.io/EndpointSlice/default/kubernetes',
];

/** Why an object is never removed from a cluster with an API server; undefined: it can be. */
export function refusedAsLasting(key: ObjectKey): Hold | undefined {
  return LASTING.includes(key) ? lasting(key, 'every cluster has it, and its API server needs it') : undefined;
}

/** The object stays for this reason, which no later request ends. */
export function lasting(key: ObjectKey, why: string): Hold {
  return { reason: NOT_REMOVABLE, message: `${displayKey(key)} stays, and is not managed any more: ${why}` };
}
