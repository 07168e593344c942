import type { Contribution, Derived, Graph, Reader } from '../../../../../engine/collections/types.ts';
import { given } from '../../../../../model/values/given.ts';
import type { BoundShoot } from '../../binding.ts';
import type { PoolConfig } from './pool-configs.ts';

/** A cluster that has a Shoot with worker pools. */
export interface CaredCluster {
  /** The Seed, and the namespace of the control plane in it; absent: no Seed. */
  readonly controlPlane?: { readonly seed: string; readonly namespace: string };
}

/** What the Nodes of a pool are compared with. */
export interface PoolOfNodes {
  readonly name: string;
  /** May be empty. */
  readonly kubernetesVersion: string;
  /** Of the Secret with the pool's operating system config; absent: there is none. */
  readonly config?: PoolConfig;
}

/** {@link deriveCaredClusters}. */
export interface CaredClusters {
  /** Partition empty, key: the cluster. From desired state alone. */
  readonly cared: Derived<CaredCluster>;
  /** Partition: the cluster. Key: by {@link poolOf}. */
  readonly pools: Derived<PoolOfNodes>;
}

/** The key of the pool of Nodes without a label. */
const FIRST = 'first';

/** Derives the clusters of Shoots with worker pools, and these pools. */
export function deriveCaredClusters(
  graph: Graph,
  bindings: Derived<BoundShoot>,
  configs: Derived<readonly Contribution<PoolConfig>[]>,
): CaredClusters {
  const cared = graph.derive<BoundShoot, CaredCluster>({
    name: 'clustersWithPools',
    from: bindings,
    compute: ({ value: { cluster, seed, controlPlaneNamespace: namespace, ...shoot } }, _read, emit) => {
      if (hasNodes(shoot)) emit('', cluster, seed === undefined ? {} : { controlPlane: { seed, namespace } });
    },
  });
  const pools = graph.derive<BoundShoot, PoolOfNodes>({
    name: 'poolsOfNodes',
    from: bindings,
    reads: [configs],
    scope: ({ value: { cluster } }) => [cluster],
    compute: ({ value: { cluster, seed, ...shoot } }, read, emit) => {
      if (!hasNodes(shoot)) return;
      const poolWith = ({ name, kubernetesVersion }: BoundShoot['pools'][number]): PoolOfNodes => {
        // The last of several Secrets of a pool counts.
        const config = seed === undefined ? undefined : read.get(configs, cluster, name)?.at(-1)?.value;
        return { name, kubernetesVersion, ...given({ config }) };
      };
      const [first] = shoot.pools;
      if (seed === undefined && first !== undefined) emit(cluster, FIRST, poolWith(first));
      // The first of several pools with one name counts.
      const byName = new Map([...shoot.pools].reverse().map((pool) => [pool.name, pool]));
      for (const [name, pool] of byName) emit(cluster, labelled(name), poolWith(pool));
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
): PoolOfNodes | undefined {
  return read.get(pools, cluster, label === undefined ? FIRST : labelled(label));
}

function labelled(name: string): string {
  return `label/${name}`;
}
