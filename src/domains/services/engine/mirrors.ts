import type { Collection, Derived, Graph, Index } from '../../../engine/collections/types.ts';
import type { DomainCore } from '../../../engine/domain.ts';
import { type ClusterValue, chooseClusters } from '../../../engine/fleet/clusters.ts';
import { type Declarations, type Declared, declaredOf } from '../../../engine/fleet/declared.ts';
import { type DocumentValue, documentKey } from '../../../engine/fleet/sources.ts';
import type { Barred } from '../../../engine/output/not-allowed.ts';
import type { StatusPart } from '../../../engine/status/declared-status.ts';
import {
  countOutcomes,
  documentSubject,
  type Progress,
  selectionCondition,
  summarise,
  tallyOf,
} from '../../../engine/status/progress.ts';
import type { LiveObject } from '../../../model/agent/agent.ts';
import type { ClusterChoice } from '../../../model/fleet/desired.ts';
import type { ClusterName } from '../../../model/fleet/ids.ts';
import type { Origin } from '../../../model/fleet/output.ts';
import { outOfReach, reaches } from '../../../model/fleet/source-rights.ts';
import type { ObjectKey } from '../../../model/objects/object-key.ts';
import { compareText } from '../../../model/text/json.ts';
import type { MirrorCopy, MirrorFrom } from '../model/mirror.ts';
import {
  chooses,
  isService,
  isSlice,
  liveKinds,
  mayBeMirrored,
  type ServiceChoice,
  serviceOf,
} from './live-services.ts';

/** A ServiceMirror with the clusters that it selects. Partition empty, key its name. */
export interface MirrorValue {
  readonly declared: Declared<'ServiceMirror'>;
  /** Selected clusters that are registered, in canonical order. */
  readonly from: readonly ClusterName[];
  readonly to: readonly ClusterName[];
  /** Listed names that no KubernetesCluster has. */
  readonly unknownClusters: readonly string[];
  /** The sides whose selector of clusters matches none. */
  readonly selectsNone: readonly ('from' | 'to')[];
  /** Selected clusters that its source may not reach: nothing is mirrored from or to them. In canonical order. */
  readonly outOfReach: readonly string[];
}

/** One ServiceMirror and one cluster that it reads, from desired state alone. Partition: the source that declares the mirror. */
export interface Feed {
  readonly mirror: string;
  readonly origin: Origin;
  readonly identity: string;
  readonly from: ClusterName;
  /** `from` alone: the scope of what is mirrored. */
  readonly scope: readonly ClusterName[];
  /** Without `from`. */
  readonly to: readonly ClusterName[];
  readonly choice: ServiceChoice;
  readonly copy: MirrorCopy;
}

/** The key of a live object that a feed mirrors: there are many, so its value is the feed itself, which they share. */
function exportKey(feed: string, ...objects: readonly [service: ObjectKey, slice?: ObjectKey]): string {
  return [feed, ...objects].join('\u0000');
}

/** The object of an {@link exportKey}: the slice, if it has one. */
export function exportedObject(key: string): ObjectKey {
  return key.slice(key.lastIndexOf('\u0000') + 1) as ObjectKey;
}

/** The Service of the key of an exported slice. */
export function serviceOfSlice(key: string): ObjectKey {
  return exportedObject(key.slice(0, key.lastIndexOf('\u0000')));
}

interface MirrorReads extends Pick<DomainCore, 'rights' | 'documents'> {
  readonly live: Collection<LiveObject>;
}

/**
 * Derives the mirrors, and the live services that they select. Which clusters are read depends on desired state alone, so a
 * disconnected cluster changes no scope; the services of each cluster are read within that scope.
 */
