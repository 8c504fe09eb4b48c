import { gunzipSync } from 'node:zlib';
import type { Problem } from '@krmhub/api/model';
import { PROFILE_DIALECTS, renderProfile } from '@krmhub/catalog';
import { type FunctionDefinition, PROFILES, type ProfileReport, sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SERVER_LIMITS } from '../../limits.js';
import { checkRegistry } from '../../operate/check/check.js';
import { openBlobFolder } from '../../store/blobs/folder.js';
import { dataPaths } from '../../store/data-folder.js';
import { openTestRegistry, releasePath, type TestRegistry } from '../../testing/test-registry.js';
import { ProfileDocuments } from './profile-documents.js';

let registry: TestRegistry;
let writes: string[];
beforeEach(async () => {
  writes = [];
  registry = await openTestRegistry({
    wrapStore: (store) => ({
      ...store,
      recordProfile: (form) => {
        writes.push(form.profile);
        return store.recordProfile(form);
      },
    }),
  });
  await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
  await registry.publish({ kind: 'Validate', release: '2.0.0', tags: ['policy'] });
});
afterEach(() => registry.close());

const NEWEST = '/catalogs/default/catalog.yaml?profile=';
const get = (path: string, headers: Record<string, string> = {}) => registry.request(path, { headers });
const listBlobs = async () => {
  const blobs = await openBlobFolder(dataPaths(registry.folder).profiles);
  const found: string[] = [];
  for await (const blob of blobs.list()) found.push(blob);
  return found.sort();
};

describe('a catalog in a profile', () => {
  it.each(PROFILES)('serves %s, with its digest as ETag and a link to its report', async (profile) => {
    const answer = await get(NEWEST + profile);
    const text = await answer.text();
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/yaml']);
    expect(answer.headers.get('etag')).toBe(`"${sha256(text)}"`);
    expect(answer.headers.get('cache-control')).toBe('no-cache');
    const functions = (await (await get('/catalogs/default/catalog.json')).json()) as {
      spec: { krmFunctions: FunctionDefinition[] };
    };
    const expected = renderProfile(profile, { name: 'default' }, functions.spec.krmFunctions);
    expect(text).toBe(expected.text);

    const link = answer.headers.get('link')!;
    const [, memento] = /<([^>]*)>; rel="memento"/.exec(link)!;
    expect(await (await get(memento!)).text()).toBe(text);
    const [, described] = /<([^>]*)>; rel="describedby"/.exec(link)!;
    const report = await get(described!);
    expect([report.status, report.headers.get('content-type')]).toEqual([200, 'application/json']);
    const { digests } = (await (await get('/catalogs/default/snapshots/3/snapshot.json')).json()) as {
      digests: Record<string, string>;
    };
    expect((await report.json()) as ProfileReport).toEqual({
      ...expected.report,
      snapshot: digests['catalog.yaml'],
    });
  });

  it('serves a single entry', async () => {
    const answer = await get('/catalogs/default/functions/example.com/Validate.yaml?profile=kpt-list');
    expect(JSON.parse(await answer.text())).toMatchObject({
      functions: [{ image: 'registry.example.com/validate', digest: `sha256:${'a'.repeat(64)}` }],
    });
    expect(answer.headers.get('link')).toContain('/snapshots/3/profiles/kpt-list.json>; rel="describedby"');
    const both = '/catalogs/default/functions/example.com/Validate.yaml?profile=kep&kind=Catalog';
    expect((await get(both)).status).toBe(400);
  });

  it('responds 304 to a known ETag, and compresses', async () => {
    const answer = await get(`${NEWEST}porch`);
    const etag = answer.headers.get('etag')!;
    expect((await get(`${NEWEST}porch`, { 'If-None-Match': etag })).status).toBe(304);
    expect((await get(`${NEWEST}kep`, { 'If-None-Match': etag })).status).toBe(200);
    const zipped = await get(`${NEWEST}porch`, { 'Accept-Encoding': 'gzip' });
    expect([zipped.headers.get('content-encoding'), zipped.headers.get('vary')]).toEqual([
      'gzip',
      'Accept-Encoding',
    ]);
    const bytes = gunzipSync(Buffer.from(await zipped.arrayBuffer()));
    expect(bytes.toString()).toBe(await answer.text());
    const head = await registry.request(`${NEWEST}porch`, { method: 'HEAD' });
    expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, etag, '']);
  });

  it.each([
    [`${NEWEST}kep&kind=Catalog`, 'remove kind'],
    [`${NEWEST}kep&kind=KRMFunctionCatalog`, 'remove kind'],
    ['/catalogs/default/snapshots/3/catalog.yaml?kind=Catalog&profile=kep', 'remove kind'],
    [`${NEWEST}helm`, 'must be one of kep, kep-schema'],
    [NEWEST, 'must be one of kep'],
    [`${NEWEST}kep&profile=porch`, 'set 2 times'],
    ['/catalogs/default/catalog.json?profile=kep', 'unknown'],
    ['/catalogs/default/snapshots/3/profiles/helm.json', 'must be one of kep'],
    ['/catalogs/default/snapshots/0/profiles/kep.json', 'is not a serial'],
  ])('rejects %s', async (path, reason) => {
    const answer = await get(path);
    const { detail, hint } = (await answer.json()) as Problem;
    expect(answer.status).toBe(400);
    expect(`${detail} ${hint}`.toLowerCase()).toContain(reason.toLowerCase());
  });

  it('responds 404 for an unknown catalog, snapshot or entry', async () => {
    for (const path of [
      '/catalogs/none/catalog.yaml?profile=kep',
      '/catalogs/default/snapshots/9/catalog.yaml?profile=kep',
      '/catalogs/default/snapshots/9/profiles/kep.json',
      '/catalogs/default/functions/example.com/None.yaml?profile=kep',
    ]) {
      expect([path, (await get(path)).status]).toEqual([path, 404]);
    }
    expect(writes).toEqual([]);
  });
});

