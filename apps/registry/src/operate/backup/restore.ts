import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { KrmhubError, type Takedown } from '@krmhub/schema';
import { syncFolder } from '@krmhub/sources/durable-file';
import { restoreTakedowns } from '../../publish/takedown/restore.js';
import { type BlobPlaceSettings, type OpenedBlobs, openBlobStores } from '../../store/blobs/blob-stores.js';
import { openBlobFolder } from '../../store/blobs/folder.js';
import { readBlobFolder } from '../../store/blobs/reader.js';
import { fillPostgres, refuseRows } from '../../store/copy/fill.js';
import { openRowState } from '../../store/copy/state.js';
import { type DataPaths, dataPaths, prepareDataFolder } from '../../store/data-folder.js';
import { recordPostgres } from '../../store/database-place.js';
import { withClient } from '../../store/postgres/client.js';
import { migratePostgres } from '../../store/postgres/migrate.js';
import { appendAudit } from '../../store/records/audit/append-audit.js';
import { recordForgottenExchanges } from '../../store/records/tokens/trusted-publishers.js';
import { text } from '../../store/sql/statement.js';
import { openConnection } from '../../store/sqlite/connection.js';
import { checkRegistry } from '../check/check.js';
import { copyRecords } from './backup.js';
import { copyBlob, copyFileBytes, fileDigest, fileErrors } from './files.js';
import { type Manifest, readManifest } from './manifest.js';
import { storeSharedSettings } from './shared-settings.js';

/** With a place for blobs, a new prefix of an S3-compatible store. */
export interface RestoreInput extends BlobPlaceSettings {
  backup: string;
  /** Folder without a registry. */
  dataFolder: string;
  /** Database in PostgreSQL without a registry; absent for SQLite in the data folder. */
  databaseUrl?: string;
  /** Takedowns that the backup may lack. They are applied when the registry starts. */
  takedowns: readonly Takedown[];
  now: Date;
  progress?: (line: string) => Promise<void>;
}

/**
 * Makes a data folder from a backup. Files are copied to a staging folder, checked there, and then moved; the
 * database comes last, so an interrupted restore leaves no registry. `notice` lists takedowns. Rejects with `usage`
 * if the folder already has a registry or the backup is not one, `conflict` if the backup is damaged, `storage-full`,
 * and `unavailable`.
 */
export async function restoreRegistry(input: RestoreInput): Promise<Manifest & { notice: string }> {
  const { backup, dataFolder } = input;
  const manifest = await readManifest(backup);
  await refuseRegistry(dataFolder);
  if (input.databaseUrl !== undefined) await prepareDatabase(input.databaseUrl);
  const target = await prepareDataFolder(dataFolder);
  const { openPart } = await openBlobStores(target, input);
  // A fixed name, so that a restore replaces what a killed one left.
  const staging = path.join(dataFolder, 'restore.unfinished');
  try {
    await fileErrors(dataFolder, async () => {
      await rm(staging, { recursive: true, force: true });
      await mkdir(staging, { mode: 0o700 });
    });
    const staged = await stage(input, manifest, staging);
    const { notice } = await restoreTakedowns({
      dataFolder: staging,
      others: input.takedowns,
      backupTime: manifest.madeAt,
    });
    // An interrupted restore continues: blobs that are stored already are only compared.
    if (input.blobPlace !== undefined) await storeBlobs(input, staged, openPart);
    const parts = retainedParts(input);
    await fileErrors(dataFolder, async () => {
      for (const part of parts) {
        await rename(staged[part], target[part]).catch((error: NodeJS.ErrnoException) => {
          const needed = part !== 'takedowns' && part !== 'adminToken' && part !== 'keys';
          if (needed || error.code !== 'ENOENT') throw error;
        });
        await syncFolder(dataFolder);
      }
    });
    if (input.databaseUrl !== undefined) await storeRows(input, input.databaseUrl, staged, target);
    return { ...manifest, notice };
  } finally {
    await rm(staging, { recursive: true, force: true }).catch(() => undefined);
  }
}

/** What stays in the data folder; the database comes last. */
function retainedParts({ blobPlace, databaseUrl }: RestoreInput) {
  return [
    ...(blobPlace === undefined ? (['blobs', 'artifacts'] as const) : []),
    ...(['copies', 'takedowns', 'adminToken', 'keys'] as const),
    ...(databaseUrl === undefined ? (['database'] as const) : []),
  ];
}

/** Makes the tables. Rejects with `usage` if the database has a registry. */
async function prepareDatabase(url: string): Promise<void> {
  await migratePostgres(url);
  await withClient(url, refuseRows);
}

