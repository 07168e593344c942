import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/{unit,laws,golden}/**/*.test.ts'],
          isolate: false,
          setupFiles: ['test/support/generated-cases.ts'],
          // Bounds of what never ends, not of what is slow.
          testTimeout: 60_000,
          hookTimeout: 60_000,
          expect: { poll: { timeout: 30_000 } },
          // The groups run one after the other: the processes of the second need the machine for themselves.
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/{contract,e2e,sim,static}/**/*.test.ts'],
          pool: 'forks',
          globalSetup: ['test/support/installed-bundle.ts'],
          setupFiles: ['test/support/generated-cases.ts'],
          sequence: { groupOrder: 1 },
          // Above what `until` waits for, so that a test says what did not happen.
          testTimeout: 300_000,
          hookTimeout: 300_000,
          expect: { poll: { timeout: 60_000 } },
          maxWorkers: 2,
        },
      },
    ],
  },
});