describe('a stored profile', () => {
  it('is written once for concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => get(`${NEWEST}kep-schema`)));
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    expect(new Set(texts).size).toBe(1);
    await get('/catalogs/default/snapshots/3/profiles/kep-schema.json');
    expect(writes).toEqual(['kep-schema']);
    registry = await registry.reopen();
    const [snapshot] = await registry.parts.store.snapshots('default', 1);
    const kept = await registry.parts.store.storedProfile(snapshot!.digests['catalog.yaml'], 'kep-schema');
    expect(kept?.digest).toBe(sha256(texts[0]!));
  });

  it('is replaced if another version of the program wrote it', async () => {
    const { store } = registry.parts;
    const [snapshot] = await store.snapshots('default', 1);
    const blobs = await openBlobFolder(dataPaths(registry.folder).profiles);
    const old = await blobs.put(Buffer.from('old'));
    const report = await blobs.put(Buffer.from('old report'));
    const key = snapshot!.digests['catalog.yaml'];
    for (const digest of [old, report])
      await store.recordProfileBlobs([{ digest, coding: 'identity', blob: digest }]);
    const revision = PROFILE_DIALECTS.porch.revision - 1;
    await store.recordProfile({ snapshot: key, profile: 'porch', revision, digest: old, report });
    const answer = await get(`${NEWEST}porch`);
    expect(await answer.text()).toContain('FunctionConfig');
    expect(await listBlobs()).not.toContain(old);
    expect(await listBlobs()).not.toContain(report);
  });

  it('is written again if its file is missing', async () => {
    const text = await (await get(`${NEWEST}porch`)).text();
    registry = await registry.reopen();
    const blobs = await openBlobFolder(dataPaths(registry.folder).profiles);
    await blobs.delete(sha256(text));
    const answer = await get(`${NEWEST}porch`);
    expect([answer.status, await answer.text()]).toEqual([200, text]);
  });

  it('is deleted when a profile of a much newer snapshot is written, and passes a check of the folder until then', async () => {
    const first = await (await get(`${NEWEST}porch`)).text();
    const found = await checkRegistry(registry.folder, { startedAt: new Date(Date.now() + 3_600_000) });
    expect(found.findings).toEqual([]);
    const { store } = registry.parts;
    const key = (await store.snapshots('default', 1))[0]!.digests['catalog.yaml'];
    for (let index = 0; index <= SERVER_LIMITS.retainedSnapshots; index++) {
      await registry.publish({ kind: `Later${index}`, release: '1.0.0' });
    }
    await registry.waitForCatalogs();
    expect((await get(`${NEWEST}porch`)).status).toBe(200);
    expect(await store.storedProfile(key, 'porch')).toBeUndefined();
    expect(await listBlobs()).not.toContain(sha256(first));
    // It is written again on request.
    const old = '/catalogs/default/snapshots/3/catalog.yaml?profile=porch';
    const again = await get(old, { 'Accept-Encoding': 'gzip' });
    expect([again.status, await again.text()]).toEqual([200, first]);
    expect(again.headers.get('content-encoding')).toBeNull();
  });

  it('is evicted for old snapshots beyond a total size', async () => {
    const { store, bytesLock, derive, keys } = registry.parts;
    const blobs = await openBlobFolder(dataPaths(registry.folder).profiles);
    const signing = { store, signing: { keys } };
    const deps = { store, blobs, bytesLock, derive, signing };
    const tight = new ProfileDocuments({ ...deps, maxOldBytes: 0 });
    const [newest, second, third] = await store.snapshots('default', 3);
    await tight.get(newest!, 'kep');
    await tight.get(second!, 'kep');
    await tight.get(third!, 'kep');
    const kept = [newest, second, third].map((one) =>
      store.storedProfile(one!.digests['catalog.yaml'], 'kep'),
    );
    expect((await Promise.all(kept)).map((one) => one !== undefined)).toEqual([true, false, true]);
  });
});

