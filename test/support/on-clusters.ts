import { afterAll, describe } from 'vitest';
import { kubernetesClusters } from './kubernetes/clusters.ts';
import { type ClusterKind, type ClusterPool, directoryClusters } from './test-clusters.ts';

/** One suite, run on every kind of cluster; skipped where the programs of one are not here. */
export function describeOnClusters(title: string, suite: (pool: ClusterPool, kind: ClusterKind) => void): void {
  describe.for([directoryClusters, kubernetesClusters])(`${title}: $name`, (kind) => {
    describe.skipIf(kind.missing)('clusters', () => {
      const pool = kind.open();
      afterAll(() => pool.stop());
      suite(pool, kind);
    });
  });
}
