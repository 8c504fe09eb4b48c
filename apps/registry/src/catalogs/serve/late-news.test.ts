import type { CatalogFunction } from '@krmhub/api/model';
import type { SnapshotRecord } from '@krmhub/catalog';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

/** A process hears of snapshots later than they are stored, also of its own. */

let registry: TestRegistry;
/** Snapshots that this process has not heard of yet, if it hears late. */
let unheard: SnapshotRecord[] | undefined;
let hear: (snapshot: SnapshotRecord) => void;

beforeEach(async () => {
  registry = await openTestRegistry();
  const { newestSnapshots } = registry.parts;
  hear = newestSnapshots.put.bind(newestSnapshots);
  unheard = undefined;
  vi.spyOn(newestSnapshots, 'put').mockImplementation((snapshot) => {
    if (unheard === undefined) hear(snapshot);
    else unheard.push(snapshot);
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await registry.close();
});

interface StoredSnapshot {
  entries: { kind: string; versions: { definition: string }[] }[];
}

async function json<Body>(path: string): Promise<Body> {
  const response = await registry.request(path);
  expect([path, response.status]).toEqual([path, 200]);
  return (await response.json()) as Body;
}

async function definitionIn(serial: number, kind: string): Promise<string | undefined> {
  const path = `/catalogs/default/snapshots/${serial}/snapshot.json`;
  const { entries } = await json<StoredSnapshot>(path);
  return entries.find((one) => one.kind === kind)?.versions[0]?.definition;
}

const text = async (path: string) => (await registry.request(path)).text();

/** The image of a function, which has its release as its tag. */
function imageOf(kind: string, catalog: string): string {
  return new RegExp(`image: \\S+/${kind.toLowerCase()}:v\\S+`).exec(catalog)![0];
}

const KINDS = ['A', 'B', 'C'];

it('says of a snapshot only what it contains', async () => {
  for (const kind of KINDS) await registry.publish({ kind, release: '1.0.0' });
  await registry.waitForCatalogs();
  for (let step = 1; step <= 40; step++) {
    if (Math.random() < 0.5) unheard ??= [];
    else {
      unheard?.forEach(hear);
      unheard = undefined;
    }
    // Fills the cache with what was heard.
    const kind = KINDS[Math.floor(Math.random() * KINDS.length)]!;
    await text(`/catalogs/default/functions/example.com/${kind}.yaml`);
    await registry.publish({ kind, release: `1.${step}.0` });
    await registry.waitForCatalogs();
    for (const one of KINDS) {
      const path = `/api/v1/catalogs/default/functions/example.com/${one}`;
      const { serial, versions } = await json<CatalogFunction>(path);
      expect([one, serial, versions[0]!.definition]).toEqual([one, serial, await definitionIn(serial, one)]);
      const file = await registry.request(`/catalogs/default/functions/example.com/${one}.yaml`);
      const [memento = ''] = /\/catalogs\/[^>]+/.exec(file.headers.get('link')!)!;
      expect(imageOf(one, await file.text())).toBe(imageOf(one, await text(memento)));
    }
  }
});

it('has a function that is in a snapshot of which it has not heard', async () => {
  await registry.publish({ kind: 'A', release: '1.0.0' });
  await registry.waitForCatalogs();
  unheard = [];
  await registry.publish({ kind: 'B', release: '1.0.0' });
  await registry.waitForCatalogs();
  vi.restoreAllMocks();
  const { serial } = await json<CatalogFunction>('/api/v1/catalogs/default/functions/example.com/B');
  expect(serial).toBe(3);
});
