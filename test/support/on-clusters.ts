import { afterAll, describe } from 'vitest';
import { kubernetesClusters } from './kubernetes/clusters.ts';
import { isLong } from './long.ts';
import { type ClusterKind, type ClusterPool, directoryClusters } from './test-clusters.ts';

type Suite = (pool: ClusterPool, kind: ClusterKind) => void;

/** One suite, run on every kind of cluster; skipped where the programs of one are not here. */
export function describeOnClusters(title: string, suite: Suite): void {
  describeOn(isLong ? [] : [directoryClusters, kubernetesClusters], title, suite);
}

/** The same where the kind of cluster hardly matters: on directories in `npm test`, on Kubernetes in `npm run test:long`. */
export function describeOnDirectories(title: string, suite: Suite): void {
  describeOn([isLong ? kubernetesClusters : directoryClusters], title, suite);
}

function describeOn(kinds: readonly ClusterKind[], title: string, suite: Suite): void {
  describe.for(kinds)(`${title}: $name`, (kind) => {
    describe.skipIf(kind.missing)('clusters', () => {
      const pool = kind.open();
      afterAll(() => pool.stop());
      suite(pool, kind);
    });
  });
}
