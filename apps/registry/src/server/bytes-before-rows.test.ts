import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BlobStore, BlobWriter } from '@krmhub/catalog';
import type { BlobPlace } from '@krmhub/oci';
import { type Digest, sha256 } from '@krmhub/schema';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { RegistryStore } from '../store/registry-store.js';
import { testClient } from '../testing/oci.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestRegistry,
} from '../testing/test-registry.js';
import { catalogText, startUpstream, type TestUpstream } from '../testing/upstream-server.js';

/**
 * A row may only name bytes that survive a power cut: each change stores its bytes, waits until they are durable, and
 * then commits the rows. test/faults/faults.test.ts checks that the files are synced.
 */

/** Names of blob folders, and of rows with the bytes; catalogs and the bundles of signatures are in other rows. */
const FOLDERS: Record<BlobPlace, string | undefined> = {
  artifacts: 'artifacts',
  rows: 'rows',
  releases: 'blobs',
  forms: undefined,
  signatures: undefined,
};
/** Milliseconds after which a blob counts as durable: longer than a commit that does not wait for it. */
const DELAY = 30;

/** `folder digest` of every blob whose write has resolved. */
const durable = new Set<string>();
/** Commits that named bytes, with the bytes that were not durable then. */
let commits: { method: string; named: number; early: string[] }[] = [];

function wrapBlobs(blobs: BlobStore, folder: string): BlobStore {
  const recorded = async (writing: Promise<Digest>): Promise<Digest> => {
    const digest = await writing;
    await sleep(DELAY);
    durable.add(`${path.basename(folder)} ${digest}`);
    return digest;
  };
  return {
    ...blobs,
    put: (bytes) => recorded(blobs.put(bytes)),
    async write(): Promise<BlobWriter> {
      const writer = await blobs.write();
      return { ...writer, commit: () => recorded(writer.commit()) };
    },
  };
}

function commit(method: string, named: readonly (readonly [folder: string | undefined, digest: Digest])[]) {
  const inFolders = named.flatMap(([folder, digest]) =>
    folder === undefined ? [] : [`${folder} ${digest}`],
  );
  const early = inFolders.filter((one) => !durable.has(one));
  commits.push({ method, named: inFolders.length, early });
}

function wrapStore(store: RegistryStore): RegistryStore {
  return {
    ...store,
    commitFunction(change, artifacts = [], files = []) {
      // The same transaction stores them.
      for (const file of files) durable.add(`blobs ${sha256(file)}`);
      const { digest, readme } = change.release;
      const blobs = artifacts.flatMap((artifact) => artifact.blobs);
      commit('commitFunction', [
        ['blobs', digest],
        ...(readme === undefined ? [] : [['blobs', readme] as const]),
        ...blobs.map(({ place, file }) => [FOLDERS[place], file] as const),
      ]);
      return store.commitFunction(change, artifacts, files);
    },
    commitRefresh(refresh) {
      const { copy } = refresh.record;
      commit('commitRefresh', copy === undefined ? [] : [['copies', copy.digest]]);
      return store.commitRefresh(refresh);
    },
    addBlob(repository, blob, change) {
      // The same transaction stores them.
      if (blob.bytes !== undefined) durable.add(`rows ${sha256(blob.bytes)}`);
      commit('addBlob', [[FOLDERS[blob.place], blob.file]]);
      return store.addBlob(repository, blob, change);
    },
  };
}

let registry: TestRegistry;
let upstream: TestUpstream;
let authorization: string;
const client = testClient(
  () => registry,
  () => authorization,
);

beforeAll(async () => {
  upstream = await startUpstream();
  registry = await openTestRegistry({
    wrapStore,
    wrapBlobs,
    sources: { sourceAddresses: ['127.0.0.1'] },
  });
  authorization = `Bearer ${(await registry.token({})).secret}`;
  await registry.waitForCatalogs();
});
afterAll(async () => {
  await registry.close();
  await upstream.close();
});
beforeEach(() => {
  commits = [];
});

/** Checks that every commit of these methods named bytes, and that all of them were durable. */
function expectOrder(...methods: string[]): void {
  expect(commits.flatMap(({ method, early }) => early.map((one) => `${method} of ${one}`))).toEqual([]);
  const naming = new Set(commits.filter(({ named }) => named > 0).map(({ method }) => method));
  expect([...naming].sort()).toEqual(methods.sort());
}

it('a publish, and the snapshot that includes it', async () => {
  const { status } = await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
  expect(status).toBe(201);
  expectOrder('commitFunction');
});

it.each([
  ['a row', '1.1.0', '# Set labels\n'],
  ['a blob', '1.2.0', `# Set labels\n${'large '.repeat(20_000)}`],
])('a publish with a README that is %s', async (_, release, readme) => {
  const form = new FormData();
  const definition = { kind: 'SetLabels', release };
  form.set('definition', new File([definitionText(definition)], 'd.yaml', { type: 'application/yaml' }));
  form.set('readme', new File([readme], 'README.md'));
  const response = await registry.send('PUT', `${releasePath(definition)}?wait=true`, form);
  expect(response.status, JSON.stringify(response.body)).toBe(201);
  expect(commits.find(({ method }) => method === 'commitFunction')!.named).toBeGreaterThanOrEqual(2);
  expectOrder('commitFunction');
});

it.each([
  ['rows', 'a layer'],
  ['files', 'large '.repeat(20_000)],
])('a push of blobs that are %s', async (_, layer) => {
  await client.image('team/tool', 'v1', [layer, `${layer} again`]);
  expectOrder('addBlob');
});

it('a sync of a source, and the snapshot that includes its entries', async () => {
  upstream.files.set('/catalog.yaml', catalogText({ One: 'first' }));
  const response = await registry.send(
    'PUT',
    '/api/v1/catalogs/ours',
    `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ours}
spec: {sources: [{name: theirs, catalog: {url: '${upstream.origin}/catalog.yaml'}}]}
`,
  );
  expect(response.status, JSON.stringify(response.body)).toBe(201);
  await registry.parts.refresher.refreshNow({ catalog: 'ours', source: 'theirs' });
  await registry.waitForCatalogs();
  await expect
    .poll(async () => (await registry.request('/catalogs/ours/catalog.yaml')).text())
    .toContain('One');
  expectOrder('commitRefresh');
});

it('fails if a row names bytes that were not stored', async () => {
  const blob = { digest: `sha256:${'0'.repeat(64)}`, file: `sha256:${'0'.repeat(64)}`, size: 1 } as const;
  const change = { at: '2026-01-01T00:00:00.000Z', by: 'test' };
  await registry.parts.store.addBlob('team/tool', { ...blob, place: 'artifacts' }, change);
  expect(commits).toEqual([{ method: 'addBlob', named: 1, early: [`artifacts ${blob.file}`] }]);
});
