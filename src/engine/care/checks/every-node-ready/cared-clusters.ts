import type { WorkerPool } from '../../../../model/shoot.ts';
import type { Derived, Graph, Reader } from '../../../collections/types.ts';
import type { BoundShoot } from '../../binding.ts';

/** What the Nodes of a Shoot's cluster are judged by. */
export interface CaredCluster {
  /** The Seed, and the namespace of the control plane in it; absent: no Seed. */
  readonly controlPlane?: { readonly seed: string; readonly namespace: string };
}

/** {@link deriveCaredClusters}. */
export interface CaredClusters {
  /** Partition empty, key: the cluster. */
  readonly cared: Derived<CaredCluster>;
  /** Partition: the cluster. Key: by {@link poolOf}. */
  readonly pools: Derived<WorkerPool>;
}

const FIRST = 'first';

/** Derives, from desired state alone, the clusters that have a Shoot with worker pools, and these pools. */
export function deriveCaredClusters(graph: Graph, bindings: Derived<BoundShoot>): CaredClusters {
  const cared = graph.derive<BoundShoot, CaredCluster>({
    name: 'clustersWithPools',
    from: bindings,
    compute: ({ value: { cluster, seed, controlPlaneNamespace: namespace, ...shoot } }, _read, emit) => {
      if (hasNodes(shoot)) emit('', cluster, seed === undefined ? {} : { controlPlane: { seed, namespace } });
    },
  });
  const pools = graph.derive<BoundShoot, WorkerPool>({
    name: 'workerPools',
    from: bindings,
    compute: ({ value: { cluster, seed, ...shoot } }, _read, emit) => {
      if (!hasNodes(shoot)) return;
      const [first] = shoot.pools;
      if (seed === undefined && first !== undefined) emit(cluster, FIRST, first);
      // Of two pools with one name the first one counts.
      const byName = new Map([...shoot.pools].reverse().map((pool) => [pool.name, pool]));
      for (const [name, pool] of byName) emit(cluster, labelled(name), pool);
    },
  });
  return { cared, pools };
}

/** Whether the Nodes of a Shoot are judged. */
function hasNodes({ isIgnored, elected, pools }: Pick<BoundShoot, 'isIgnored' | 'elected' | 'pools'>): boolean {
  return !isIgnored && elected === undefined && pools.length > 0;
}

/** The pool of a Node with this label. Without a Seed, Nodes without the label belong to the first pool. */
export function poolOf(
  read: Reader,
  { pools }: Pick<CaredClusters, 'pools'>,
  cluster: string,
  label: string | undefined,
): WorkerPool | undefined {
  return read.get(pools, cluster, label === undefined ? FIRST : labelled(label));
}

function labelled(name: string): string {
  return `label/${name}`;
}
