import { objectDigest } from '../../model/digest.ts';
import type { ClusterName, Digest } from '../../model/ids.ts';
import { type JsonObject, objectOf } from '../../model/json.ts';
import type { KindScope } from '../../model/kinds.ts';
import { type ObjectRef, objectKey } from '../../model/object-key.ts';
import type { Collection, Derived, Graph, Index, Reader } from '../collections/types.ts';
import { anyDoubt, type DocumentValue, originOf, type SourceProof } from '../fleet/sources.ts';
import type { AgentValue } from '../inputs.ts';
import type { Assignment } from './assignments.ts';
import { type KindScopes, scopeAsHeld, scopeEverywhere, scopeListed } from './kind-scopes.ts';
import type { Want } from './want.ts';

interface DocumentWantInputs {
  readonly assignments: Collection<Assignment>;
  readonly documents: Collection<DocumentValue>;
  readonly kindScopes: KindScopes;
  readonly agents: Collection<AgentValue>;
  readonly doubts: Index<SourceProof>;
}

/** What documents want: each object under the key that it has in each of its clusters. */
export function deriveDocumentWants(graph: Graph, inputs: DocumentWantInputs): Derived<Want> {
  const { assignments, documents, kindScopes, agents, doubts } = inputs;
  return graph.derive<Assignment, Want>({
    name: 'documentWants',
    from: assignments,
    reads: [documents, kindScopes.declared, kindScopes.listed, kindScopes.held, agents, doubts],
    compute: ({ partition, key, value: { clusters } }, read, emit) => {
      const document = read.get(documents, partition, key);
      if (document?.content.type !== 'object' || clusters.length === 0) return;
      const { ref, value, digest } = document.content;
      const declared = { origin: originOf({ partition, key }), identity: document.identity, scope: NO_CLUSTERS };
      const everywhere = scopeEverywhere(read, kindScopes, ref);
      if (everywhere !== undefined) {
        emit(partition, key, { ...declared, ...settle(ref, value, digest, everywhere), clusters, scopeUnknown: false });
        return;
      }
      const asked = clusters.map((cluster) => [cluster, scopeIn(cluster, ref, read, inputs)] as const);
      for (const [known, members] of Map.groupBy(asked, ([, scope]) => scope)) {
        const named = members.map(([cluster]) => cluster);
        for (const scope of known === 'Both' ? EITHER : [known]) {
          const settled =
            scope === undefined || scope === 'AsWritten'
              ? { key: objectKey(ref), value, digest }
              : settle(ref, value, digest, scope);
          const scopeUnknown = known === undefined || known === 'Both';
          const address = `${key}\u0000${known ?? 'Unknown'}\u0000${settled.key}`;
          emit(partition, address, { ...declared, ...settled, clusters: named, scopeUnknown });
        }
      }
    },
  });
}

const NO_CLUSTERS: readonly ClusterName[] = [];
const EITHER = ['Namespaced', 'Cluster'] as const;

/**
 * The scope of a kind in a cluster. `Both`: the object is held under either key. `AsWritten`: the object has the key that
 * its manifest says. Undefined: nothing says what its key is.
 */
function scopeIn(
  cluster: string,
  ref: ObjectRef,
  read: Reader,
  { agents, doubts, kindScopes }: DocumentWantInputs,
): KindScope | 'Both' | 'AsWritten' | undefined {
  const listed = scopeListed(read, kindScopes, cluster, ref);
  if (listed !== undefined) return listed;
  const takesAsWritten = read.get(agents, '', cluster)?.kindsAsWritten === true;
  // While a source cannot be read whole, the definition of the kind may be what is missing.
  if (takesAsWritten && (ref.namespace !== '' || !anyDoubt(read, doubts))) return 'AsWritten';
  return scopeAsHeld(read, kindScopes, cluster, ref) ?? (ref.namespace === '' ? undefined : 'AsWritten');
}

/** Fills in the namespace that a namespaced object leaves out, and drops one that a cluster-scoped object cannot have. */
function settle(
  ref: ObjectRef,
  value: JsonObject,
  digest: Digest,
  scope: KindScope,
): Pick<Want, 'key' | 'value' | 'digest'> {
  const namespace = scope === 'Cluster' ? '' : ref.namespace === '' ? 'default' : ref.namespace;
  if (namespace === ref.namespace) return { key: objectKey(ref), value, digest };
  const { namespace: _written, ...metadata } = objectOf(value.metadata);
  const settled = { ...value, metadata: namespace === '' ? metadata : { ...metadata, namespace } };
  return { key: objectKey({ ...ref, namespace }), value: settled, digest: objectDigest(settled) };
}
