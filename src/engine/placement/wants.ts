import type { KindState } from '../../model/agent/agent.ts';
import type { DriftMode } from '../../model/fleet/drift.ts';
import type { ClusterName, Digest } from '../../model/fleet/ids.ts';
import type { Hold, LedgerEntry } from '../../model/fleet/ledger.ts';
import type { Origin } from '../../model/fleet/output.ts';
import { type RightsRefusal, refusedNamespace, type SourceRights } from '../../model/fleet/source-rights.ts';
import { builtInKindScope, type KindScope } from '../../model/objects/kinds.ts';
import {
  displayKey,
  metadataOf,
  nameOfKind,
  type ObjectKey,
  type ObjectRef,
  objectKey,
  objectRefOf,
} from '../../model/objects/object-key.ts';
import { type ObjectSize, sizeIfLarge } from '../../model/objects/object-size.ts';
import { objectDigest } from '../../model/text/digest.ts';
import { type JsonObject, objectOf, ownMember } from '../../model/text/json.ts';
import type { Collection, Contribution, Derived, Graph, Reader } from '../collections/types.ts';
import { structurallyEqual } from '../collections/values.ts';
import { type DocumentValue, fileGroup, originOf, type SourceProofs } from '../fleet/sources.ts';
import type { AgentValue, EngineInputs } from '../inputs.ts';
import type { Assignment } from './assignments.ts';

/** A live object of a cluster. */
export interface LiveRef {
  readonly cluster: ClusterName;
  readonly key: ObjectKey;
}

/** What a wanted object stands for: a live object, or what only its domain knows, by a name for people. */
export type Original = LiveRef | { readonly named: string };

/** Whether both are the same. */
export function sameOriginal(a: Original | undefined, b: Original | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if ('named' in a || 'named' in b) return 'named' in a && 'named' in b && a.named === b.named;
  return a.key === b.key && a.cluster === b.cluster;
}

/** For people. */
export function displayOriginal(original: Original): string {
  return 'named' in original ? original.named : `${displayKey(original.key)} of cluster ${original.cluster}`;
}

/** What a want has that a domain made: no document declares its object itself. */
export interface DerivedWant {
  /** The name of the domain. */
  readonly domain: string;
  readonly standsFor: Original;
  /**
   * An object of the same cluster that this one belongs to (the Service of an EndpointSlice). It must stand for this
   * original; otherwise the wanted object would become a part of another owner's object.
   */
  readonly requires?: { readonly key: ObjectKey; readonly standsFor: Original };
  /** Besides the origin, files with declarations that its content was computed from: all of them, or the first of a source. */
  readonly declaredIn?: readonly Origin[];
  /** The content is not known now: an object that the cluster has stays as it is, and no other is made. */
  readonly waits?: Hold;
}

/**
 * A finished object and its clusters. Partition: the source of the document that it comes from. Key: begins with the
 * address of that document ({@link documentKey}).
 */
export interface Want {
  readonly key: ObjectKey;
  readonly value: JsonObject;
  readonly digest: Digest;
  /** Absent: it is small. What a domain wants is measured when it becomes a candidate. */
  readonly size?: ObjectSize;
  /** In canonical order. */
  readonly clusters: readonly string[];
  readonly origin: Origin;
  /** Of the document in its file. */
  readonly identity: string;
  /** The clusters whose live state it could have been computed from; empty: a document declares the object itself. */
  readonly scope: readonly ClusterName[];
  /** The manifest names no namespace, and it is unknown whether the kind is namespaced. */
  readonly scopeUnknown: boolean;
  /** Absent: a document declares the object itself. */
  readonly derived?: DerivedWant;
  /** The Placement of another source that alone assigns the document to these clusters. */
  readonly placedBy?: Origin;
  /** What the Placements that assign the document to these clusters say of drift. */
  readonly driftMode?: DriftMode;
  /** The source of the document may not ship it with this key: it goes to no cluster. */
  readonly refusal?: RightsRefusal;
}

/** A want in one of its clusters. Partition: the cluster. Key: the object's. */
export type Candidate = Omit<Want, 'clusters'>;

/** Derives the candidates of each cluster. Several wants can have one key. */
export function deriveCandidates(
  graph: Graph,
  wants: readonly Collection<Want>[],
): Derived<readonly Contribution<Candidate>[]> {
  return graph.gather<Want, Candidate>({
    name: 'candidates',
    from: wants,
    equals: sameCandidate,
    compute: ({ value: want }, _read, emit) => {
      const candidate = want.derived === undefined ? want : measured(want);
      for (const cluster of want.clusters) emit(cluster, want.key, candidate);
    },
  });
}

function measured(want: Want): Candidate {
  const { size } = sizeIfLarge(want.value);
  return size === undefined ? want : { ...want, size };
}

