import fs, { existsSync } from 'node:fs';
import { appendFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sha256 } from '@krmhub/schema';
import { describe, expect, it, vi } from 'vitest';
import { blobsIn, openBlobFolder, translateFileError } from '../../apps/registry/src/store/blobs/folder.js';
import { blobStoreContract } from './blob-store.js';

/** Runs work while early syncs fail. Linux reports a failed write to the disk to one sync only. */
async function withFailingSyncs<Result>(work: () => Promise<Result>): Promise<Result> {
  const failing = vi.spyOn(fs, 'fdatasync').mockImplementation((_, done) => {
    setImmediate(() => done(Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'fdatasync' })));
  });
  syncBuiltinESMExports();
  try {
    const result = await work();
    expect(failing).toHaveBeenCalled();
    return result;
  } finally {
    failing.mockRestore();
    syncBuiltinESMExports();
  }
}

async function inFolder() {
  const parent = await mkdtemp(path.join(tmpdir(), 'krmhub-blobs-'));
  const folder = path.join(parent, 'data', 'blobs');
  await mkdir(path.dirname(folder));
  return { folder, dispose: () => rm(parent, { recursive: true, force: true }) };
}

blobStoreContract('a folder', async () => {
  const { folder, dispose } = await inFolder();
  return {
    store: await openBlobFolder(folder),
    reopen: () => openBlobFolder(folder),
    damage: (digest) => appendFile(path.join(folder, 'sha256', digest.slice(7, 9), digest.slice(7)), '!'),
    remove: () => rm(folder, { recursive: true }),
    dispose,
  };
});

describe('a large blob that is synced while it is written', () => {
  const piece = new Uint8Array(1_000_000).fill(7);
  const whole = Buffer.concat(Array.from({ length: 40 }, () => piece));
  const write = async (folder: string) => {
    const writer = await (await openBlobFolder(folder)).write();
    for (let at = 0; at < whole.byteLength; at += piece.byteLength) await writer.write(piece);
    return writer;
  };

  it('is stored', async () => {
    const { folder, dispose } = await inFolder();
    try {
      const digest = await (await write(folder)).commit();
      expect(digest).toBe(sha256(whole));
      expect(whole.equals((await blobsIn(folder).get(digest))!)).toBe(true);
    } finally {
      await dispose();
    }
  });

  it('is not stored if one of those syncs fails, which the last one would not notice', async () => {
    const { folder, dispose } = await inFolder();
    try {
      const writer = await withFailingSyncs(() => write(folder));
      await expect(writer.commit()).rejects.toMatchObject({ code: 'unavailable' });
      for await (const digest of blobsIn(folder).list()) throw new Error(`stored ${digest}`);
      expect(await readdir(path.join(folder, 'unfinished'))).toEqual([]);
    } finally {
      await dispose();
    }
  });
});

it('removes unfinished files of an earlier process, and leaves none itself', async () => {
  const { folder, dispose } = await inFolder();
  try {
    await openBlobFolder(folder);
    await writeFile(path.join(folder, 'unfinished', 'half'), 'ha');
    const store = await openBlobFolder(folder);
    await Promise.all(Array.from({ length: 20 }, (_, at) => store.put(Buffer.from(`${at % 7}`))));
    await store.check();
    expect(await readdir(path.join(folder, 'unfinished'))).toEqual([]);
  } finally {
    await dispose();
  }
});

it('creates the folders of its blobs when they are stored', async () => {
  const { folder, dispose } = await inFolder();
  try {
    const store = await openBlobFolder(folder);
    const names = () => readdir(path.join(folder, 'sha256'));
    expect(await names()).toEqual([]);
    const digest = await store.put(Buffer.from('one'));
    expect(await names()).toEqual([digest.slice(7, 9)]);
    // Another thread, and a later process, which find it there.
    for (const other of [blobsIn(folder), await openBlobFolder(folder)]) {
      expect(await other.put(Buffer.from('one'))).toBe(digest);
      const writer = await other.write();
      await writer.write(Buffer.from('two'));
      expect(await other.get(await writer.commit())).toEqual(Buffer.from('two'));
    }
    await store.delete(`sha256:${'f'.repeat(64)}`);
    expect(await names()).toHaveLength(2);
  } finally {
    await dispose();
  }
});

it('stores nothing where the folder of all blobs is gone', async () => {
  const { folder, dispose } = await inFolder();
  try {
    const store = await openBlobFolder(folder);
    await rm(path.join(folder, 'sha256'), { recursive: true });
    await expect(store.put(Buffer.from('one'))).rejects.toMatchObject({ code: 'unavailable' });
    expect(await readdir(folder)).toEqual(['unfinished']);
    expect(await readdir(path.join(folder, 'unfinished'))).toEqual([]);
    await mkdir(path.join(folder, 'sha256'));
    await store.put(Buffer.from('one'));
  } finally {
    await dispose();
  }
});

it.skipIf(!existsSync('/dev/full'))('reports a full disk (needs /dev/full)', async () => {
  const error = await writeFile('/dev/full', 'x').catch((caught: unknown) => caught);
  expect(translateFileError('/data', error)).toMatchObject({ code: 'storage-full' });
  const other = new RangeError('not of the operating system');
  expect(translateFileError('/data', other)).toBe(other);
});
