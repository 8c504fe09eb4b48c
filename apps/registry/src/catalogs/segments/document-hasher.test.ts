import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { CatalogSyntax, SnapshotRecord } from '@krmhub/catalog';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startWorker } from '../../isolation/start-worker.js';
import type { RegistryStore } from '../../store/registry-store.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { DocumentHasher } from './document-hasher.js';
import { HasherThread } from './hasher-thread.js';

const LARGE = 3;
const HEADER = { name: 'default' };
const [SECOND, THIRD] = ['Second', 'Third'].map((kind) => ({ group: 'example.com', kind })) as [
  { group: string; kind: string },
  { group: string; kind: string },
];

let registry: TestRegistry;
let store: RegistryStore;
let snapshot: SnapshotRecord;
let thread: HasherThread;
let workers: Worker[];
let hasher: DocumentHasher;
beforeEach(async () => {
  registry = await openTestRegistry();
  for (const kind of ['First', 'Second', 'Third']) await registry.publish({ kind, release: '1.0.0' });
  store = registry.parts.store;
  snapshot = (await store.snapshots('default', 1))[0]!;
  useThread(() => startWorker('hash-thread'));
});
afterEach(async () => {
  await thread.close();
  await registry.close();
});

function useThread(start: () => Worker): void {
  workers = [];
  thread = new HasherThread({
    log: pino({ level: 'silent' }),
    start: () => {
      const worker = start();
      workers.push(worker);
      return worker;
    },
  });
  hasher = new DocumentHasher(store, { functions: LARGE, thread });
}

/** Hashes the newest snapshot again: stored entries, one with its texts, and again stored ones. */
async function hash(functions: number, between: () => Promise<unknown> = async () => undefined) {
  const hashes = await hasher.begin({ header: HEADER }, { serial: snapshot.serial, functions });
  await hashes.addStored([{ to: SECOND }]);
  await between();
  for await (const entry of store.entryTexts('default', snapshot.serial, SECOND))
    if (entry.kind === 'Second') await hashes.add(entry);
  await hashes.addStored([{ from: THIRD }]);
  return hashes.end();
}
const documents = () => ({
  functions: snapshot.functions,
  digests: snapshot.digests,
  documents: snapshot.documents,
});

it('hashes a large catalog in another thread', async () => {
  expect(await hash(LARGE)).toEqual(documents());
  expect(workers).toHaveLength(1);
});

it('starts no thread for a small catalog', async () => {
  expect(await hash(LARGE - 1)).toEqual(documents());
  expect(workers).toEqual([]);
});

it('rejects a catalog whose thread has ended, and hashes the next one', async () => {
  await expect(hash(LARGE, () => workers[0]!.terminate())).rejects.toMatchObject({ code: 'unavailable' });
  expect(await hash(LARGE)).toEqual(documents());
});

it('rejects a catalog if the thread was started again without what it had hashed', async () => {
  const restarted = async () => {
    await workers[0]!.terminate();
    await expect.poll(() => workers.length).toBe(2);
    await once(workers[1]!, 'online');
  };
  // What it had not hashed yet when it ended is rejected first.
  await expect(hash(LARGE, restarted)).rejects.toThrow(/is not being hashed|starting or stopping/);
  expect(await hash(LARGE)).toEqual(documents());
});

it('hashes here if the thread cannot start', async () => {
  useThread(() => new Worker('process.exit(1)', { eval: true }));
  expect(await hash(LARGE)).toEqual(documents());
  expect(workers.length).toBeGreaterThan(0);
});

it.each(['in another thread', 'here'])(
  'continues from a checkpoint before the first change, %s',
  async (where) => {
    const functions = where === 'here' ? LARGE - 1 : LARGE;
    // A checkpoint follows 1,024 entries; these texts are those of a thousand entries each.
    const text = (name: string, syntax: CatalogSyntax) => Buffer.from(`${name} in ${syntax}`.repeat(10_000));
    async function* entryRuns(
      _: string,
      __: number,
      { ranges }: Parameters<typeof store.entryRuns>[2],
    ): ReturnType<typeof store.entryRuns> {
      for (const { from } of ranges) {
        const name = from?.kind ?? 'First';
        yield { texts: { yaml: text(name, 'yaml'), json: text(name, 'json') }, functions: 1_000 };
      }
    }
    const fake = new DocumentHasher({ entryRuns }, { functions: LARGE, thread });
    const kinds = ['Fa', 'Fb', 'Fc', 'Fd', 'Fe'].map((kind) => ({ group: 'example.com', kind }));
    const ranges = [{ to: kinds[0]! }, ...kinds.map((from, at) => ({ from, to: kinds[at + 1]! }))];
    const begin = (more: object) => fake.begin({ header: HEADER, ...more }, { serial: 1, functions });
    const whole = await begin({});
    await whole.addStored(ranges);
    const hashed = await whole.end();
    const previous = hashed.digests['catalog.yaml'];
    const again = await begin({ previous, firstChange: kinds[4] });
    expect(again.from).toEqual(kinds[3]);
    await again.addStored(ranges.slice(4));
    expect(await again.end()).toEqual(hashed);
    expect(
      (await begin({ previous: snapshot.digests['catalog.yaml'], firstChange: kinds[4] })).from,
    ).toBeUndefined();
    expect((await begin({ previous })).from).toBeUndefined();
  },
);
