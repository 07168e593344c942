import process from 'node:process';
import { findKubernetesPrograms, howToGetKubernetesPrograms } from '../../scripts/local/kubernetes-programs.ts';
import { installBundle } from '../../test/support/installed-bundle.ts';
import { type KubernetesTestCluster, openKubernetesPool } from '../../test/support/kubernetes/clusters.ts';
import { type KubernetesFleet, startKubernetesFleet } from '../../test/support/kubernetes/fleet.ts';
import { clusterYaml } from '../../test/support/manifests.ts';
import type { Manifest } from './objects.ts';
import { pathOf } from './objects.ts';

/** A real API server, a real management server with git, and the agent as it ships. */
export interface KubernetesWorld {
  readonly fleet: KubernetesFleet;
  readonly cluster: KubernetesTestCluster;
  namespace(name: string): Promise<void>;
  stop(): Promise<void>;
}

/** The server has a machine of its own elsewhere: here its commits would take the time of the cluster's programs. */
const NO_STATUS_COMMITS = `
apiVersion: fleetrelay.dev/v1alpha1
kind: FleetPolicy
metadata:
  name: fleet
spec:
  status:
    enabled: false
`;

/** Builds the bundle and starts everything but the agent, whose cluster is `east`. Rejects if programs are missing. */
export async function startKubernetesWorld(): Promise<KubernetesWorld> {
  if (findKubernetesPrograms(process.env) === undefined) throw new Error(howToGetKubernetesPrograms(process.env));
  const installed = await installBundle();
  const pool = openKubernetesPool();
  try {
    const files = { 'clusters/east/cluster.yaml': clusterYaml('east'), 'policy.yaml': NO_STATUS_COMMITS };
    const fleet = await startKubernetesFleet(pool, files, {
      program: installed.program,
      serve: ['--log-level', 'info'],
    });
    const cluster = await fleet.cluster('east');
    return {
      fleet,
      cluster,
      namespace: async (name) => {
        await cluster.api.send('POST', '/api/v1/namespaces', {
          apiVersion: 'v1',
          kind: 'Namespace',
          metadata: { name },
        });
      },
      stop: async () => {
        await fleet.stop();
        await pool.stop();
        await installed.remove();
      },
    };
  } catch (error) {
    await pool.stop();
    await installed.remove();
    throw error;
  }
}

/** Sends all of them by server-side apply, 16 at a time, as fast as they go; returns the milliseconds. */
export async function applyNaively({ cluster }: KubernetesWorld, manifests: readonly Manifest[]): Promise<number> {
  const before = performance.now();
  await Promise.all(manifests.map((manifest) => cluster.api.apply(pathOf(manifest), manifest, 'naive')));
  return performance.now() - before;
}
