import type { KindState } from '../../model/agent.ts';
import { isJsonObject } from '../../model/json.ts';
import { builtInKindScope, type KindScope } from '../../model/kinds.ts';
import type { LedgerEntry } from '../../model/ledger.ts';
import { type ObjectKey, type ObjectRef, objectKey, objectRefOf } from '../../model/object-key.ts';
import type { Collection, Derived, Graph, Reader } from '../collections/types.ts';
import type { DocumentValue } from '../fleet/sources.ts';

/** What is known of whether kinds are namespaced, beside the built-in table. */
export interface KindScopes {
  /** By CustomResourceDefinitions in the desired state. Partition empty, key `group/Kind`. */
  readonly declared: Derived<KindScope>;
  /** By the clusters' own lists of kinds. Partition: the cluster. Key: `group/Kind`. */
  readonly listed: Derived<KindScope>;
  /** Keys in the ledger, of kinds that are not built in, and not on their way out. */
  readonly held: Derived<true>;
}

/** Derives what is known. Each changes only when a scope does, not with every state of a kind or phase of an entry. */
export function deriveKindScopes(
  graph: Graph,
  inputs: {
    readonly documents: Collection<DocumentValue>;
    readonly kinds: Collection<KindState>;
    readonly ledger: Collection<LedgerEntry>;
  },
): KindScopes {
  return {
    declared: graph.derive<DocumentValue, KindScope>({
      name: 'kindScopes',
      from: inputs.documents,
      compute: ({ value: { content } }, _read, emit) => {
        if (content.type !== 'object' || content.ref.kind !== 'CustomResourceDefinition') return;
        if (content.ref.group !== 'apiextensions.k8s.io') return;
        const { spec } = content.value;
        if (!isJsonObject(spec) || !isJsonObject(spec.names)) return;
        const { group, scope } = spec;
        const { kind } = spec.names;
        if (typeof group === 'string' && typeof kind === 'string' && (scope === 'Namespaced' || scope === 'Cluster')) {
          emit('', `${group}/${kind}`, scope);
        }
      },
    }),
    listed: graph.derive<KindState, KindScope>({
      name: 'listedKindScopes',
      from: inputs.kinds,
      compute: ({ partition, key, value: { scope } }, _read, emit) => {
        if (scope !== undefined) emit(partition, key, scope);
      },
    }),
    held: graph.derive<LedgerEntry, true>({
      name: 'heldCustomKeys',
      from: inputs.ledger,
      compute: ({ partition, key, value: { phase } }, _read, emit) => {
        const { group, kind } = objectRefOf(key as ObjectKey);
        if (phase !== 'removing' && builtInKindScope(group, kind) === undefined) emit(partition, key, true);
      },
    }),
  };
}

/** The scope of a kind wherever it is; undefined if only a cluster can tell. */
export function scopeEverywhere(read: Reader, { declared }: KindScopes, { group, kind }: ObjectRef) {
  return builtInKindScope(group, kind) ?? read.get(declared, '', `${group}/${kind}`);
}

/** The scope of a kind as the cluster itself lists it; undefined if it does not, or has not been heard. */
export function scopeListed(read: Reader, { listed }: KindScopes, cluster: string, { group, kind }: ObjectRef) {
  return read.get(listed, cluster, `${group}/${kind}`);
}

/**
 * The scope that an object's kind had when the cluster was given the object: while no other source knows, its key must not
 * change. `Both` if the cluster holds it under either key: then neither may go. Undefined if it holds it under none.
 */
export function scopeAsHeld(
  read: Reader,
  { held }: KindScopes,
  cluster: string,
  ref: ObjectRef,
): KindScope | 'Both' | undefined {
  const isHeld = (namespace: string): boolean => read.get(held, cluster, objectKey({ ...ref, namespace })) === true;
  const inside = isHeld(ref.namespace === '' ? 'default' : ref.namespace);
  const outside = isHeld('');
  if (inside && outside) return 'Both';
  if (!inside && !outside) return undefined;
  return inside ? 'Namespaced' : 'Cluster';
}
