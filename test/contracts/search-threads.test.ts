import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type AccessDocument, AccessRules, ANONYMOUS, NO_ACCESS, searchAccess } from '@krmhub/catalog';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type SearchThreads, searchThreads } from '../../apps/registry/src/store/search/search-threads.js';
import { openSqliteStore } from '../../apps/registry/src/store/sqlite/store.js';
import { changeOf } from './sample-records.js';
import { cutUpstream } from './sample-upstream.js';

let folder: string;
let threads: SearchThreads | undefined;
const logged: string[] = [];
const log = pino({ level: 'debug' }, { write: (line: string) => logged.push(line) });

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-threads-'));
});
afterEach(async () => {
  await threads?.close();
  await rm(folder, { recursive: true, force: true });
});

it('finds what another thread has just committed', async () => {
  const file = path.join(folder, 'registry.db');
  const store = await openSqliteStore(file);
  threads = searchThreads(file, log);
  for (const kind of ['SetLabels', 'RenderChart', 'Kubeval']) {
    await store.commitFunction(changeOf({ kind, tags: [kind.toLowerCase()] }));
    expect(await threads.search({ text: kind, limit: 1 })).toEqual(
      await store.search({ text: kind, limit: 1 }),
    );
  }
  expect(await threads.nearFunctions({ group: 'other.example.org', kind: 'SetLabel' })).toMatchObject([
    { kind: 'SetLabels' },
  ]);
  await expect(threads.search({ limit: 1, cursor: 'x' })).rejects.toMatchObject({
    code: 'invalid-request',
    hint: expect.stringContaining('cursor'),
  });
  await threads.close();
  await expect(threads.search({ limit: 1 })).rejects.toMatchObject({ code: 'unavailable' });
  await store.close();
});

it('finds only what the actor may read', async () => {
  const file = path.join(folder, 'registry.db');
  const store = await openSqliteStore(file);
  threads = searchThreads(file, log);
  await store.commitFunction(changeOf({ kind: 'SetLabels', group: 'private.example.com' }));
  await store.commitFunction(changeOf({ kind: 'SetLabel', group: 'public.example.com' }));
  const document: AccessDocument = {
    ...NO_ACCESS,
    groups: [{ pattern: 'private.example.com', visibility: 'private', functions: [] }],
  };
  const access = searchAccess({ rules: new AccessRules(document, [], '1'), actor: ANONYMOUS });
  const seen = [{ group: 'public.example.com', kind: 'SetLabel' }];
  expect((await threads.search({ limit: 10, access })).items).toMatchObject(seen);
  const name = { group: 'private.example.com', kind: 'SetLable' };
  expect(await threads.nearFunctions({ ...name, access })).toEqual(seen);
  expect(await threads.nearFunctions(name)).toHaveLength(2);
  await store.close();
});

it('reads many functions at its start as it would have read them one by one', async () => {
  const file = path.join(folder, 'registry.db');
  const store = await openSqliteStore(file);
  await store.search({ limit: 1 });
  // More than one read of everything has pages.
  await Promise.all(
    Array.from({ length: 1_200 }, (_, at) =>
      store.commitFunction(
        changeOf({
          kind: `Made${(at * 7_919) % 1_200}`,
          group: `g${at % 3}.example.com`,
          tags: [`tag${at % 5}`],
          publishedAt: new Date(Date.UTC(2030, 0, 1) + ((at * 31) % 1_200) * 60_000).toISOString(),
        }),
      ),
    ),
  );
  threads = searchThreads(file, log);
  for (const query of [
    { limit: 100 },
    { limit: 100, sort: 'newest' as const },
    { limit: 100, sort: 'newest' as const, tag: ['tag3'] },
    { limit: 10, text: 'made7', group: ['g1.example.com'] },
  ]) {
    const found = await threads!.search(query);
    expect(found.total).toBeGreaterThan(0);
    expect(found).toEqual(await store.search(query));
  }
  await store.close();
});

it('finds functions of upstream catalogs, and their release here after a publish', async () => {
  const file = path.join(folder, 'registry.db');
  const store = await openSqliteStore(file);
  threads = searchThreads(file, log);
  const many = Array.from({ length: 200 }, (_, at) => ({ kind: `Many${at}`, tags: ['many'] }));
  await cutUpstream(store, 'platform', many);
  expect((await threads.search({ tag: ['many'], limit: 1 })).total).toBe(0);
  await store.synchronizeSearch();
  const both = async () => {
    const query = { tag: ['many'], text: 'many', catalog: ['platform'], limit: 100 };
    const page = await threads!.search(query);
    expect(page).toEqual(await store.search(query));
    return page.total;
  };
  expect(await both()).toBe(200);
  await cutUpstream(store, 'platform', [{ gone: 'Many3' }]);
  expect(await both()).toBe(199);
  await store.commitFunction(changeOf({ group: 'vendor.example.org', kind: 'MANY4' }));
  expect(await both()).toBe(198);
  await store.close();
});

it('reports that it is unavailable when a thread fails, and restarts it', async () => {
  const file = path.join(folder, 'registry.db');
  threads = searchThreads(file, log);
  await expect(threads.search({ limit: 1 })).rejects.toMatchObject({ code: 'unavailable' });
  expect(logged.join()).toContain('a worker thread failed');
  const store = await openSqliteStore(file);
  await store.commitFunction(changeOf({ kind: 'SetLabels' }));
  await vi.waitFor(async () => expect((await threads!.search({ limit: 1 })).total).toBe(1), {
    timeout: 300_000,
    interval: 100,
  });
  await store.close();
});
