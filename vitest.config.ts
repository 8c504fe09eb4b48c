import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defaultServerConditions, type Plugin } from 'vite';
import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { TestReporter } from './scripts/test-report.mjs';
import { replicasMissing } from './test/replicas/missing.js';

// Tests see the sources of the workspace packages; only the command line is run as it was built.
const conditions = ['source', ...defaultServerConditions];
const report = process.env.KRMHUB_TEST_REPORT;

/** Tests with programs of others, which `.ci/run` installs. */
const INTEROP = [
  'test/{interop,completion}/**/*.test.ts',
  'test/conformance/sigstore/*.test.ts',
  'test/conformance/command.test.ts',
  'test/browser/!(pages).test.ts',
  'test/{pipelines/*,demo}.test.ts',
];
/**
 * Whole flows, which run a second time with PostgreSQL, S3, and two processes behind a load balancer, where there are
 * these programs.
 */
const REPLICAS = [
  'test/conformance/{auth,content-discovery,content-management,pull,push-blobs,push-manifests,push-mounts}.test.ts',
  'test/end-to-end/{first-flow,kep-story-seven,signed-snapshots,sources,takedown,tokens}.test.ts',
  'test/end-to-end/{device-login,trusted-publishing,trusted-pull,upstream-search}.test.ts',
  'test/interop/keyless-publish.test.ts',
  'test/authorization/seen.test.ts',
];
/** Tests that take minutes each: `npm run test:campaign`, of which `.ci/run` takes a sample. */
const CAMPAIGN = [
  'test/bench.test.ts',
  'test/browser/pages.test.ts',
  'test/{faults,hostile,limits}/**/*.test.ts',
  'test/contracts/killed.test.ts',
  'test/end-to-end/{killed-refresh,killed-takedown}.test.ts',
  'test/starlark/differential/*.test.ts',
];

/** Tests that are smaller elsewhere and whole in the campaign. */
const FULL_SIZE = [
  'apps/registry/src/publish/takedown/takedown-serving.test.ts',
  'packages/schema/src/lint/hostile.test.ts',
  'packages/yaml/src/edit/{edit-files,edit-random,hostile-edits,real-files}.test.ts',
  'packages/yaml/src/read/hostile.test.ts',
  'test/authorization/{operations,seen}.test.ts',
  'test/contracts/search-follower.test.ts',
  'test/yaml-agreement.test.ts',
];

/** Much of the time is waiting: for other processes, and for disks. */
const maxWorkers = availableParallelism() + 1;

/** Threads and processes of the registry start from the bundle. */
const bundledEntries: Plugin = {
  name: 'bundled-entries',
  enforce: 'pre',
  resolveId: (source, importer) =>
    source.endsWith('/built-entry.js') && /\/apps\/registry\/src\/.*(?<!\.test)\.ts$/.test(importer ?? '')
      ? fileURLToPath(new URL('test/setup/bundled-entry.ts', import.meta.url))
      : undefined,
};

const project = (
  name: string,
  include: string[],
  options: TestProjectInlineConfiguration['test'] = {},
): TestProjectInlineConfiguration => ({ extends: true, test: { name, include, maxWorkers, ...options } });

export default defineConfig({
  plugins: [bundledEntries],
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    // No test is about time: these limits end only what hangs.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    // What is waited for comes on a busy machine too, only later.
    expect: { poll: { timeout: 300_000 } },
    reporters: report === undefined ? ['default'] : ['default', new TestReporter(report)],
    globalSetup: ['test/setup/temporary-folder.ts'],
    setupFiles: ['test/setup/end-programs.ts'],
    projects: [
      // Files share the modules that they import, most of whose time is loading them.
      project('unit', ['{packages,apps}/*/src/**/*.test.{ts,tsx}'], { isolate: false }),
      project('integration', ['test/**/*.test.ts'], {
        isolate: false,
        exclude: [...configDefaults.exclude, ...INTEROP, ...CAMPAIGN],
      }),
      project('interop', INTEROP),
      project('replicas', replicasMissing === undefined ? REPLICAS : [], {
        env: { KRMHUB_TEST_PROCESSES: '2' },
      }),
      project('campaign', [...CAMPAIGN, ...FULL_SIZE], {
        // These tests use processors more than they wait.
        maxWorkers: availableParallelism(),
        env: { KRMHUB_TEST_FULL_SIZE: '1' },
      }),
    ],
  },
});
