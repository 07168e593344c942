import { relative } from 'node:path';
import { BaseSequencer, type TestSequencer, type TestSpecification, type Vitest } from 'vitest/node';

/**
 * Integration tests that take longest, most of the time waiting: they begin first, so that none of them runs alone at the end.
 * `npm test -- --durations` names them.
 */
export const LONGEST: readonly string[] = [
  'test/e2e/kubernetes-outages.test.ts',
  'test/e2e/acts-killed.test.ts',
  'test/e2e/kubernetes-webhook-replicas.test.ts',
  'test/hostile/processes/repositories.test.ts',
  'test/e2e/kubernetes-leader.test.ts',
  'test/e2e/kubernetes-care-silence.test.ts',
  'test/e2e/trust.test.ts',
  'test/e2e/demo.test.ts',
  'test/e2e/cli-kubernetes.test.ts',
  'test/e2e/single-server.test.ts',
  'test/e2e/kubernetes-care.test.ts',
  'test/e2e/envoys-run.test.ts',
  'test/e2e/relay/05-agent-reconnects.test.ts',
  'test/e2e/relay/10-restart-scoped.test.ts',
  'test/e2e/relay/16-rights.test.ts',
  'test/e2e/survival.test.ts',
];

/** Without results of an earlier run, as in CI, vitest begins with the largest files, which need not be the longest. It calls this with `new`. */
export function createLongestFirst(vitest: Vitest): TestSequencer {
  const base = new BaseSequencer(vitest);
  return {
    shard: (files) => base.shard(files),
    sort: async (files) => {
      const sorted = await base.sort([...files]);
      const placeOf = ({ moduleId }: TestSpecification): number =>
        LONGEST.indexOf(relative(vitest.config.root, moduleId).replaceAll('\\', '/'));
      const listed = sorted.filter((file) => placeOf(file) >= 0).sort((a, b) => placeOf(a) - placeOf(b));
      const isListed = new Set(listed);
      // The listed ones are of the last project, which begins where its first file stands.
      const begin = sorted.findIndex(({ project }) => project.name === listed[0]?.project.name);
      const others = (part: readonly TestSpecification[]): readonly TestSpecification[] =>
        part.filter((file) => !isListed.has(file));
      return begin < 0 ? sorted : [...sorted.slice(0, begin), ...listed, ...others(sorted.slice(begin))];
    },
  };
}