export function deriveMirrors(
  graph: Graph,
  declarations: Declarations,
  clusters: Index<ClusterValue>,
  { live, rights, documents }: MirrorReads,
) {
  const mirrors = graph.derive<Declared<'ServiceMirror'>, MirrorValue>({
    name: 'mirrors',
    ...declaredOf(declarations, 'ServiceMirror'),
    reads: [clusters, rights],
    compute: ({ key, value: declaration }, read, emit) => {
      const own = read.get(rights, '', declaration.origin.source);
      const isInReach = (cluster: string): boolean => reaches(own, cluster);
      const from = chooseClusters(clustersOf(declaration.value.from), read, clusters);
      const to = chooseClusters(declaration.value.to, read, clusters);
      const unknownClusters = [...new Set([...from.unknown, ...to.unknown])];
      const selectsNone = [
        ...(from.selectsNone ? (['from'] as const) : []),
        ...(to.selectsNone ? (['to'] as const) : []),
      ];
      emit('', key, {
        declared: declaration,
        unknownClusters,
        selectsNone,
        from: from.clusters.filter(isInReach),
        to: to.clusters.filter(isInReach),
        outOfReach: [...new Set([...from.clusters, ...to.clusters])]
          .filter((cluster) => !isInReach(cluster))
          .sort(compareText),
      });
    },
  });
  const feeds = graph.derive<MirrorValue, Feed>({
    name: 'mirrorFeeds',
    from: mirrors,
    compute: ({ key: mirror, value }, _read, emit) => {
      const { origin, identity, value: declaration } = value.declared;
      const { serviceSelector: selector, namespaces, copy } = declaration;
      const choice = { selector, namespaces };
      for (const from of value.from) {
        const to = value.to.filter((cluster) => cluster !== from);
        const feed = { mirror, origin, identity, from, scope: [from], to, choice, copy };
        if (to.length > 0) emit(origin.source, `${documentKey(origin.path, identity)}\u0000${from}`, feed);
      }
    },
  });
  const feedsByCluster = graph.index('mirrorFeedsByCluster', feeds, ({ value }) => [value.from]);
  // One computation for each Service: one that changes wakes no other.
  // Partition: the source that declares the mirror. Scope: the Service's cluster.
  const exports = graph.derive<LiveObject, Feed>({
    name: 'serviceExports',
    from: live,
    keys: isService,
    reads: [feedsByCluster],
    compute: ({ partition: cluster, value: service }, read, emit) => {
      const chosen = read.members(feedsByCluster, cluster);
      if (chosen.length === 0 || !mayBeMirrored(service)) return;
      for (const { partition, key, value: feed } of chosen) {
        if (chooses(feed.choice, service)) emit(partition, exportKey(key, service.key), feed);
      }
    },
  });
  // One computation for each slice: an inbound that changes wakes only those with its address.
  const sliceExports = graph.derive<LiveObject, Feed>({
    name: 'sliceExports',
    from: live,
    keys: isSlice,
    reads: [feedsByCluster, exports],
    compute: ({ partition: cluster, value: slice }, read, emit) => {
      const chosen = read.members(feedsByCluster, cluster);
      const service = chosen.length === 0 ? undefined : serviceOf(slice);
      if (service === undefined) return;
      for (const { partition, key, value: feed } of chosen) {
        const isExported = read.get(exports, partition, exportKey(key, service)) !== undefined;
        if (isExported) emit(partition, exportKey(key, service, slice.key), feed);
      }
    },
  });
  return { mirrors, feeds, feedsByCluster, exports, sliceExports, ...deriveBarred(graph, mirrors, documents) };
}

const MIRRORED = [liveKinds.service, liveKinds.slice];

/** Derives what mirrors may not make: what they have made stays. */
function deriveBarred(graph: Graph, mirrors: Derived<MirrorValue>, documents: Derived<DocumentValue>) {
  const ofMirrors = graph.derive<MirrorValue, Barred>({
    name: 'mirrorsOutOfReach',
    from: mirrors,
    compute: ({ value: { declared, outOfReach: clusters } }, _read, emit) => {
      const [first] = clusters;
      if (first === undefined) return;
      const { source, path } = declared.origin;
      const why = { reason: 'NotAllowed', message: outOfReach(source, first) };
      emit(source, documentKey(path, declared.identity), { kinds: MIRRORED, clusters, why });
    },
  });
  const ofDocuments = graph.derive<DocumentValue, Barred>({
    name: 'refusedMirrors',
    from: documents,
    compute: ({ partition: source, key, value: { content, refusal } }, _read, emit) => {
      if (refusal === undefined || content.type !== 'declaration' || content.kind !== 'ServiceMirror') return;
      const { reason, message } = refusal;
      emit(source, key, { kinds: MIRRORED, clusters: 'all', why: { reason, message } });
    },
  });
  return { barred: [ofMirrors, ofDocuments] };
}

const NO_CLUSTERS: ClusterChoice = { names: [] };

/** The clusters whose Services are mirrored. */
export function clustersOf(from: MirrorFrom): ClusterChoice {
  return from.type === 'clusters' ? from.clusters : NO_CLUSTERS;
}

/** Derives the status of ServiceMirrors: the rollout of the objects that each one generates. */
export function deriveMirrorStatuses(
  graph: Graph,
  mirrors: Derived<MirrorValue>,
  exportsByMirror: readonly Index<unknown>[],
  progressBySubject: Index<Progress>,
): Derived<StatusPart> {
  return graph.derive<MirrorValue, StatusPart>({
    name: 'mirrorStatuses',
    from: mirrors,
    reads: [progressBySubject, ...exportsByMirror],
    seesAll: true,
    compute: ({ key: name, value: { declared, from, to, unknownClusters } }, read, emit) => {
      const tally = tallyOf(read, progressBySubject, documentSubject(declared.origin));
      const readsNone = declared.value.from.type === 'clusters' && from.length === 0;
      const empty = readsNone ? 'from' : to.length === 0 ? 'to' : undefined;
      const selectsNone = empty === undefined ? undefined : `it selects no registered cluster to mirror ${empty}`;
      emit('ServiceMirror', name, {
        conditions: [...selectionCondition(unknownClusters, selectsNone), ...summarise(tally)],
        fields: {
          selectedClusters: to.length,
          // Each service counts once, in how many clusters it is mirrored.
          mirroredServices: exportsByMirror.reduce((sum, index) => sum + read.count(index, name), 0),
          counts: { ...countOutcomes(tally) },
        },
      });
    },
  });
}
