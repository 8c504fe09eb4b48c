import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { together } from '../../sql/statement.js';
import { type Connection, openConnection } from '../../sqlite/connection.js';
import { erase } from '../../sqlite/erase.js';
import { addFile, fileRow, releaseFileReader } from './release-files.js';

const BYTES = Buffer.from('# Functions\n');

let folder: string;
let connection: Connection;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'release-files-'));
  connection = openConnection(path.join(folder, 'registry.db'));
  await connection.sql.write(() => together([addFile(fileRow(BYTES))]));
});
afterEach(async () => {
  connection.close();
  await rm(folder, { recursive: true });
});

it('are stored again in place of a damaged row', async () => {
  const read = releaseFileReader(connection.sql);
  connection.client.exec(`UPDATE release_file SET bytes = x'0300'`);
  await expect(read(sha256(BYTES))).rejects.toMatchObject({ code: 'internal' });
  await connection.sql.write(() => together([addFile(fileRow(BYTES))]));
  expect(await read(sha256(BYTES))).toEqual(BYTES);
});

it('are erased if no release uses them', async () => {
  expect(await releaseFileReader(connection.sql)(sha256(BYTES))).toEqual(BYTES);
  await erase(connection);
  expect(await releaseFileReader(connection.sql)(sha256(BYTES))).toBeUndefined();
});