async function storeRows(
  { progress = async () => undefined }: RestoreInput,
  url: string,
  from: DataPaths,
  to: DataPaths,
): Promise<void> {
  const state = await openRowState({ file: from.database });
  try {
    await recordPostgres(to);
    await withClient(url, (client) =>
      fillPostgres(client, state.rows, { progress, beforeCommit: () => storeSharedSettings(client, to) }),
    );
  } finally {
    await state.close();
  }
}

/** Stores checked blobs in an S3-compatible store. */
async function storeBlobs(
  { progress = async () => undefined }: RestoreInput,
  from: DataPaths,
  openPart: OpenedBlobs['openPart'],
): Promise<void> {
  let stored = 0;
  for (const part of ['blobs', 'artifacts'] as const) {
    const source = readBlobFolder(from[part]);
    const target = await openPart(part);
    for await (const { digest } of source.blobs()) {
      await copyBlob(source, target, digest);
      if (++stored % 100 === 0) await progress(`${stored} files stored`);
    }
  }
}

async function stage(input: RestoreInput, manifest: Manifest, folder: string): Promise<DataPaths> {
  const { backup, now, progress = async () => undefined } = input;
  const from = dataPaths(backup);
  const to = dataPaths(folder);
  if ((await fileDigest(from.database)) !== manifest.database) {
    throw damaged(backup, 'registry.db has changed since the backup');
  }
  await copyFileBytes(from.database, to.database);
  // A backup of an older version is migrated. Then one file is left, as in the backup.
  const connection = openConnection(to.database);
  connection.client.pragma('journal_mode = DELETE');
  connection.close();
  let copied = 0;
  for (const part of ['blobs', 'artifacts', 'copies'] as const) {
    const target = await openBlobFolder(to[part]);
    const source = readBlobFolder(from[part]);
    for await (const { digest } of source.blobs()) {
      await copyBlob(source, target, digest);
      if (++copied % 100 === 0) await progress(`${copied} files copied`);
    }
  }
  await copyRecords(from, to);
  const { healthy, audit, findings } = await checkRegistry(folder, { startedAt: now, progress });
  if (healthy) {
    const { audit: expected } = manifest;
    if (expected !== undefined && (audit?.sequence !== expected.sequence || audit.hash !== expected.hash)) {
      throw damaged(backup, `the audit log does not end with row ${expected.sequence}, ${expected.hash}`);
    }
    await recordRestore(to.database, manifest, now);
    return to;
  }
  const first = findings.filter(({ severity }) => severity === 'damage').slice(0, 3);
  throw damaged(backup, ...first.map(({ subject, message }) => `${subject}: ${message}`));
}

const endSessions = text('DELETE FROM operator_session');

/**
 * Ends the sessions of operators, who may have signed out since, accepts no identity token that may have been exchanged
 * since, and adds a row to the audit log. One file is left.
 */
async function recordRestore(file: string, { madeAt }: Manifest, now: Date): Promise<void> {
  const connection = openConnection(file);
  const act = { at: now.toISOString(), by: 'krmhub', action: 'registry.restore' as const };
  await connection.sql.write(function* () {
    yield* endSessions.run();
    yield* recordForgottenExchanges(now);
    yield* appendAudit({ ...act, object: 'registry', outcome: 'done', detail: { backup: madeAt } });
  });
  connection.client.pragma('journal_mode = DELETE');
  connection.close();
}

function damaged(backup: string, ...problems: string[]): KrmhubError {
  return new KrmhubError('conflict', [`The backup ${backup} is corrupt:`, ...problems].join('\n'), {
    hint: `Nothing was restored. Run \`krmhub fsck --data ${backup}\` for details, and use another backup.`,
  });
}

/** Rejects if the folder has files of a registry. Other files, such as `lost+found`, may be there. */
export async function refuseRegistry(dataFolder: string): Promise<void> {
  const { blobStore, blobCache, databaseRecord, searchIndex, ...paths } = dataPaths(dataFolder);
  const parts = Object.values(paths).map((part) => path.basename(part));
  const names = await fileErrors(dataFolder, () =>
    readdir(dataFolder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [] as string[];
      throw error;
    }),
  );
  const there = names.filter((name) => parts.some((part) => name === part || name.startsWith(`${part}-`)));
  if (there.length === 0) return;
  throw new KrmhubError('usage', `${dataFolder} already contains a registry: ${there.join(', ')}`, {
    hint: 'Restore to an empty folder, check the folder, and move it into place.',
  });
}
