import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/{unit,laws,golden}/**/*.test.ts'],
          isolate: false,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/{contract,e2e,static}/**/*.test.ts'],
          pool: 'forks',
          testTimeout: 60_000,
          hookTimeout: 60_000,
          maxWorkers: 2,
        },
      },
    ],
  },
});
