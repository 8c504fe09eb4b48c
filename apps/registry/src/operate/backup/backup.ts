/**
 * Backs up a registry, which may be running, and restores a data folder from a backup.
 *
 * The database is copied first, as of one moment. Blobs are durable before the rows that name them, so each row of the
 * copy finds its blob. `backup.json` is written last, so a folder with it contains a complete backup. A restore moves
 * the database into place last, so an interrupted one leaves no registry.
 *
 * @module
 */

import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { type Digest, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { syncFolder } from '@krmhub/sources/durable-file';
import { makeFolder } from '@krmhub/sources/make-folder';
import { keyFileNames } from '../../catalogs/sign/key-files.js';
import { openBlobReaders, type S3Settings } from '../../store/blobs/blob-stores.js';
import { openBlobFolder } from '../../store/blobs/folder.js';
import { type BlobReader, readBlobFolder } from '../../store/blobs/reader.js';
import { copyToFile } from '../../store/copy/copy-to-file.js';
import { clearSqliteMark } from '../../store/copy/move-mark.js';
import { FILE_PARTS, NAMED_FILES, type NamedFiles } from '../../store/copy/named-files.js';
import { type DataPaths, dataPaths } from '../../store/data-folder.js';
import { knownPlace } from '../../store/database-place.js';
import { Database } from '../../store/sqlite/driver.js';
import { attempt, translateSqliteError } from '../../store/sqlite/errors.js';
import { openDatabaseState } from '../../store/sqlite/state.js';
import { checkRegistry } from '../check/check.js';
import { copyBlob, fileDigest, fileErrors, readFileBytes, writeFile } from './files.js';
import { type Manifest, manifestFile } from './manifest.js';

export interface BackupInput extends S3Settings {
  dataFolder: string;
  /** Absent for SQLite in the data folder. */
  databaseUrl?: string;
  /** Folder of the keys; absent for `keys` in the data folder. */
  keysFolder?: string;
  /** New folder. It exists only once the backup is complete. */
  out: string;
  now: Date;
  progress?: (line: string) => Promise<void>;
}

/**
 * Copies a registry, which may be running, and checks the copy. The database is copied first, as of one moment. Blobs
 * are durable before the rows that name them, so each row of the copy finds its blob. Rejects with `usage` if `out`
 * exists, `conflict` if the copy is damaged, `storage-full`, and `unavailable`.
 */
export async function backupRegistry(input: BackupInput): Promise<Manifest> {
  const { out } = input;
  if ((await fileErrors(out, () => namesIn(out))).length > 0) {
    throw new KrmhubError('usage', `${out} already exists`, {
      hint: 'Use --out with a folder that does not exist.',
    });
  }
  const unfinished = `${out}.unfinished-${randomUUID()}`;
  await fileErrors(out, () => mkdir(unfinished, { recursive: true, mode: 0o700 }));
  try {
    const manifest = await fillBackup(input, unfinished);
    await fileErrors(out, async () => {
      await syncFolder(unfinished);
      await rename(unfinished, out);
      await syncFolder(path.dirname(path.resolve(out)));
    });
    return manifest;
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true }).catch(() => undefined);
    throw error;
  }
}

async function fillBackup(input: BackupInput, folder: string): Promise<Manifest> {
  const progress = input.progress ?? (async () => undefined);
  const from = dataPaths(input.dataFolder);
  const to = dataPaths(folder);
  const place = knownPlace(from, input.databaseUrl);
  await progress('Copying the database');
  if ('url' in place) await copyToFile(place.url, to.database, { progress });
  else await copyFile(place.file, to.database);
  const named = await namedFiles(to.database);
  const blobReader = await openBlobReaders(from, input.databaseUrl, input);
  for (const part of FILE_PARTS) {
    const source = part === 'copies' ? readBlobFolder(from.copies) : blobReader(part);
    await copyBlobs(source, to[part], named[part], progress);
  }
  await copyRecords({ ...from, keys: input.keysFolder ?? from.keys }, to);
  const { healthy, counts, audit, findings } = await checkRegistry(folder, {
    startedAt: input.now,
    progress,
  });
  if (!healthy) {
    const damaged = findings.filter(({ severity }) => severity === 'damage');
    throw new KrmhubError(
      'conflict',
      [
        `backup failed: the copy has ${damaged.length} problems, the first in`,
        ...damaged.slice(0, 3).map(({ subject, message }) => `${subject}: ${message}`),
      ].join('\n'),
      { hint: 'Run `krmhub fsck`. If it finds no damage, run the backup again.' },
    );
  }
  const database = await fileDigest(to.database);
  const madeAt = input.now.toISOString();
  const manifest: Manifest = { format: 1, madeAt, database, counts, ...defined({ audit }) };
  await writeFile(manifestFile(folder), `${JSON.stringify(manifest, undefined, 2)}\n`, 0o600);
  return manifest;
}

/** Copies small files next to the database: the admin token, the signing keys, and the takedown record. */
export async function copyRecords(from: DataPaths, to: DataPaths): Promise<void> {
  for (const part of ['adminToken', 'takedowns'] as const) {
    const content = await readFileBytes(from[part]);
    if (content !== undefined) await writeFile(to[part], content, 0o600);
  }
  const names = await keyFileNames(from.keys);
  if (names.length === 0) return;
  await fileErrors(to.keys, () => makeFolder(to.keys, 0o700));
  for (const name of names) {
    const content = await readFileBytes(path.join(from.keys, name));
    if (content !== undefined) await writeFile(path.join(to.keys, name), content, 0o600);
  }
  await fileErrors(to.keys, () => syncFolder(to.keys));
}

async function copyFile(from: string, to: string): Promise<void> {
  const state = openDatabaseState(from);
  try {
    // Within the read transaction, so that concurrent publishes do not restart it.
    await state.client.backup(to).catch((error: unknown) => {
      throw translateSqliteError(error);
    });
  } finally {
    state.close();
  }
}

/** Returns the digests that the copy's rows name. Profiles are not copied: they are written again on request. */
function namedFiles(file: string): Promise<NamedFiles> {
  return attempt(() => {
    const copy = new Database(file);
    try {
      // A single file can be read on a read-only disk.
      copy.pragma('journal_mode = DELETE');
      clearSqliteMark(copy);
      copy.exec('DELETE FROM rendition; DELETE FROM profile_rendition');
      const digests = (part: keyof NamedFiles) => copy.prepare<[], Digest>(NAMED_FILES[part]).pluck().all();
      return { blobs: digests('blobs'), artifacts: digests('artifacts'), copies: digests('copies') };
    } finally {
      copy.close();
    }
  });
}

/** Copies blobs. Missing and damaged ones are left out: the check of the copy reports them. */
async function copyBlobs(
  source: BlobReader,
  to: string,
  digests: readonly Digest[],
  progress: (line: string) => Promise<void>,
): Promise<void> {
  const target = await openBlobFolder(to);
  for (const [index, digest] of digests.entries()) {
    await copyBlob(source, target, digest);
    if (index % 100 === 0) await progress(`${index} of ${digests.length} files copied`);
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
