import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SERVER_LIMITS } from '../../limits.js';
import { applyAccess } from '../../testing/access.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

/** A catalog that is too large for memory is sent while it is read from the database. */

const RECIPE = `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: team}
spec:
  sources: [{name: ours, functions: {}}]
`;
const PROFILE = '/catalogs/team/catalog.yaml?profile=kep';
const REPORT = '/catalogs/team/snapshots/1/profiles/kep.json';
const ADDRESSES = ['/catalogs/team/catalog.yaml', '/catalogs/team/snapshots/1/catalog.json', PROFILE, REPORT];

let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry({ maxCacheBytes: 100, maxBrotliBytes: 10 });
  await registry.publish({ group: 'example.com', kind: 'SetLabels', release: '1.0.0' });
  expect((await registry.send('PUT', '/api/v1/catalogs/team', RECIPE)).status).toBe(201);
  await registry.waitForCatalogs();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await registry.close();
});

/** Has profiles sent in pieces, as those that are too large for memory. */
function streamProfiles(): void {
  const { profileDocuments } = registry.parts;
  const find = profileDocuments.find.bind(profileDocuments);
  vi.spyOn(profileDocuments, 'find').mockImplementation(async (...given) => {
    const { coding, body } = await find(...given);
    const bytes = body as Uint8Array;
    const pieces = async function* () {
      yield bytes.subarray(0, 10);
      yield bytes.subarray(10);
    };
    return { coding, body: { size: bytes.byteLength, pieces: pieces() } };
  });
}

/** Reads the catalog, and goes on a minute after `between`. */
async function readSlowly(address: string, headers: Record<string, string>, between: () => Promise<unknown>) {
  let later = 0;
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + later);
  streamProfiles();
  const response = await registry.request(address, { headers });
  expect(response.status).toBe(200);
  const reader = response.body!.getReader();
  let bytes = (await reader.read()).value!.byteLength;
  await between();
  later = SERVER_LIMITS.recheckReaderMilliseconds;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { bytes, all: Number(response.headers.get('content-length')) };
    bytes += value.byteLength;
  }
}

const hide = () => applyAccess(registry, 'catalogs: [{pattern: team, visibility: private}]\n');
const hideOther = () => applyAccess(registry, 'catalogs: [{pattern: other, visibility: private}]\n');
const remove = async () => {
  const { status } = await registry.send('POST', '/api/v1/catalogs/team/delete', { reason: 'merged' });
  expect(status).toBe(200);
};

describe.each(['identity', 'gzip'])('a slow reader of a large catalog in %s', (coding) => {
  const headers = { 'Accept-Encoding': coding };

  it('gets no more of it after it was hidden, or deleted', async () => {
    for (const address of ADDRESSES) {
      await expect(readSlowly(address, headers, hide)).rejects.toThrow('was changed meanwhile');
      vi.restoreAllMocks();
      await hideOther();
    }
    // While other things are hidden, who reads it is known.
    const known = { ...headers, Authorization: await registry.bearer() };
    await expect(readSlowly(ADDRESSES[0]!, known, remove)).rejects.toThrow('was changed meanwhile');
  });

  it('gets no more of it after a release in it was taken down', async () => {
    const takenDown: number[] = [];
    const takeDown = async () => {
      const name = { group: 'example.com', kind: 'SetLabels', release: '1.0.0' };
      takenDown.push((await registry.takeDown(name)).status);
    };
    await expect(readSlowly(ADDRESSES[0]!, headers, takeDown)).rejects.toThrow('was changed meanwhile');
    expect(takenDown).toEqual([200]);
  });

  it('gets everything if it stays', async () => {
    for (const address of ADDRESSES) {
      const { bytes, all } = await readSlowly(address, headers, hideOther);
      expect(bytes).toBe(all);
      vi.restoreAllMocks();
    }
  });
});
