import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../limits.js';
import { openBlobFolder } from '../../store/blobs/folder.js';
import { dataPaths } from '../../store/data-folder.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestRegistry,
} from '../../testing/test-registry.js';
import { SnapshotRenditions } from './snapshot-renditions.js';

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry();
});
afterAll(() => registry.close());

it('keeps a published file that has the bytes of an evicted rendition', async () => {
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
  for (let index = 0; index < SERVER_LIMITS.retainedSnapshots + 2; index++) {
    await registry.publish({ kind: `Later${index}`, release: '1.0.0' });
  }
  const readme = await registry.request(`${releasePath(twin)}/readme.md`);
  expect([readme.status, await readme.text()]).toEqual([200, catalog]);
  const first = await registry.request('/catalogs/default/snapshots/2/catalog.yaml');
  expect([first.status, await first.text()]).toEqual([200, catalog]);
});

it('limits the bytes of regenerated renditions, and serves all of them', async () => {
  const { store } = registry.parts;
  const blobs = await openBlobFolder(dataPaths(registry.folder).renditions);
  const old = (await store.snapshots('default', 100)).slice(SERVER_LIMITS.retainedSnapshots);
  const count = async () => {
    let blobCount = 0;
    for await (const _ of blobs.list()) blobCount++;
    return blobCount;
  };
  const whole = async (forms: SnapshotRenditions, serial: number) => {
    const snapshot = old.find((one) => one.serial === serial)!;
    const { body } = await forms.find(snapshot, 'catalog.json', 'identity');
    return body instanceof Uint8Array ? body.byteLength : body.size;
  };
  const serials = old.map(({ serial }) => serial).slice(-2);
  const roomy = new SnapshotRenditions({ store, blobs, maxCacheBytes: 0 });
  const tight = new SnapshotRenditions({ store, blobs, maxCacheBytes: 0, maxRegeneratedBytes: 0 });
  const before = await count();
  for (const serial of serials) expect(await whole(tight, serial)).toBeGreaterThan(0);
  expect((await count()) - before).toBe(1);
  for (const serial of serials) expect(await whole(roomy, serial)).toBeGreaterThan(0);
  expect((await count()) - before).toBe(serials.length);
  // The first build after a start evicts what an earlier process regenerated.
  registry = await registry.reopen();
  await registry.publish({ kind: 'AfterStart', release: '1.0.0' });
  for (const serial of serials) {
    const snapshot = old.find((one) => one.serial === serial)!;
    expect(
      await registry.parts.store.renditionBlob(snapshot.digests['catalog.json'], 'identity'),
    ).toBeUndefined();
  }
});

it('serves old snapshots while builds evict regenerated renditions', async () => {
  let running = true;
  const statuses: number[] = [];
  const read = async () => {
    while (running) {
      for (let serial = 1; serial < 6; serial++) {
        const answer = await registry.request(`/catalogs/default/snapshots/${serial}/catalog.json`, {
          headers: { 'Accept-Encoding': 'br' },
        });
        await answer.arrayBuffer();
        statuses.push(answer.status);
        // Without sockets, responses arrive without a turn of the event loop.
        await setImmediate();
      }
    }
  };
  const readers = [read(), read()];
  for (let index = 0; index < 5; index++)
    await registry.publish({ kind: `Meanwhile${index}`, release: '1.0.0' });
  running = false;
  await Promise.all(readers);
  expect(statuses.length).toBeGreaterThan(10);
  expect(new Set(statuses)).toEqual(new Set([200]));
});
