import type { Derived, Graph, Index, Reader } from '../../../engine/collections/types.ts';
import type { ObjectKey } from '../../../model/objects/object-key.ts';
import { objectOf } from '../../../model/text/json.ts';
import type { BoundShoot } from './binding.ts';
import { NODE_KIND } from './checks/every-node-ready/node-verdict.ts';
import { DEPLOYMENT_KIND } from './objects/components.ts';
import type { Sleep } from './sleep.ts';
import { type ClusterReads, type NamespaceReads, namespaceObstacle } from './visibility.ts';

interface Reads extends Pick<ClusterReads, 'snapshots'>, NamespaceReads {
  readonly bindings: Derived<BoundShoot>;
  readonly sleepers: Derived<Sleep>;
}

/**
 * Derives `status.hibernated` of each Shoot: its sleep is wanted and was seen, and it was not seen awake since. With a Seed its
 * kube-apiserver shows it, without one its Nodes. Partition empty, key the Shoot's.
 */
export function deriveHibernated(graph: Graph, reads: Reads) {
  const { bindings, sleepers, settings, snapshots, live, kinds } = reads;
  const nodes = graph.index('nodesByCluster', live, ({ partition: cluster, key }) =>
    key.startsWith(`${NODE_KIND}/`) ? [cluster] : [],
  );
  return graph.derive<BoundShoot, boolean>({
    name: 'hibernatedShoots',
    from: bindings,
    reads: [sleepers, settings, snapshots, live, kinds, nodes],
    scope: ({ value: { cluster, seed = cluster } }) => [seed],
    compute: ({ key, value: shoot }, read, emit) => {
      if (shoot.isIgnored) return;
      const sleep = read.get(sleepers, '', key);
      emit('', key, sleep !== undefined && isHibernated(sleep, seenState(read, shoot, nodes, reads)));
    },
  });
}

type State = 'asleep' | 'awake' | 'unknown';

function isHibernated({ isWanted, isSeen }: Sleep, state: State): boolean {
  return isSeen ? state !== 'awake' : isWanted && state === 'asleep';
}

function seenState(read: Reader, shoot: BoundShoot, nodes: Index<unknown>, reads: Reads): State {
  const { snapshots, live } = reads;
  const { cluster, seed, controlPlaneNamespace: namespace, elected } = shoot;
  if (elected !== undefined || read.get(snapshots, '', seed ?? cluster) === undefined) return 'unknown';
  if (seed === undefined) {
    if (namespaceObstacle(read, reads, cluster, '', NODE_KIND) !== undefined) return 'unknown';
    return read.count(nodes, cluster) === 0 ? 'asleep' : 'awake';
  }
  if (namespaceObstacle(read, reads, seed, namespace, DEPLOYMENT_KIND) !== undefined) return 'unknown';
  const key = `${DEPLOYMENT_KIND}/${namespace}/kube-apiserver` as ObjectKey;
  const { replicas } = objectOf(read.get(live, seed, key)?.value.spec);
  if (typeof replicas !== 'number') return 'unknown';
  return replicas === 0 ? 'asleep' : 'awake';
}
