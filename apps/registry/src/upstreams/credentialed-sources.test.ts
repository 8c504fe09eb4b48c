import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { SnapshotReport } from '@krmhub/schema';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { applyAccess } from '../testing/access.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';
import { catalogText, startUpstream, type TestUpstream } from '../testing/upstream-server.js';

let upstream: TestUpstream;
let registry: TestRegistry;
let file: string;
beforeEach(async () => {
  upstream = await startUpstream();
  upstream.files.set('/catalog.yaml', catalogText({ One: 'one' }));
  const empty = await openTestRegistry({ start: false });
  file = path.join(empty.folder, 'credentials.json');
  await writeFile(file, '{}', { mode: 0o600 });
  await empty.parts.close();
  registry = await openTestRegistry({
    folder: empty.folder,
    sources: { sourceAddresses: ['127.0.0.1'], sourceCredentials: file },
  });
});
afterEach(async () => {
  await registry.close();
  await upstream.close();
});

async function apply(name: string, url: string) {
  const recipe = `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: ${name}}\nspec:\n  sources:\n  - {name: theirs, catalog: {url: "${url}"}}\n`;
  const { status, body } = await registry.send('PUT', `/api/v1/catalogs/${name}`, recipe);
  return [status, body.detail];
}

const addCredentials = () =>
  writeFile(
    file,
    JSON.stringify({
      [upstream.origin]: { token: 'x' },
      'https://ghcr.example': { token: 'y' },
      'http://plain.example': { token: 'z' },
    }),
  );

it('a source with credentials needs a catalog whose readers the Access document names', async () => {
  await addCredentials();
  const url = `${upstream.origin}/catalog.yaml`;
  const refusal = (name: string) => [
    409,
    `catalog ${name}: the registry has credentials for the source theirs, and the Access document does not say who may read the catalog`,
  ];
  expect(await apply('theirs', url)).toEqual(refusal('theirs'));
  expect(await apply('images', 'oci://GHCR.example:443/team/catalog:1')).toEqual(refusal('images'));
  expect(await apply('plain', 'http://plain.example:80/catalog.yaml')).toEqual(refusal('plain'));
  expect(await registry.parts.store.catalog('theirs')).toBeUndefined();
  expect(await apply('others', 'oci://other.example/team/catalog:1')).toEqual([201, undefined]);
  await applyAccess(
    registry,
    'catalogs: [{pattern: "their*", visibility: internal}, {pattern: images, visibility: public}]',
  );
  expect(await apply('theirs', url)).toEqual([201, undefined]);
  expect(await apply('images', 'oci://ghcr.example/team/catalog:1')).toEqual([201, undefined]);
});

it('a catalog that was applied before stays, with a warning in its report', async () => {
  const url = `${upstream.origin}/catalog.yaml`;
  expect(await apply('theirs', url)).toEqual([201, undefined]);
  await registry.send('POST', '/api/v1/catalogs/theirs/cut');
  await addCredentials();
  expect(await apply('theirs', url)).toEqual([200, undefined]);
  const warnings = async () => {
    const response = await registry.request('/api/v1/catalogs/theirs/report', {
      headers: { Authorization: await registry.bearer() },
    });
    return ((await response.json()) as SnapshotReport).sources?.map(({ state, warning }) => [state, warning]);
  };
  expect(await warnings()).toEqual([
    ['current', expect.stringContaining('the registry has credentials for the source theirs')],
  ]);
  expect((await registry.request('/catalogs/theirs/catalog.yaml')).status).toBe(200);
  await applyAccess(registry, 'catalogs: [{pattern: theirs, visibility: internal}]');
  expect(await warnings()).toEqual([['current', undefined]]);
  expect((await registry.request('/catalogs/theirs/catalog.yaml')).status).toBe(404);
});
