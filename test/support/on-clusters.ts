import { afterAll, describe } from 'vitest';
import type { ProgramName } from '../../scripts/local/programs.ts';
import { kubernetesClusters } from './kubernetes/clusters.ts';
import { isLong } from './long.ts';
import { noProgram } from './programs.ts';
import { type ClusterKind, type ClusterPool, directoryClusters } from './test-clusters.ts';

type Suite = (pool: ClusterPool, kind: ClusterKind) => void;

/** The title of a suite, and the programs that it starts beside the programs of its clusters. */
type Titled = string | { readonly title: string; readonly needs: readonly ProgramName[] };

/** One suite, run on every kind of cluster; skipped where the programs of one are not here. */
export function describeOnClusters(titled: Titled, suite: Suite): void {
  describeOn(isLong ? [] : [directoryClusters, kubernetesClusters], titled, suite);
}

/** The same where the kind of cluster hardly matters: on directories in `npm test`, on Kubernetes in `npm run test:long`. */
export function describeOnDirectories(titled: Titled, suite: Suite): void {
  describeOn([isLong ? kubernetesClusters : directoryClusters], titled, suite);
}

function describeOn(kinds: readonly ClusterKind[], titled: Titled, suite: Suite): void {
  const { title, needs } = typeof titled === 'string' ? { title: titled, needs: [] } : titled;
  describe.for(kinds)(`${title}: $name`, (kind) => {
    describe.skipIf(kind.missing || noProgram(...needs))('clusters', () => {
      const pool = kind.open();
      afterAll(() => pool.stop());
      suite(pool, kind);
    });
  });
}