/** Ignores `clusters`: a candidate does not change when its want gets another cluster. */
function sameCandidate(a: Candidate, b: Candidate): boolean {
  if (a === b) return true;
  return a.digest === b.digest && structurallyEqual({ ...a, clusters: undefined }, { ...b, clusters: undefined });
}

interface DocumentWantInputs extends EngineInputs {
  readonly assignments: Collection<Assignment>;
  readonly documents: Collection<DocumentValue>;
  readonly rights: Collection<SourceRights>;
  /** Judged by the files alone. */
  readonly fileProofs: SourceProofs;
}

/** Derives the wants of documents: each object with the key that it has in each of its clusters. */
export function deriveDocumentWants(graph: Graph, inputs: DocumentWantInputs): Derived<Want> {
  const { assignments, documents, agents, fileProofs, rights } = inputs;
  const known = { ...deriveKindScopes(graph, inputs), agents, fileProofs };
  // Unlike an agent, it does not change at each connect.
  const takers = graph.derive<AgentValue, true>({
    name: 'agentsWithDriftModes',
    from: agents,
    reads: [],
    compute: ({ key: cluster, value }, _read, emit) => {
      if (value.takesDriftMode === true) emit('', cluster, true);
    },
  });
  return graph.derive<Assignment, Want>({
    name: 'documentWants',
    from: assignments,
    reads: [documents, rights, known.declared, known.listed, known.owned, agents, takers, ...fileProofs.reads],
    compute: ({ partition, key, value: assignment }, read, emit) => {
      const { clusters } = assignment;
      const document = read.get(documents, partition, key);
      if (document?.content.type !== 'object' || clusters.length === 0) return;
      const { ref, value, digest, size } = document.content;
      const written = { value, digest, ...(size === undefined ? {} : { size }) };
      const declared = { origin: originOf({ partition, key }), identity: document.identity, scope: NO_CLUSTERS };
      const isBuiltIn = builtInKindScope(ref.group, ref.kind);
      const everywhere = isBuiltIn ?? read.get(known.declared, '', nameOfKind(ref));
      const own = isBuiltIn === undefined ? read.get(rights, '', partition) : undefined;
      const takesMode = (cluster: string) => read.get(takers, '', cluster) === true;
      const want = (suffix: string, wanted: Omit<Want, keyof typeof declared>, scope: KindScope | undefined): void => {
        const refusal = refusedNamespace(own, partition, objectRefOf(wanted.key), scope);
        if (refusal !== undefined) emit(partition, key + suffix, { ...declared, ...wanted, clusters: [], refusal });
        else
          for (const [by, part] of byPlacement(wanted, assignment, takesMode))
            emit(partition, key + suffix + by, { ...declared, ...part });
      };
      if (everywhere !== undefined) {
        want('', { ...settle(ref, written, everywhere), clusters, scopeUnknown: false }, everywhere);
        return;
      }
      const scopes = clusters.map((cluster) => [cluster, scopeIn(cluster, ref, read, known)] as const);
      for (const [scope, members] of Map.groupBy(scopes, ([, each]) => each)) {
        for (const each of scope === 'Both' ? EITHER : [scope]) {
          const isSettled = each !== undefined && each !== 'AsWritten';
          const settled = isSettled ? settle(ref, written, each) : { key: objectKey(ref), ...written };
          const wanted = {
            ...settled,
            clusters: members.map(([cluster]) => cluster),
            scopeUnknown: scope === undefined || scope === 'Both',
          };
          want(`\u0000${scope ?? 'Unknown'}\u0000${settled.key}`, wanted, isSettled ? each : undefined);
        }
      }
    },
  });
}

/** The parts of a want by who assigns its clusters, and what they say of drift; the key of each part ends with its text. */
function byPlacement<Part extends { readonly clusters: readonly string[] }>(
  want: Part,
  { placedBy, driftModes }: Assignment,
  takesMode: (cluster: string) => boolean,
): readonly (readonly [suffix: string, part: Part & Pick<Want, 'placedBy' | 'driftMode'>])[] {
  if (placedBy === undefined && driftModes === undefined) return [['', want]];
  const modeOf = (cluster: string) => (takesMode(cluster) ? ownMember(driftModes, cluster) : undefined);
  const groups = Map.groupBy(want.clusters, (cluster) => {
    const [by, mode] = [ownMember(placedBy, cluster), modeOf(cluster)];
    return `${by === undefined ? '' : `\u0000${fileGroup(by)}`}${mode === undefined ? '' : `\u0000${mode}`}`;
  });
  return [...groups].map(([suffix, clusters]) => {
    const [by, driftMode] = [ownMember(placedBy, clusters[0] ?? ''), modeOf(clusters[0] ?? '')];
    const parts = { ...(by === undefined ? {} : { placedBy: by }), ...(driftMode === undefined ? {} : { driftMode }) };
    return [suffix, { ...want, clusters, ...parts }];
  });
}

