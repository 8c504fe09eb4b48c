import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BlobStore } from '@krmhub/catalog';
import { KrmhubError, sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openBlobFolder } from './blobs/folder.js';
import { addFile, fileRow, releaseFileReader } from './records/functions/release-files.js';
import { intactFirst, rowsFirst } from './release-files.js';
import { together } from './sql/statement.js';
import { type Connection, openConnection } from './sqlite/connection.js';

const BYTES = Buffer.from('# Functions\n');
const DIGEST = sha256(BYTES);

let folder: string;
let connection: Connection;
let blobs: BlobStore;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'release-files-'));
  connection = openConnection(path.join(folder, 'registry.db'));
  blobs = await openBlobFolder(path.join(folder, 'blobs'));
  await connection.sql.write(() => together([addFile(fileRow(BYTES))]));
});
afterEach(async () => {
  connection.close();
  await rm(folder, { recursive: true });
});

const damageRow = () => connection.client.exec(`UPDATE release_file SET bytes = x'0300'`);
const rows = () => ({ fileBytes: releaseFileReader(connection.sql) });

/** Reads the file in each way that a blob is read. */
async function reads(from: BlobStore): Promise<(string | undefined)[]> {
  const readText = async (pieces: AsyncIterable<Uint8Array>) => {
    const found: Uint8Array[] = [];
    for await (const piece of pieces) found.push(piece);
    return Buffer.concat(found).toString();
  };
  const stream = await from.read(DIGEST);
  const opened = await from.open(DIGEST);
  return [
    (await from.get(DIGEST))?.toString(),
    stream && (await readText(stream.pieces)),
    opened && (await readText(opened.read(2, opened.size))),
  ];
}
const WHOLE = ['# Functions\n', '# Functions\n', 'Functions\n'];

describe('a file of a release', () => {
  it('is read from its row', async () => {
    expect(await reads(intactFirst(rows(), blobs))).toEqual(WHOLE);
  });

  it('is read from its blob if there is no row', async () => {
    connection.client.exec('DELETE FROM release_file');
    const files = intactFirst(rows(), blobs);
    expect(await reads(files)).toEqual([undefined, undefined, undefined]);
    await blobs.put(BYTES);
    expect(await reads(files)).toEqual(WHOLE);
  });

  it('is read from its blob if the row is damaged, and a check finds the row', async () => {
    await blobs.put(BYTES);
    damageRow();
    expect(await reads(intactFirst(rows(), blobs))).toEqual(WHOLE);
    await expect(rowsFirst(rows(), blobs).get(DIGEST)).rejects.toMatchObject({ code: 'internal' });
  });

  it.each<[string, () => Promise<unknown>]>([
    ['there is no blob', async () => undefined],
    [
      'the blob is damaged too',
      async () => {
        await blobs.put(BYTES);
        const hex = DIGEST.slice('sha256:'.length);
        await writeFile(path.join(folder, 'blobs', 'sha256', hex.slice(0, 2), hex), '# Dysfunctions\n');
      },
    ],
  ])('cannot be read if the row is damaged and %s', async (_, prepare) => {
    await prepare();
    damageRow();
    const files = intactFirst(rows(), blobs);
    for (const read of [files.get, files.read, files.open])
      await expect(read(DIGEST)).rejects.toMatchObject({
        code: 'internal',
        message: expect.stringContaining(DIGEST),
      });
  });

  it('is tried again later if the row is damaged and the store of blobs does not respond', async () => {
    damageRow();
    const get = () => Promise.reject(new KrmhubError('unavailable', 'the store does not respond'));
    const broken: BlobStore = { ...blobs, get };
    await expect(intactFirst(rows(), broken).get(DIGEST)).rejects.toMatchObject({
      code: 'unavailable',
    });
  });

  it('is not looked for among the blobs if the database fails otherwise', async () => {
    await blobs.put(BYTES);
    const fileBytes = () => Promise.reject(new KrmhubError('unavailable', 'the database is locked'));
    await expect(intactFirst({ fileBytes }, blobs).get(DIGEST)).rejects.toMatchObject({
      code: 'unavailable',
    });
  });
});
