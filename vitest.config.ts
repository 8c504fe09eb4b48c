import { availableParallelism } from 'node:os';
import { defaultServerConditions } from 'vite';
import { configDefaults, defineConfig } from 'vitest/config';

// Tests see the sources of the workspace packages; only the command line is run as it was built.
const conditions = ['source', ...defaultServerConditions];
const report = process.env.KRMHUB_TEST_REPORT;

/** What keeps the machine busy, or holds others to a time, has it for itself. */
const ALONE = ['test/{bench,demo,start}.test.ts', 'test/{faults,hostile,limits}/**/*.test.ts'];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // What is waited for comes on a busy machine too, only later.
    expect: { poll: { timeout: 20_000 } },
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
    projects: [
      {
        extends: true,
        test: {
          name: 'together',
          include: ['{packages,apps}/*/src/**/*.test.{ts,tsx}', 'test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...ALONE],
          // Much of the time is waiting: for other processes, and for disks.
          maxWorkers: Math.max(2, availableParallelism() - 1),
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: 'alone', include: ALONE, maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
