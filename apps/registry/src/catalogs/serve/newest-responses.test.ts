import { afterEach, beforeEach, expect, it } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { codedResponse } from './newest-responses.js';

const ENTRY = '/catalogs/default/functions/example.com/SetLabels.yaml';
const NAME = { group: 'example.com', kind: 'SetLabels' };

let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry();
  await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
});
afterEach(() => registry.close());

const neverRead = () => Promise.reject(new Error('it is rendered already'));

it('renders an entry once for a snapshot, whichever way it is read', async () => {
  const { newestResponses, newestSnapshots } = registry.parts;
  const served = await registry.request(ENTRY);
  const last = newestResponses.lastEntry(ENTRY)!;
  expect(await served.text()).toBe(last.bytes.toString());
  const snapshot = newestSnapshots.known('default')!;
  expect(last.snapshot).toBe(snapshot);
  // Another read of the row is the same snapshot.
  expect(await newestResponses.entry({ ...snapshot }, NAME, 'Catalog', neverRead)).toBe(last);
  const other = await registry.request(`${ENTRY}?kind=KRMFunctionCatalog`);
  expect(await other.text()).toContain('kind: KRMFunctionCatalog');
  expect(newestResponses.lastEntry(ENTRY)).toBe(last);
  await registry.publish({ kind: 'SetLabels', release: '1.1.0' });
  const next = newestSnapshots.known('default')!;
  await expect(newestResponses.entry(next, NAME, 'Catalog', neverRead)).rejects.toThrow('rendered already');
  expect(await (await registry.request(ENTRY)).text()).toContain('1.1.0');
  expect(newestResponses.lastEntry(ENTRY)?.snapshot).toBe(next);
  expect(await newestResponses.entry(next, { ...NAME, kind: 'None' }, 'Catalog', async () => undefined)).toBe(
    undefined,
  );
});

it('decides a catalog once for a snapshot and a coding', async () => {
  const { newestResponses, newestSnapshots } = registry.parts;
  await registry.request('/catalogs/default/catalog.yaml', { headers: { 'Accept-Encoding': 'gzip' } });
  const last = newestResponses.lastCatalog('/catalogs/default/catalog.yaml')!;
  const snapshot = newestSnapshots.known('default')!;
  expect(newestResponses.catalog({ ...snapshot }, 'yaml', 'Catalog')).toBe(last);
  expect([...last.byAccepted.keys()]).toEqual(['gzip']);
  expect(codedResponse(last, 'gzip')).toBe(last.byAccepted.get('gzip'));
  expect(codedResponse(last, undefined).negotiated.coding).toBe('identity');
  // A snapshot of an older version has no segments, until a build adds them.
  const { documents: _, ...older } = snapshot;
  const uncompressed = newestResponses.catalog(older, 'yaml', 'Catalog');
  expect(codedResponse(uncompressed, 'gzip').negotiated.coding).toBe('identity');
  const compressed = newestResponses.catalog(snapshot, 'yaml', 'Catalog');
  expect(codedResponse(compressed, 'gzip').negotiated.coding).toBe('gzip');
});
