import { objectDigest } from '../../model/digest.ts';
import type { Digest } from '../../model/ids.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import type { KindScope } from '../../model/kinds.ts';
import { type ObjectRef, objectKey } from '../../model/object-key.ts';
import type { Origin } from '../../model/output.ts';
import type { Collection, Contribution, Derived, Graph, Index, Reader } from '../collections/types.ts';
import { anyDoubt, type DocumentValue, originOf, type SourceProof } from '../fleet/sources.ts';
import type { AgentValue } from '../inputs.ts';
import type { Assignment } from './assignments.ts';
import { type KindScopes, scopeAsHeld, scopeEverywhere, scopeListed } from './kind-scopes.ts';

/** An object that some document wants in a cluster. Partition: the cluster. Key: the object's. */
export interface Candidate {
  readonly origin: Origin;
  readonly identity: string;
  readonly value: JsonObject;
  readonly digest: Digest;
  /** Nobody knows whether the kind is namespaced, and the manifest names no namespace. */
  readonly scopeUnknown: boolean;
}

interface CandidateInputs {
  readonly assignments: Collection<Assignment>;
  readonly documents: Collection<DocumentValue>;
  readonly kindScopes: KindScopes;
  readonly agents: Collection<AgentValue>;
  readonly doubts: Index<SourceProof>;
}

/** Everything that some document wants somewhere; several documents may want one key. */
export function deriveCandidates(graph: Graph, inputs: CandidateInputs): Derived<readonly Contribution<Candidate>[]> {
  const { assignments, documents, kindScopes, agents, doubts } = inputs;
  return graph.gather<Assignment, Candidate>({
    name: 'candidates',
    from: assignments,
    reads: [documents, kindScopes.declared, kindScopes.listed, kindScopes.held, agents, doubts],
    compute: ({ partition, key, value: { clusters } }, read, emit) => {
      const document = read.get(documents, partition, key);
      if (document?.content.type !== 'object') return;
      const { ref, value, digest } = document.content;
      const claim = { origin: originOf({ partition, key }), identity: document.identity };
      const everywhere = scopeEverywhere(read, kindScopes, ref);
      const settled = everywhere && { ...claim, ...settle(ref, value, digest, everywhere) };
      for (const cluster of clusters) {
        if (settled !== undefined) {
          emit(cluster, objectKey(settled.ref), candidateOf(settled, false));
          continue;
        }
        const known = scopeIn(cluster, ref, read, inputs);
        for (const scope of known === 'Both' ? EITHER : [known]) {
          const there =
            scope === undefined || scope === 'AsWritten' ? { ref, value, digest } : settle(ref, value, digest, scope);
          const scopeUnknown = known === undefined || known === 'Both';
          emit(cluster, objectKey(there.ref), candidateOf({ ...claim, ...there }, scopeUnknown));
        }
      }
    },
  });
}

const EITHER = ['Namespaced', 'Cluster'] as const;

/**
 * The scope of a kind in a cluster; `Both` if the object is held under either key; `AsWritten` if the object has the key that its manifest says, undefined if nobody
 * knows what its key is.
 */
function scopeIn(
  cluster: string,
  ref: ObjectRef,
  read: Reader,
  { agents, doubts, kindScopes }: CandidateInputs,
): KindScope | 'Both' | 'AsWritten' | undefined {
  const listed = scopeListed(read, kindScopes, cluster, ref);
  if (listed !== undefined) return listed;
  const takesAsWritten = read.get(agents, '', cluster)?.kindsAsWritten === true;
  // While a source cannot be read whole, the definition of the kind may be what is missing.
  if (takesAsWritten && (ref.namespace !== '' || !anyDoubt(read, doubts))) return 'AsWritten';
  return scopeAsHeld(read, kindScopes, cluster, ref) ?? (ref.namespace === '' ? undefined : 'AsWritten');
}

type Claimed = Omit<Candidate, 'scopeUnknown'>;

function candidateOf({ origin, identity, value, digest }: Claimed, scopeUnknown: boolean): Candidate {
  return { origin, identity, value, digest, scopeUnknown };
}

/** Fills in the namespace that a namespaced object leaves out, and drops one that a cluster-scoped object cannot have. */
function settle(
  ref: ObjectRef,
  value: JsonObject,
  digest: Digest,
  scope: KindScope,
): { readonly ref: ObjectRef; readonly value: JsonObject; readonly digest: Digest } {
  const namespace = scope === 'Cluster' ? '' : ref.namespace === '' ? 'default' : ref.namespace;
  if (namespace === ref.namespace) return { ref, value, digest };
  const { namespace: _written, ...metadata } = isJsonObject(value.metadata) ? value.metadata : {};
  const settled = { ...value, metadata: namespace === '' ? metadata : { ...metadata, namespace } };
  return { ref: { ...ref, namespace }, value: settled, digest: objectDigest(settled) };
}
