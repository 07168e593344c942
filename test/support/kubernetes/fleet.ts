import { type Fleet, type FleetOptions, startFleet } from '../fleet-processes.ts';
import type { KubernetesPool, KubernetesTestCluster } from './clusters.ts';

/** A real fleet whose clusters are API servers. */
export interface KubernetesFleet extends Fleet {
  cluster(name: string): Promise<KubernetesTestCluster>;
}

/** Starts git and the server; agents are started by the test. */
export async function startKubernetesFleet(
  pool: KubernetesPool,
  files: Readonly<Record<string, string>>,
  options: Omit<FleetOptions, 'clusters'> = {},
): Promise<KubernetesFleet> {
  const taken = new Map<unknown, KubernetesTestCluster>();
  const take = async (folder: string): Promise<KubernetesTestCluster> => {
    const cluster = await pool.take(folder);
    taken.set(cluster, cluster);
    return cluster;
  };
  const fleet = await startFleet(files, { ...options, clusters: { ...pool, take } });
  return {
    ...fleet,
    cluster: async (name) => {
      const cluster = taken.get(await fleet.cluster(name));
      if (cluster === undefined) throw new Error(`${name} is no cluster of this pool`);
      return cluster;
    },
  };
}
