import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { readUpstreamCatalog } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { expect, it } from 'vitest';
import { openBlobFolder } from '../../apps/registry/src/store/blobs/folder.js';
import { openSqliteStore } from '../../apps/registry/src/store/sqlite/store.js';
import { spawn } from '../processes.js';

const here = path.dirname(fileURLToPath(import.meta.url));

/**
 * Starts a process that publishes, kills it after some releases, and returns the releases that it
 * acknowledged.
 */
async function publishUntilKilled(
  folder: string,
  releases: number,
): Promise<[kind: string, digest: Digest][]> {
  const child = spawn(
    process.execPath,
    [path.join(here, 'run-source.mjs'), path.join(here, 'writer.ts'), folder],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    if (text.split('\n').length > releases) child.kill('SIGKILL');
  });
  const [, signal] = await once(child, 'close');
  expect(signal).toBe('SIGKILL');
  const lines = text.split('\n').slice(0, -1);
  return lines.map((line) => line.split(' ') as [string, Digest]);
}

it('loses no acknowledged release when the process is killed, and shows no partial one', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'krmhub-killed-'));
  try {
    const acknowledged: [string, Digest][] = [];
    for (const releases of [1, 17, 40]) {
      acknowledged.push(...(await publishUntilKilled(folder, releases)));
      const store = await openSqliteStore(path.join(folder, 'registry.db'));
      const blobs = await openBlobFolder(path.join(folder, 'blobs'));
      for (const [kind, digest] of acknowledged) {
        expect((await store.release('example.com', kind, '1.0.0'))?.digest, kind).toBe(digest);
        expect(await blobs.get(digest), kind).toBeDefined();
      }
      const { total } = await store.search({ limit: 1 });
      expect(total).toBe(await store.lastEvent());
      expect(total).toBeGreaterThanOrEqual(acknowledged.length);
      for await (const { kind, releases: stored } of store.allFunctions()) {
        expect(stored, kind).toHaveLength(1);
        expect(await blobs.get(stored[0]!.digest), kind).toBeDefined();
      }
      await store.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

/** Runs a process that syncs a source until it kills itself at a point, or to the end. Returns the signal. */
async function syncUntil(folder: string, point: string): Promise<string | null> {
  const writer = path.join(here, 'sync-writer.ts');
  const child = spawn(process.execPath, [path.join(here, 'run-source.mjs'), writer, point, folder], {
    stdio: 'inherit',
  });
  const [code, signal] = await once(child, 'close');
  expect(signal === null ? code : 0).toBe(0);
  return signal;
}

it('stores a sync whole or not at all when the process is killed', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'krmhub-killed-'));
  /** Checks that the source has the entries of its copy, and returns the round of the sync that found it. */
  const stored = async () => {
    const store = await openSqliteStore(path.join(folder, 'registry.db'));
    const copies = await openBlobFolder(path.join(folder, 'copies'));
    const { copy } = (await store.source('ours', 'theirs'))!;
    const known = await store.sourceEntries('ours', 'theirs');
    const events = await store.lastEvent();
    if (copy === undefined) {
      expect([known, events]).toEqual([[], 1]);
      await store.close();
      return undefined;
    }
    const bytes = await copies.get(copy.digest);
    const read = readUpstreamCatalog(bytes!, 'theirs');
    if ('problem' in read) throw new Error(read.problem);
    const digests = read.entries.map(({ rendered }) => rendered.digest);
    expect(known.map(({ definition }) => definition).sort()).toEqual([...digests].sort());
    expect((await store.entries(digests)).size).toBe(digests.length);
    const round = Number(/of round (\d+)/.exec(Buffer.from(bytes!).toString())![1]);
    expect(events).toBe(round + 1);
    await store.close();
    return round;
  };
  try {
    const killed = async (point: string) => {
      expect(await syncUntil(folder, point), point).toBe('SIGKILL');
      return stored();
    };
    expect(await killed('begun')).toBeUndefined();
    // The first entries are stored while the catalog is read.
    expect(await killed('entries')).toBeUndefined();
    expect(await killed('result')).toBe(1);
    expect(await killed('begun')).toBe(1);
    expect(await killed('entries')).toBe(1);
    expect(await killed('result')).toBe(2);
    expect(await syncUntil(folder, 'end')).toBeNull();
    expect(await stored()).toBe(3);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
