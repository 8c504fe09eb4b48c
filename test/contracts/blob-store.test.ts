import { existsSync } from 'node:fs';
import { appendFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { openBlobFolder, translateFileError } from '../../apps/registry/src/store/blobs/folder.js';
import { blobStoreContract } from './blob-store.js';

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

it.skipIf(!existsSync('/dev/full'))('reports a full disk (needs /dev/full)', async () => {
  const error = await writeFile('/dev/full', 'x').catch((caught: unknown) => caught);
  expect(translateFileError('/data', error)).toMatchObject({ code: 'storage-full' });
  const other = new RangeError('not of the operating system');
  expect(translateFileError('/data', other)).toBe(other);
});
