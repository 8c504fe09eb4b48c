import { availableParallelism } from 'node:os';
import { defaultServerConditions } from 'vite';
import { defineConfig } from 'vitest/config';

// Tests see the sources of the workspace packages; only the command line is run as it was built.
const conditions = ['source', ...defaultServerConditions];
const report = process.env.KRMHUB_TEST_REPORT;

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['{packages,apps}/*/src/**/*.test.{ts,tsx}', 'test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Much of the time is waiting: for other processes, and for disks.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // What is waited for comes on a busy machine too, only later.
    expect: { poll: { timeout: 20_000 } },
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
  },
});
