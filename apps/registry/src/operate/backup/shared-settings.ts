import { readFile } from 'node:fs/promises';
import type pg from 'pg';
import { readKeyFiles } from '../../catalogs/sign/key-files.js';
import type { DataPaths } from '../../store/data-folder.js';

const STORE =
  'INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value';

/**
 * Stores in a new database where its blobs are, and its first key, as the start on the data folder would: a process
 * with another data folder may start first. In the transaction of the caller.
 */
export async function storeSharedSettings(client: pg.Client, { blobStore, keys }: DataPaths): Promise<void> {
  const record = await readFile(blobStore, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  if (record !== undefined) await client.query(STORE, ['blob-store', JSON.stringify(JSON.parse(record))]);
  const first = (await readKeyFiles(keys)).at(-1);
  if (first !== undefined) await client.query(STORE, ['registry-key', first.publicKey.fingerprint]);
}
