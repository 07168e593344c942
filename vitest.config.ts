import process from 'node:process';
import { defineConfig } from 'vitest/config';
import type { TestSequencer, Vitest } from 'vitest/node';
import { isLong } from './test/support/long.ts';
import { ALSO_LONG, LONG_ALONE } from './test/support/long-files.ts';
import { createLongestFirst } from './test/support/longest-first.ts';
import { temporaryStateHome } from './test/support/state-home.ts';
import { temporaryFolder } from './test/support/temporary-folder.ts';

// Of this process, so that what it starts before the first test has it, too.
process.env.TMPDIR = temporaryFolder(isLong);

const env = { XDG_STATE_HOME: temporaryStateHome() };
const setupFiles = ['test/support/processor-time.ts', 'test/support/generated-cases.ts'];

/** Computation alone: a worker for each of two processors. */
const unit = {
  name: 'unit',
  include: isLong ? [...ALSO_LONG.unit] : ['test/{unit,laws,golden}/**/*.test.ts', 'test/hostile/*.test.ts'],
  isolate: false,
  maxWorkers: 2,
  env,
  setupFiles,
  // Bounds of what never ends, not of what is slow.
  testTimeout: isLong ? 1_800_000 : 60_000,
  hookTimeout: 60_000,
  expect: { poll: { timeout: 30_000 } },
  // The groups run one after the other: the processes of the second need the machine for themselves.
  sequence: { groupOrder: 0 },
};

const sim = {
  ...unit,
  name: 'sim',
  include: isLong ? ['test/sim/long/*.test.ts'] : ['test/sim/*.test.ts'],
  testTimeout: isLong ? 1_800_000 : 300_000,
};

/** Tests that start processes, and mostly wait for them: more workers than processors. */
const integration = {
  name: 'integration',
  include: isLong
    ? [...ALSO_LONG.integration, ...LONG_ALONE]
    : ['test/{contract,e2e,static}/**/*.test.ts', 'test/hostile/processes/*.test.ts'],
  exclude: isLong ? [] : [...LONG_ALONE],
  pool: 'forks' as const,
  globalSetup: ['test/support/installed-bundle.ts', 'test/support/kubernetes/shared-plane.ts'],
  // Programs of Kubernetes collect garbage less often: a fifth of the processor time of an API server that starts.
  env: { ...env, GOGC: '400' },
  setupFiles,
  // Above what `until` waits for, so that a test says what did not happen.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 60_000 } },
  maxWorkers: 5,
  sequence: { groupOrder: 1 },
};

const sequencer = createLongestFirst as unknown as new (vitest: Vitest) => TestSequencer;

export default defineConfig({
  test: { projects: [unit, sim, integration].map((test) => ({ test })), sequence: { sequencer } },
});
