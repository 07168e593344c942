import { displayKey, type ObjectKey, objectRefOf } from '../../model/object-key.ts';
import type { Collection, Graph, Index } from '../collections/types.ts';
import type { Decision, Hold } from './decision.ts';

/** Objects that stay, by the Namespace or the API group of the CRD that contains them. */
export function indexContents(graph: Graph, decisions: Collection<Decision>): Index<Decision> {
  return graph.index('containerContents', decisions, ({ partition, key, value }) => {
    if (value.type === 'remove' || value.type === 'absent' || value.type === 'left') return [];
    return containersOf(partition, key as ObjectKey);
  });
}

/** Pending removals by the Namespace or the API group of the CRD that contains them. */
export function indexGoingContents(graph: Graph, decisions: Collection<Decision>): Index<Decision> {
  return graph.index('goingContents', decisions, ({ partition, key, value }) =>
    value.type === 'remove' ? containersOf(partition, key as ObjectKey) : [],
  );
}

/** The group of {@link indexContents} for a Namespace or CRD; undefined for every other kind. */
export function contentsOf(cluster: string, key: ObjectKey): string | undefined {
  const { group, kind, name } = objectRefOf(key);
  if (group === '' && kind === 'Namespace') return contentsGroup(cluster, 'namespace', name);
  if (group === 'apiextensions.k8s.io' && kind === 'CustomResourceDefinition') {
    // The name of a CRD is `plural.group`; a kind's plural is not in its objects' keys, so its whole group counts.
    return contentsGroup(cluster, 'group', name.slice(name.indexOf('.') + 1));
  }
  return undefined;
}

/** Why a container with objects in it stays. */
export function stillHolding(key: ObjectKey): Hold {
  return { reason: 'ContainerInUse', message: `${displayKey(key)} stays while objects in it are meant to be there` };
}

function containersOf(cluster: string, key: ObjectKey): readonly string[] {
  const { group, namespace } = objectRefOf(key);
  const inNamespace = namespace === '' ? [] : [contentsGroup(cluster, 'namespace', namespace)];
  return group === '' ? inNamespace : [...inNamespace, contentsGroup(cluster, 'group', group)];
}

function contentsGroup(cluster: string, what: 'namespace' | 'group', name: string): string {
  return `${cluster}/${what}/${name}`;
}
