import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { sha256 } from '@krmhub/schema';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBlobStores } from '../../apps/registry/src/store/blobs/blob-stores.js';
import { S3Client } from '../../apps/registry/src/store/blobs/s3/client.js';
import { createUpload, listUploads } from '../../apps/registry/src/store/blobs/s3/objects.js';
import { prepareDataFolder } from '../../apps/registry/src/store/data-folder.js';
import type { SettingStore } from '../../apps/registry/src/store/setting-store.js';
import { openSqliteStore } from '../../apps/registry/src/store/sqlite/store.js';
import { temporaryFolder } from '../running.js';
import { hasS3Server, S3_CREDENTIALS, type S3Server, startS3Server } from './s3-server.js';

/** Processes with data folders of their own, one database, and one prefix of a bucket. */
describe.skipIf(!hasS3Server)('a prefix that several processes use (needs versitygw)', () => {
  const { folder, remove } = temporaryFolder();
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3Server(folder);
  });
  afterAll(async () => {
    await server?.stop();
    remove();
  });
  const open = async (name: string, shared: SettingStore, prefix?: string) => {
    const paths = await prepareDataFolder(path.join(folder, name));
    const settings = { shared, s3Credentials: S3_CREDENTIALS };
    const place = prefix === undefined ? {} : { blobPlace: server.place(prefix) };
    return (await openBlobStores(paths, { ...settings, ...place })).openPart;
  };

  it('belongs to one registry, whatever the data folder, also after starts at the same time', async () => {
    const [database, other] = [await openSqliteStore(':memory:'), await openSqliteStore(':memory:')];
    const stores = await Promise.all(['a', 'b', 'c'].map((name) => open(name, database, 'shared')));
    const digest = await (await stores[0]!('artifacts')).put(Buffer.from('bytes'));
    for (const store of [...stores, await open('d', database, 'shared')]) {
      const bytes = await (await store('artifacts')).get(digest);
      expect(bytes && sha256(bytes)).toBe(digest);
    }
    await expect(open('e', database, 'elsewhere')).rejects.toMatchObject({
      code: 'usage',
      message: 'the blobs of this registry are in s3://registry/shared, not in s3://registry/elsewhere',
    });
    await expect(open('e', database)).rejects.toMatchObject({
      code: 'usage',
      message: 'the blobs of this registry are in s3://registry/shared',
    });
    await expect(open('f', other, 'shared')).rejects.toMatchObject({
      code: 'usage',
      message: 's3://registry/shared has the blobs of another registry',
    });
    // The claim failed, so that the registry can use another prefix.
    await open('f', other, 'second');
    await expect(open('a', other, 'second')).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(/blob-store.json names another registry than the database/),
    });
  });

  it('is one: of first starts with different ones at the same time, one is refused', async () => {
    for (let times = 0; times < 5; times += 1) {
      const database = await openSqliteStore(':memory:');
      const names = ['left', 'right'].map((name) => `${name}-${times}`);
      const starts = await Promise.allSettled(names.map((name) => open(name, database, name)));
      const refused = starts.flatMap((start) => (start.status === 'rejected' ? [start.reason] : []));
      expect(refused).toEqual([expect.objectContaining({ code: 'usage' })]);
      const { prefix, isNew } = JSON.parse((await database.setting('blob-store'))!) as Record<
        string,
        unknown
      >;
      const used = names.find((_, at) => starts[at]?.status === 'fulfilled');
      expect([String(prefix).replaceAll('/', ''), isNew]).toEqual([used, undefined]);
      await database.close();
    }
  });

  it('stays with a registry of the version before, which has the record only in its data folder', async () => {
    const paths = await prepareDataFolder(path.join(folder, 'older'));
    const settings = { s3Credentials: S3_CREDENTIALS, blobPlace: server.place('older') };
    await openBlobStores(paths, settings);
    const database = await openSqliteStore(':memory:');
    await open('older', database, 'older');
    await open('second', database, 'older');
    const records = await Promise.all(
      ['older', 'second'].map((name) => readFile(path.join(folder, name, 'blob-store.json'), 'utf8')),
    );
    expect(records[0]).toBe(records[1]);
    await rm(paths.blobStore);
    await open('older', database, 'older');
  });

  it('has the pieces of uploads, of any process', async () => {
    const database = await openSqliteStore(':memory:');
    const piecesOf = async (name: string) => {
      const paths = await prepareDataFolder(path.join(folder, name));
      const blobPlace = server.place('pieces');
      const settings = { shared: database, s3Credentials: S3_CREDENTIALS, blobPlace };
      return (await openBlobStores(paths, settings)).pieces!('uploads');
    };
    const [one, other] = [await piecesOf('one'), await piecesOf('other')];
    await one.put('upload/a', Buffer.from('bytes'));
    const read: Uint8Array[] = [];
    for await (const bytes of other.read('upload/a')) read.push(bytes);
    expect(Buffer.concat(read).toString()).toBe('bytes');
    const listed: string[] = [];
    for await (const { name, written } of other.list()) listed.push(`${name} ${written.getTime() > 0}`);
    expect(listed).toEqual(['upload/a true']);
    for (let times = 0; times < 2; times++) await other.delete('upload/a');
    const missing = async () => {
      for await (const _ of one.read('upload/a'));
    };
    await expect(missing()).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('keeps what another process is sending', async () => {
    const database = await openSqliteStore(':memory:');
    await open('sends', database, 'sending');
    const client = new S3Client({ place: server.place('sending'), credentials: async () => S3_CREDENTIALS });
    await createUpload(client, 'artifacts/sha256/00/0');
    await open('starts', database, 'sending');
    expect(await listUploads(client, '')).toHaveLength(1);
  });
});
