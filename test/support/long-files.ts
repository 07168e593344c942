/** Files that `npm run test:long` runs, as globs; `npm test` runs their other tests. */
export const ALSO_LONG = {
  unit: [
    'test/unit/agent/histories.test.ts',
    'test/unit/compose/validate/fuzz.test.ts',
    'test/unit/domains/care/engine/hostile.test.ts',
    'test/unit/runtime/histories.test.ts',
    'test/unit/runtime/stored/checked-map.test.ts',
  ],
  integration: [
    'test/e2e/relay/{0[1-9],1[0-6]}-*.test.ts',
    'test/e2e/{survival,desired-state,by-hand,people,hostile-agent,pre-commit,chart-releases}.test.ts',
    'test/e2e/{trust,kubernetes-leader,kubernetes-outages,demo}.test.ts',
    'test/hostile/processes/forged-positions.test.ts',
  ],
} as const;

/** Integration tests that only `npm run test:long` runs. */
export const LONG_ALONE = [
  'test/contract/kubernetes-api/kubectl-yaml.test.ts',
  'test/contract/cluster-api/kubernetes-updates.test.ts',
  'test/contract/kubernetes-api/schemas.test.ts',
  'test/contract/public-manifests.test.ts',
  'test/e2e/kubernetes-care-operations.test.ts',
  'test/e2e/public-manifests.test.ts',
  'test/e2e/site.test.ts',
  'test/e2e/built-image.test.ts',
  'test/e2e/upgrade.test.ts',
] as const;
