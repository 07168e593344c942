import type { LiveObject } from '../../model/agent.ts';
import { objectDigest } from '../../model/digest.ts';
import type { ClusterName, Digest } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { objectOf } from '../../model/json-fields.ts';
import type { KindScope } from '../../model/kinds.ts';
import { type ObjectKey, type ObjectRef, objectKey, objectRefOf } from '../../model/object-key.ts';
import type { Origin } from '../../model/output.ts';
import type {
  Collection,
  Contribution,
  Derived,
  Emit,
  EntryAddress,
  Graph,
  Index,
  Reader,
} from '../collections/types.ts';
import { anyDoubt, type DocumentValue, originOf, type SourceProof } from '../fleet/sources.ts';
import type { AgentValue } from '../inputs.ts';
import { type LiveServices, slicesOf } from '../services/live-services.ts';
import type { ServiceExport } from '../services/mirrors.ts';
import { mirrorOf, type ServiceStandIn } from '../services/translate.ts';
import type { Assignment } from './assignments.ts';
import { type KindScopes, scopeAsHeld, scopeEverywhere, scopeListed } from './kind-scopes.ts';

/** An object that some document wants in a cluster. Partition: the cluster. Key: the object's. */
export interface Candidate {
  readonly origin: Origin;
  readonly identity: string;
  /** Clusters whose live state it could have been computed from; none: it stands in a document as it is. */
  readonly scope: readonly ClusterName[];
  /** The live object of another cluster that it stands for. */
  readonly mirrors?: ObjectKey;
  /** Whose addresses it carries, if it is mirrored with a Service. */
  readonly addressesOf?: ServiceStandIn;
  readonly value: JsonObject;
  readonly digest: Digest;
  /** Nobody knows whether the kind is namespaced, and the manifest names no namespace. */
  readonly scopeUnknown: boolean;
}

interface CandidateInputs {
  readonly wants: Collection<Want>;
  readonly live: Collection<LiveObject>;
  readonly liveServices: LiveServices;
  readonly documents: Collection<DocumentValue>;
  readonly kindScopes: KindScopes;
  readonly agents: Collection<AgentValue>;
  readonly doubts: Index<SourceProof>;
}

/**
 * What goes to clusters: a document as it stands, or what is derived from a live service. Partition: the source. The
 * address of a document is the assignment's; that of an export goes on after the document of its ServiceMirror.
 */
export type Want =
  | { readonly type: 'document'; readonly clusters: readonly string[] }
  | { readonly type: 'export'; readonly service: ServiceExport };

/** Joins both ways in which something comes to be wanted, so that two of them that want one key are seen to. */
export function deriveWants(
  graph: Graph,
  assignments: Collection<Assignment>,
  exports: Collection<ServiceExport>,
): Derived<Want> {
  return graph.join<Assignment, ServiceExport, Want>({
    name: 'wants',
    left: assignments,
    right: exports,
    compute: ({ partition, key, left, right }, _read, emit) => {
      if (left !== undefined) emit(partition, key, { type: 'document', clusters: left.clusters });
      else if (right !== undefined) emit(partition, key, { type: 'export', service: right });
    },
  });
}

/** Everything that some document wants somewhere; several documents may want one key. */
export function deriveCandidates(graph: Graph, inputs: CandidateInputs): Derived<readonly Contribution<Candidate>[]> {
  const { wants, documents, kindScopes, agents, doubts, live, liveServices } = inputs;
  return graph.gather<Want, Candidate>({
    name: 'candidates',
    from: wants,
    reads: [
      ...[documents, kindScopes.declared, kindScopes.listed, kindScopes.held, agents, doubts],
      ...[live, liveServices.slices],
    ],
    compute: ({ partition, key, value: want }, read, emit) => {
      if (want.type === 'document') emitDocument({ partition, key }, want.clusters, read, inputs, emit);
      else emitMirrored(want.service, read, inputs, emit);
    },
  });
}

function emitDocument(
  address: EntryAddress,
  clusters: readonly string[],
  read: Reader,
  inputs: CandidateInputs,
  emit: Emit<Candidate>,
): void {
  const document = read.get(inputs.documents, address.partition, address.key);
  if (document?.content.type !== 'object') return;
  const { ref, value, digest } = document.content;
  const claim = { origin: originOf(address), identity: document.identity };
  const everywhere = scopeEverywhere(read, inputs.kindScopes, ref);
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
}

function emitMirrored(
  { from, to, service, origin, identity }: ServiceExport,
  read: Reader,
  { live, liveServices }: CandidateInputs,
  emit: Emit<Candidate>,
): void {
  const object = read.get(live, from, service);
  if (object === undefined) return;
  const { namespace, name } = objectRefOf(service);
  const slices = read.members(liveServices.slices, slicesOf(from, namespace, name)).map(({ value }) => value);
  const scope = [from];
  for (const { key, value, digest, of, addressesOf } of mirrorOf(from, object, slices)) {
    const carried = addressesOf === undefined ? {} : { addressesOf };
    const candidate = { origin, identity, scope, mirrors: of, ...carried, value, digest, scopeUnknown: false };
    for (const cluster of to) emit(cluster, key, candidate);
  }
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

type Claimed = Omit<Candidate, 'scopeUnknown' | 'scope' | 'mirrors' | 'addressesOf'>;

const NO_CLUSTERS: readonly ClusterName[] = [];

function candidateOf({ origin, identity, value, digest }: Claimed, scopeUnknown: boolean): Candidate {
  return { origin, identity, scope: NO_CLUSTERS, value, digest, scopeUnknown };
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
  const { namespace: _written, ...metadata } = objectOf(value.metadata);
  const settled = { ...value, metadata: namespace === '' ? metadata : { ...metadata, namespace } };
  return { ref: { ...ref, namespace }, value: settled, digest: objectDigest(settled) };
}
