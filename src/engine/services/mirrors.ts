import type { ClusterName } from '../../model/ids.ts';
import type { LabelSelector } from '../../model/label-selector.ts';
import { type ObjectKey, objectRefOf } from '../../model/object-key.ts';
import type { Origin } from '../../model/output.ts';
import type { Derived, Graph, Index } from '../collections/types.ts';
import type { ClusterValue } from '../fleet/clusters.ts';
import { type Declarations, type Declared, declaredOf } from '../fleet/declared.ts';
import { documentKey } from '../fleet/sources.ts';
import { chooseClusters } from '../placement/selector.ts';
import { type LiveServices, selectServices } from './live-services.ts';

/** A ServiceMirror with its clusters worked out. Partition empty, key its name. */
export interface MirrorValue {
  readonly declared: Declared<'ServiceMirror'>;
  /** Selected clusters that are registered, in canonical order. */
  readonly from: readonly ClusterName[];
  readonly to: readonly ClusterName[];
  /** Names that it lists and that no KubernetesCluster has. */
  readonly unknownClusters: readonly string[];
}

/** What one ServiceMirror takes from one cluster. Partition: the source that declares it. From desired state alone. */
interface Feed {
  readonly mirror: string;
  readonly origin: Origin;
  readonly identity: string;
  readonly from: ClusterName;
  /** Without `from`: no cluster gets its own services. */
  readonly to: readonly ClusterName[];
  readonly selector: LabelSelector;
}

/** A live service that goes to other clusters. Partition: the source that declares the mirror. Scope: its cluster. */
export interface ServiceExport extends Omit<Feed, 'selector'> {
  readonly service: ObjectKey;
}

/** The mirrors, and the live services that they take. */
export interface Mirrors {
  readonly mirrors: Derived<MirrorValue>;
  readonly feeds: Derived<Feed>;
  readonly exports: Derived<ServiceExport>;
}

/**
 * Derives what is mirrored where. Desired state alone decides which clusters are read, so a silent cluster changes no
 * scope; the services of each cluster are then read within that scope.
 */
export function deriveMirrors(
  graph: Graph,
  declarations: Declarations,
  clusters: Index<ClusterValue>,
  live: LiveServices,
): Mirrors {
  const mirrors = graph.derive<Declared<'ServiceMirror'>, MirrorValue>({
    name: 'mirrors',
    ...declaredOf(declarations, 'ServiceMirror'),
    reads: [clusters],
    compute: ({ key, value: declaration }, read, emit) => {
      const from = chooseClusters(declaration.value.from, read, clusters);
      const to = chooseClusters(declaration.value.to, read, clusters);
      const unknownClusters = [...new Set([...from.unknown, ...to.unknown])];
      emit('', key, { declared: declaration, from: from.clusters, to: to.clusters, unknownClusters });
    },
  });
  const feeds = graph.derive<MirrorValue, Feed>({
    name: 'mirrorFeeds',
    from: mirrors,
    compute: ({ key: mirror, value }, _read, emit) => {
      const { origin, identity, value: declaration } = value.declared;
      for (const from of value.from) {
        const to = value.to.filter((cluster) => cluster !== from);
        const feed = { mirror, origin, identity, from, to, selector: declaration.serviceSelector };
        if (to.length > 0) emit(origin.source, `${documentKey(origin.path, identity)}\u0000${from}`, feed);
      }
    },
  });
  const exports = graph.derive<Feed, ServiceExport>({
    name: 'serviceExports',
    from: feeds,
    reads: [live.services],
    scope: ({ value }) => [value.from],
    compute: ({ partition, key, value: { selector, ...feed } }, read, emit) => {
      for (const { value } of selectServices(read, live, feed.from, selector)) {
        const { namespace, name } = objectRefOf(value.key);
        emit(partition, `${key}\u0000${namespace}/${name}`, { ...feed, service: value.key });
      }
    },
  });
  return { mirrors, feeds, exports };
}
