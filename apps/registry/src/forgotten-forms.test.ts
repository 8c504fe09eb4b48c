import { afterAll, beforeAll, expect, it } from 'vitest';
import { SERVER_LIMITS } from './limits.js';
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
