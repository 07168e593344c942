import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/{unit,laws,golden}/**/*.test.ts'],
          isolate: false,
          // The groups run one after the other: the processes of the second need the machine for themselves.
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/{contract,e2e,sim,static}/**/*.test.ts'],
          pool: 'forks',
          sequence: { groupOrder: 1 },
          testTimeout: 60_000,
          hookTimeout: 60_000,
          maxWorkers: 2,
        },
      },
    ],
  },
});
