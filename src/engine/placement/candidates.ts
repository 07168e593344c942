import { objectDigest } from '../../model/digest.ts';
import type { Digest } from '../../model/ids.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import { builtInKindScope, type KindScope } from '../../model/kinds.ts';
import { type ObjectRef, objectKey } from '../../model/object-key.ts';
import type { Origin } from '../../model/output.ts';
import type { Collection, Contribution, Derived, Graph, Index } from '../collections/types.ts';
import { anyDoubt, type DocumentValue, originOf, type SourceProof } from '../fleet/sources.ts';
import type { AgentValue } from '../inputs.ts';
import type { Assignment } from './assignments.ts';

/** An object that some document wants in a cluster. Partition: the cluster. Key: the object's. */
export interface Candidate {
  readonly origin: Origin;
  readonly identity: string;
  readonly value: JsonObject;
  readonly digest: Digest;
  /** Nobody knows whether the kind is namespaced, and the manifest names no namespace. */
  readonly scopeUnknown: boolean;
}

/** Everything that some document wants somewhere; several documents may want one key. */
export function deriveCandidates(
  graph: Graph,
  inputs: {
    readonly assignments: Collection<Assignment>;
    readonly documents: Collection<DocumentValue>;
    readonly kindScopes: Collection<KindScope>;
    readonly agents: Collection<AgentValue>;
    readonly doubts: Index<SourceProof>;
  },
): Derived<readonly Contribution<Candidate>[]> {
  const { assignments, documents, kindScopes, agents, doubts } = inputs;
  return graph.gather<Assignment, Candidate>({
    name: 'candidates',
    from: assignments,
    reads: [documents, kindScopes, agents, doubts],
    compute: ({ partition, key, value: { clusters } }, read, emit) => {
      const document = read.get(documents, partition, key);
      if (document?.content.type !== 'object') return;
      const { ref, value, digest } = document.content;
      const claim = { origin: originOf({ partition, key }), identity: document.identity };
      const scope = builtInKindScope(ref.group, ref.kind) ?? read.get(kindScopes, '', `${ref.group}/${ref.kind}`);
      const settled = scope === undefined ? undefined : { ...claim, ...settle(ref, value, digest, scope) };
      for (const cluster of clusters) {
        if (settled !== undefined) emit(cluster, objectKey(settled.ref), candidateOf(settled, false));
        else {
          // While a source cannot be read whole, the definition of the kind may be what is missing.
          const asWritten = read.get(agents, '', cluster)?.kindsAsWritten === true && !anyDoubt(read, doubts);
          const known = ref.namespace !== '' || asWritten;
          emit(cluster, objectKey(ref), candidateOf({ ...claim, value, digest }, !known));
        }
      }
    },
  });
}

/** The scopes of the kinds that CustomResourceDefinitions in the desired state define. Key: `group/Kind`. */
export function deriveKindScopes(graph: Graph, documents: Collection<DocumentValue>): Derived<KindScope> {
  return graph.derive<DocumentValue, KindScope>({
    name: 'kindScopes',
    from: documents,
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
  });
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
