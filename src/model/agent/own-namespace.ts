import type { Hold } from '../fleet/ledger.ts';
import { displayKey, kindOf, type ObjectKey, objectRefOf } from '../objects/object-key.ts';

/** Reason of an object that lies in the namespace of its cluster's agent, or is that Namespace. */
export const OWN_NAMESPACE = 'OwnNamespace';

/**
 * Why the object is refused: a commit that changes the agent's own namespace could stop the agent for good.
 * `ownNamespace`: the namespace of the agent; undefined: the agent allows objects in it, or has none.
 */
export function refusedInOwnNamespace(key: ObjectKey, ownNamespace: string | undefined): Hold | undefined {
  if (ownNamespace === undefined) return undefined;
  const { namespace, name } = objectRefOf(key);
  const isIn = kindOf(key) === '/Namespace' ? name === ownNamespace : namespace === ownNamespace;
  if (!isIn) return undefined;
  const why = `the namespace ${ownNamespace} belongs to the agent of this cluster`;
  const way = 'declare it elsewhere, or start the agent with --allow-own-namespace';
  return { reason: OWN_NAMESPACE, message: `${displayKey(key)} is left as it is: ${why}; ${way}` };
}