const NO_CLUSTERS: readonly ClusterName[] = [];
const EITHER = ['Namespaced', 'Cluster'] as const;

/** The scopes of kinds that are not built in. Each collection changes only when a scope does. */
function deriveKindScopes(graph: Graph, { documents, kinds, ledger }: DocumentWantInputs) {
  return {
    /** By CustomResourceDefinitions in the desired state. Partition empty, key `group/Kind`. */
    declared: graph.derive<DocumentValue, KindScope>({
      name: 'kindScopes',
      from: documents,
      compute: ({ value: { content, refusal } }, _read, emit) => {
        if (refusal !== undefined || content.type !== 'object' || content.ref.kind !== 'CustomResourceDefinition')
          return;
        if (content.ref.group !== 'apiextensions.k8s.io') return;
        const { group, scope, names } = objectOf(content.value.spec);
        const { kind } = objectOf(names);
        if (typeof group === 'string' && typeof kind === 'string' && (scope === 'Namespaced' || scope === 'Cluster')) {
          emit('', nameOfKind({ group, kind }), scope);
        }
      },
    }),
    /** By the clusters' own lists of kinds. Partition: the cluster. Key: `group/Kind`. */
    listed: graph.derive<KindState, KindScope>({
      name: 'listedKindScopes',
      from: kinds,
      compute: ({ partition, key, value: { scope } }, _read, emit) => {
        if (scope !== undefined) emit(partition, key, scope);
      },
    }),
    /** Keys of the ledger that are not being removed. */
    owned: graph.derive<LedgerEntry, true>({
      name: 'ownedCustomKeys',
      from: ledger,
      keys: isOfCustomKind,
      compute: ({ partition, key, value: { phase } }, _read, emit) => {
        if (phase !== 'removing') emit(partition, key, true);
      },
    }),
  };
}

function isOfCustomKind(key: string): boolean {
  const { group, kind } = objectRefOf(key as ObjectKey);
  return builtInKindScope(group, kind) === undefined;
}

/**
 * The scope of a kind in a cluster. `AsWritten`: the object has the key of its manifest. `Both`: the cluster has the object
 * under either key, and keeps both. Undefined: the key of the object is unknown.
 */
function scopeIn(
  cluster: string,
  ref: ObjectRef,
  read: Reader,
  known: ReturnType<typeof deriveKindScopes> & Pick<DocumentWantInputs, 'agents' | 'fileProofs'>,
): KindScope | 'Both' | 'AsWritten' | undefined {
  const { listed, owned, agents, fileProofs } = known;
  const inCluster = read.get(listed, cluster, nameOfKind(ref));
  if (inCluster !== undefined) return inCluster;
  const takesAsWritten = read.get(agents, '', cluster)?.kindsAsWritten === true;
  // A source that cannot be read completely may contain the definition of the kind.
  if (takesAsWritten && (ref.namespace !== '' || !fileProofs.hasDoubt(read))) return 'AsWritten';
  // Without other knowledge the object keeps the key that it has in the cluster.
  const isOwned = (namespace: string): boolean => read.get(owned, cluster, objectKey({ ...ref, namespace })) === true;
  const inside = isOwned(ref.namespace === '' ? 'default' : ref.namespace);
  const outside = isOwned('');
  if (inside && outside) return 'Both';
  if (inside || outside) return inside ? 'Namespaced' : 'Cluster';
  return ref.namespace === '' ? undefined : 'AsWritten';
}

/** Adds the namespace `default` to a namespaced object without one; removes the namespace of a cluster-scoped object. */
function settle(
  ref: ObjectRef,
  written: Pick<Want, 'value' | 'digest' | 'size'>,
  scope: KindScope,
): Pick<Want, 'key' | 'value' | 'digest' | 'size'> {
  const namespace = namespaceIn(ref, scope);
  if (namespace === ref.namespace) return { key: objectKey(ref), ...written };
  const { value, size } = written;
  const { namespace: _written, ...metadata } = metadataOf(value);
  const settled = { ...value, metadata: namespace === '' ? metadata : { ...metadata, namespace } };
  const key = objectKey({ ...ref, namespace });
  return { key, value: settled, digest: objectDigest(settled), ...(size === undefined ? {} : sizeIfLarge(settled)) };
}

function namespaceIn({ namespace }: ObjectRef, scope: KindScope): string {
  return scope === 'Cluster' ? '' : namespace === '' ? 'default' : namespace;
}

/** The keys that the object of a document may have in a cluster: with a namespace, and without if its kind may have none. */
export function possibleKeys(ref: ObjectRef): readonly ObjectKey[] {
  const scope = builtInKindScope(ref.group, ref.kind);
  return (scope === undefined ? EITHER : [scope]).map((each) =>
    objectKey({ ...ref, namespace: namespaceIn(ref, each) }),
  );
}
