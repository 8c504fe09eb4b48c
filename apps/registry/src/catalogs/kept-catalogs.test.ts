import { gunzipSync } from 'node:zlib';
import { KrmhubError, sha256 } from '@krmhub/schema';
import { afterEach, expect, it } from 'vitest';
import { createLog } from '../log.js';
import type { RegistryStore } from '../store/registry-store.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';
import { KeptCatalogs } from './kept-catalogs.js';
import { CatalogDocuments } from './segments/catalog-documents.js';
import { NewestSnapshots } from './serve/newest-snapshots.js';

const log = createLog('silent', { write: () => undefined });
let registry: TestRegistry;
afterEach(() => registry.close());

/** A store that stops to answer. */
function breakable(store: RegistryStore): { store: RegistryStore; break(): void } {
  let isAway = false;
  const wrapped = new Proxy(store, {
    get: (target, name, receiver) => {
      const value = Reflect.get(target, name, receiver);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        if (isAway) throw new KrmhubError('unavailable', 'the database is away');
        return value.apply(target, args);
      };
    },
  });
  return {
    store: wrapped,
    break: () => {
      isAway = true;
    },
  };
}

async function openKept(maxBytes: number) {
  registry = await openTestRegistry();
  await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
  await registry.waitForCatalogs();
  const broken = breakable(registry.parts.store);
  const newestSnapshots = new NewestSnapshots(broken.store);
  const documents = new CatalogDocuments({ store: broken.store });
  const kept = new KeptCatalogs({ newestSnapshots, documents, maxBytes, log });
  return { kept, newestSnapshots, documents, break: broken.break };
}

it('has the newest snapshot of a catalog that nobody asked for, in every coding, without the store', async () => {
  const opened = await openKept(1_000_000);
  await opened.kept.read();
  expect(opened.kept.missing()).toEqual([]);
  opened.break();
  const snapshot = (await opened.newestSnapshots.get('default'))!;
  const find = async (coding: 'identity' | 'gzip' | 'br') =>
    (await opened.documents.find(snapshot, 'catalog.yaml', coding)).body as Uint8Array;
  expect(sha256(await find('identity'))).toBe(snapshot.digests['catalog.yaml']);
  expect(sha256(gunzipSync(await find('gzip')))).toBe(snapshot.digests['catalog.yaml']);
  expect((await find('br')).byteLength).toBeGreaterThan(0);
});

it('reads no more bytes than it may, and knows the snapshot of the others', async () => {
  const opened = await openKept(10);
  await opened.kept.read();
  opened.break();
  const snapshot = (await opened.newestSnapshots.get('default'))!;
  await expect(opened.documents.find(snapshot, 'catalog.yaml', 'gzip')).rejects.toThrow('away');
});

it('names catalogs without a snapshot from the start until they have one', async () => {
  registry = await openTestRegistry();
  await registry.waitForCatalogs();
  const { store } = registry.parts;
  const [existing] = await store.catalogs();
  const { newest, ...catalog } = existing!;
  const listed = [existing!, { ...catalog, name: 'new' }, { ...catalog, name: 'other' }];
  const newestSnapshots = new NewestSnapshots({ ...store, catalogs: async () => listed });
  const documents = new CatalogDocuments({ store });
  const kept = new KeptCatalogs({ newestSnapshots, documents, maxBytes: 1_000_000, log });
  await kept.start();
  expect(kept.missing()).toEqual(['new', 'other']);
  newestSnapshots.put({ ...newest!, catalog: 'new' });
  expect(kept.missing()).toEqual(['other']);
  await kept.stop();
});

it('does not remember what was read before a change', async () => {
  registry = await openTestRegistry();
  await registry.waitForCatalogs();
  const { store } = registry.parts;
  const newestSnapshots: NewestSnapshots = new NewestSnapshots({
    ...store,
    catalogs: async () => {
      const read = await store.catalogs();
      newestSnapshots.clear();
      return read;
    },
  });
  expect(await newestSnapshots.getAll()).toMatchObject([{ name: 'default', newest: { serial: 1 } }]);
  expect(newestSnapshots.known('default')).toBeUndefined();
});
