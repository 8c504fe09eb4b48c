import { afterAll, beforeAll, expect, it } from 'vitest';
import { dataPaths } from './data-folder.js';
import { SERVER_LIMITS } from './limits.js';
import { openBlobFolder, readBlobFolder } from './store/blob-fs.js';
import { definitionText, openTestRegistry, releasePath, type TestRegistry } from './test-registry.js';

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry();
});
afterAll(() => registry.close());

it('keeps a published file whose bytes are those of a form that is forgotten', async () => {
  await registry.publish({ kind: 'First', release: '1.0.0' });
  const catalog = await (await registry.request('/catalogs/default/catalog.yaml')).text();
  const twin = { kind: 'Twin', release: '1.0.0' };
  const form = new FormData();
  form.set('definition', new Blob([definitionText(twin)], { type: 'application/yaml' }), 'definition.yaml');
  form.set('readme', new Blob([catalog], { type: 'text/markdown' }), 'README.md');
  const { secret } = await registry.token({});
  const published = await registry.request(releasePath(twin), {
    method: 'PUT',
    body: form,
    headers: { Authorization: `Bearer ${secret}` },
  });
  expect(published.status).toBe(201);
  for (let index = 0; index < SERVER_LIMITS.keptSnapshots + 2; index++) {
    await registry.publish({ kind: `Later${index}`, release: '1.0.0' });
  }
  const readme = await registry.request(`${releasePath(twin)}/readme.md`);
  expect([readme.status, await readme.text()]).toEqual([200, catalog]);
  const first = await registry.request('/catalogs/default/snapshots/2/catalog.yaml');
  expect([first.status, await first.text()]).toEqual([200, catalog]);
});

it('forgets what a cut left that was killed, and keeps what newer snapshots have', async () => {
  const { store, forms } = registry.parts;
  await registry.settle();
  const kept = await store.formDigests();
  const blob = await (await openBlobFolder(dataPaths(registry.folder).forms)).put(Buffer.from('left'));
  await store.rememberForms([{ digest: blob, coding: 'identity', blob }]);
  await forms.forgetLeftovers();
  expect((await store.formDigests()).sort()).toEqual(kept.sort());
  expect(await readBlobFolder(dataPaths(registry.folder).forms).get(blob)).toBeUndefined();
  expect((await registry.request('/catalogs/default/catalog.yaml')).status).toBe(200);
});