describe('a profile after a takedown', () => {
  it('is deleted while requests for others wait until the takedown ends', async () => {
    const { store, bytesLock, profileDocuments: profiles } = registry.parts;
    await registry.publish({ kind: 'Waiting', release: '1.0.0' });
    const [newest] = await store.snapshots('default', 1);
    const read = vi.spyOn(bytesLock, 'read');
    let waiting: Promise<unknown> | undefined;
    await bytesLock.exclusively(async () => {
      waiting = profiles.get(newest!, 'kep');
      await expect.poll(() => read.mock.calls.length).toBeGreaterThan(0);
      await profiles.deleteUnused();
    });
    read.mockRestore();
    expect(await waiting).toBeDefined();
  });

  it('responds 410, and its bytes are deleted', async () => {
    const old = '/catalogs/default/snapshots/3';
    const texts = await Promise.all(PROFILES.map(async (profile) => (await get(NEWEST + profile)).text()));
    const reports = await Promise.all(
      PROFILES.map(async (profile) => (await get(`${old}/profiles/${profile}.json`)).text()),
    );
    const before = await listBlobs();
    for (const text of [...texts, ...reports]) expect(before).toContain(sha256(text));
    const answer = await registry.send(
      'POST',
      `${releasePath({ kind: 'SetLabels', release: '1.0.0' })}/takedown`,
      { reason: 'holds a password' },
    );
    expect(answer.status).toBe(200);
    for (const path of [`${old}/catalog.yaml?profile=porch`, `${old}/profiles/porch.json`]) {
      const refused = await get(path);
      expect([path, refused.status]).toEqual([path, 410]);
      expect(((await refused.json()) as Problem).takedowns).toHaveLength(1);
    }
    const after = await listBlobs();
    for (const text of [...texts, ...reports]) expect(after).not.toContain(sha256(text));
    for (const profile of PROFILES) {
      const newest = await get(NEWEST + profile);
      expect([newest.status, (await newest.text()).toLowerCase().includes('setlabels')]).toEqual([
        200,
        false,
      ]);
    }
  });

  it('is not written for a snapshot that was found before the takedown', async () => {
    const { store, profileDocuments: profiles } = registry.parts;
    const [snapshot] = await store.snapshots('default', 1);
    await registry.send('POST', `${releasePath({ kind: 'SetLabels', release: '1.0.0' })}/takedown`, {
      reason: 'holds a password',
    });
    await expect(profiles.get(snapshot!, 'kep')).rejects.toMatchObject({ code: 'gone' });
    expect(await store.storedProfile(snapshot!.digests['catalog.yaml'], 'kep')).toBeUndefined();
  });
});

it('serves profiles of an empty catalog, which share bytes with its documents', async () => {
  const recipe = `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: nothing}\nspec: {sources: [{name: all, functions: {}, match: [{group: nothing.example.com}]}]}\n`;
  const applied = await registry.send('PUT', '/api/v1/catalogs/nothing', recipe);
  expect([applied.status, JSON.stringify(applied.body)]).toEqual([201, expect.anything()]);
  await registry.waitForCatalogs();
  const plain = await (await get('/catalogs/nothing/catalog.yaml')).text();
  const kep = await get('/catalogs/nothing/catalog.yaml?profile=kep');
  expect(await kep.text()).toBe(plain);
  expect(plain).toContain('krmFunctions: []');
  const porch = await get('/catalogs/nothing/catalog.yaml?profile=porch');
  expect([porch.status, await porch.text()]).toEqual([200, '']);
  const { store } = registry.parts;
  const [snapshot] = await store.snapshots('nothing', 1);
  expect(await store.deleteProfiles([snapshot!.digests['catalog.yaml']])).toContain(sha256(plain));
  expect(await (await get('/catalogs/nothing/catalog.yaml')).text()).toBe(plain);
});
