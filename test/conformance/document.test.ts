import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { spawnSync } from '../processes.js';
import { replicasMissing } from '../replicas/missing.js';
import { cleanEnvironment, root, temporaryFolder } from '../running.js';

const document = path.join(root, 'docs/internals/conformance.md');
/** Files that test the registry, by area; the others test the parts that these use. */
const AREAS: Record<string, readonly string[]> = {
  authentication: ['auth.test.ts'],
  pull: ['pull.test.ts'],
  push: ['push-blobs.test.ts', 'push-mounts.test.ts', 'push-manifests.test.ts'],
  'content discovery': ['content-discovery.test.ts'],
  'content management': ['content-management.test.ts'],
};
const SUPPORT = ['command.test.ts', 'document.test.ts', 'oci-requests.test.ts'];
/** Contracts with the names of their tests, embedded and distributed. */
const CONTRACTS: Record<string, readonly [string, string]> = {
  registry: ['SQLite in a file', 'PostgreSQL'],
  manifest: ['SQLite in a file', 'PostgreSQL'],
  blob: ['a folder', 'S3 with a cache'],
};
const FLOWS = [
  ...['first-flow', 'kep-story-seven', 'signed-snapshots', 'sources', 'takedown', 'tokens', 'trusted-pull'],
  ...['trusted-publishing', 'upstream-search', 'keyless-publish'],
].map((name) => `${name === 'keyless-publish' ? 'interop' : 'end-to-end'}/${name}.test.ts`);
const STORES = ['contracts/registry-store', 'contracts/manifest-store', 'contracts/blob-store'];
const OTHER_STORES = ['interop/postgres-store', 'interop/s3-blobs'];

interface DeclaredTest {
  name: string;
  /** Below `test`. */
  file: string;
  projectName: string;
}
/** Declared by these files; those that would be skipped are absent. */
let tests: DeclaredTest[];

beforeAll(() => {
  const { folder, remove } = temporaryFolder();
  const list = path.join(folder, 'tests.json');
  const files = ['conformance', ...FLOWS, ...STORES, ...OTHER_STORES].map((file) => `test/${file}`);
  const { status, stderr } = spawnSync(
    process.execPath,
    [path.join(root, 'node_modules/vitest/vitest.mjs'), 'list', ...files, `--json=${list}`],
    // It loads all of them, beside other tests.
    { cwd: root, env: cleanEnvironment(folder), encoding: 'utf8', timeout: 900_000 },
  );
  expect(status, stderr).toBe(0);
  tests = (JSON.parse(readFileSync(list, 'utf8')) as DeclaredTest[]).map((test) => ({
    ...test,
    file: path.relative(path.join(root, 'test'), test.file),
  }));
  remove();
}, 1_000_000);

const countOf = (matches: (test: DeclaredTest) => boolean) => String(tests.filter(matches).length);

/** Replaces the rows of a table with these, of which undefined cells stay as they are; UPDATE=1 writes it. */
function expectRows(header: string, rows: readonly (readonly (string | undefined)[])[]): void {
  const text = readFileSync(document, 'utf8');
  const start = text.indexOf(header);
  const [head, rule, ...said] = text.slice(start).split('\n\n', 1)[0]!.split('\n');
  const lines = rows.map((cells, at) => {
    const known = said[at]?.split('|').slice(1, -1) ?? [];
    return `|${cells.map((cell, column) => (cell === undefined ? known[column] : cell === '' ? ' ' : ` ${cell} `)).join('|')}|`;
  });
  const rest = said.slice(rows.length);
  const table = [head, rule, ...lines, ...rest].join('\n');
  const expected = text.replace([head, rule, ...said].join('\n'), () => table);
  if (process.env.UPDATE === '1') writeFileSync(document, expected);
  else expect(text).toBe(expected);
}

it('docs/internals/conformance.md has the current number of tests (UPDATE=1 writes it)', () => {
  // The files below check bundles against another specification.
  const own = tests.filter(
    ({ file, projectName }) => path.dirname(file) === 'conformance' && projectName !== 'replicas',
  );
  const names = Object.values(AREAS).flat();
  expect([...new Set(own.map(({ file }) => path.basename(file)))].sort()).toEqual(
    [...names, ...SUPPORT].sort(),
  );
  const count = (files: readonly string[]) =>
    String(own.filter(({ file }) => files.includes(path.basename(file))).length);
  expectRows('| area |', [
    ...Object.entries(AREAS).map(([area, files]) => [
      area,
      files.map((file) => `\`${file}\``).join(', '),
      count(files),
    ]),
    ['together', '', count(names)],
  ]);
});

/** Rows of both engines; without the programs of one of them, only those of the other. */
function engineRows(shared: boolean): (string | undefined)[][] {
  const cells = (embedded: string, distributed: string) => [
    undefined,
    embedded,
    shared ? distributed : undefined,
  ];
  const areas = Object.values(AREAS)
    .flat()
    .map((name) => `conformance/${name}`);
  const inFiles = (files: readonly string[]) => {
    const of = ({ file }: DeclaredTest) => files.includes(file);
    const distributed = ({ projectName }: DeclaredTest) => projectName === 'replicas';
    return cells(
      countOf((test) => of(test) && !distributed(test)),
      countOf((test) => of(test) && distributed(test)),
    );
  };
  return [
    ...Object.entries(CONTRACTS).map(([contract, engines]) => {
      const [embedded, distributed] = engines.map((engine) =>
        countOf(({ name }) => name.includes(`${engine} is a ${contract} store`)),
      );
      return cells(embedded!, distributed!);
    }),
    inFiles(areas),
    inFiles(FLOWS),
  ];
}

it('docs/internals/conformance.md has the current number of tests of the embedded engines', () => {
  expectRows('| tests | embedded |', engineRows(false));
});

it.skipIf(replicasMissing)(
  'docs/internals/conformance.md has that of PostgreSQL and S3 (needs PostgreSQL and versitygw)',
  () => {
    expectRows('| tests | embedded |', engineRows(true));
  },
);
