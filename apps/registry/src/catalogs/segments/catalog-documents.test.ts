import { sha256 } from '@krmhub/schema';
import { afterEach, expect, it } from 'vitest';
import { Database } from '../../store/sqlite/driver.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { CatalogDocuments } from './catalog-documents.js';

let registry: TestRegistry;
afterEach(() => registry.close());

/** Returns the newest snapshot of a catalog with so many functions. */
async function open(functions: number) {
  registry = await openTestRegistry();
  for (let at = 0; at < functions; at += 1) await registry.publish({ kind: `Fn${at}`, release: '1.0.0' });
  await registry.waitForCatalogs();
  return (await registry.parts.newestSnapshots.get('default'))!;
}

/** Reads the documents of a snapshot, each by its own cache. Returns how often entries were read. */
async function readAll(snapshot: Awaited<ReturnType<typeof open>>): Promise<number> {
  let pages = 0;
  const { store } = registry.parts;
  for (const rendition of ['catalog.yaml', 'catalog.json', 'krmfunctioncatalog.json'] as const) {
    const documents = new CatalogDocuments({
      store: {
        ...store,
        entryPages: (...given) => {
          pages += 1;
          return store.entryPages(...given);
        },
      },
    });
    const found = await documents.find(snapshot, rendition, 'identity');
    expect(sha256(found.body as Uint8Array)).toBe(snapshot.digests[rendition]);
    expect(found.coding).toBe('identity');
  }
  return pages;
}

it.each([0, 1, 12])('decompresses a document with %i functions from its segments', async (functions) => {
  const snapshot = await open(functions);
  expect(await readAll(snapshot)).toBe(0);
});

it.each([
  ['another text', `UPDATE segment SET yaml = json, json = yaml`],
  ['bytes that are not compressed', `UPDATE segment SET yaml = x'ffff', json = x'ffff'`],
  [
    'their text twice',
    'UPDATE segment SET yaml = CAST(yaml || yaml AS BLOB), json = CAST(json || json AS BLOB)',
  ],
])('reads the entries if the segments have %s', async (_, damage) => {
  const snapshot = await open(3);
  const database = new Database(registry.parts.paths.database);
  database.exec(damage);
  database.close();
  expect(await readAll(snapshot)).toBe(3);
});

it('reads the entries of a snapshot that is not the newest', async () => {
  const snapshot = await open(2);
  await registry.publish({ kind: 'Later', release: '1.0.0' });
  await registry.waitForCatalogs();
  expect(await readAll(snapshot)).toBe(3);
});
