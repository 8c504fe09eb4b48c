/**
 * Blobs by digest, in the data folder or in an S3-compatible store.
 *
 * A file in the data folder names the S3-compatible store, which has large published files and the pushed blobs. Small
 * pushed blobs of a registry that was in a folder before stay rows of its database. Profiles and copies of upstream
 * catalogs stay in the data folder.
 *
 * Of a registry with several processes, the record is a row of the database, and the file is a copy of it. So a process
 * with a new data folder finds the prefix of its registry, and another registry does not get it.
 *
 * @module
 */

import { randomUUID } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import type { BlobBytes, BlobStore, OpenableBlobs } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { writeDurably } from '@krmhub/sources/durable-file';
import type { DataPaths } from '../data-folder.js';
import type { SettingName, SettingStore } from '../setting-store.js';
import { blobsIn, openBlobFolder } from './folder.js';
import { type BlobReader, readBlobFolder } from './reader.js';
import type { CountRequest } from './s3/client.js';
import { type CredentialSource, credentialSource } from './s3/credentials.js';
import type { PieceArea, PieceStore } from './s3/pieces.js';
import { describeS3Place, type S3Access, type S3Place } from './s3/place.js';

/** The parts of the data folder that can be in another store. */
export type BlobPart = 'blobs' | 'artifacts';

/** How an S3-compatible store knows this program. */
export interface S3Settings {
  /** Absent for what needs no variables, such as a file in the home folder. */
  s3Credentials?: S3Access;
}

/** Where blobs are. */
export interface BlobPlaceSettings extends S3Settings {
  /** Absent for the data folder. */
  blobPlace?: S3Place;
}

/** Settings of the store. */
export interface BlobSettings extends BlobPlaceSettings {
  /** The database, if several processes can use it. */
  shared?: SettingStore;
  /** Bytes of the cache of an S3-compatible store; absent for 0. */
  blobCacheBytes?: number;
  /** Whether clients get presigned URLs of large blobs. */
  blobRedirect?: boolean;
}

export interface BlobCounters {
  countRequest: CountRequest;
  countCacheRead: (outcome: 'hit' | 'miss' | 'corrupt') => void;
}

export interface OpenedBlobs {
  openPart(part: BlobPart): Promise<BlobStore>;
  /** Where any process finds pieces; absent if the blobs are in a folder. */
  pieces?(area: PieceArea): PieceStore;
}

const SETTING = 'the setting blob-store of the database';

/** `blob-store.json`. */
interface StoreRecord extends S3Place {
  /** ID of the registry, which an object in the store has too. */
  registry: string;
  /** The store may not have that object yet. */
  isNew?: true;
}

/**
 * Opens the blobs for writing. Rejects with `usage` if they are not where the settings say, `unsupported` if the store
 * lacks something that krmhub relies on, and `unavailable`.
 */
export async function openBlobStores(
  paths: DataPaths,
  settings: BlobSettings,
  counters?: BlobCounters,
): Promise<OpenedBlobs> {
  const { blobPlace: place, shared } = settings;
  const inFolder = await readRecord(paths);
  const row = await shared?.setting('blob-store');
  const record = row === undefined ? inFolder : parseRecord(row, SETTING);
  if (inFolder !== undefined && record !== undefined && inFolder.registry !== record.registry) {
    // The claim of an interrupted first start may not be the one that won.
    if (inFolder.isNew !== true) throw otherRegistry(paths, record);
  }
  // Nothing was stored there yet, so that the next start may choose another place.
  const isNew = record === undefined || record.isNew === true;
  if (place === undefined) {
    if (isNew) {
      await rm(paths.blobStore, { force: true });
      return { openPart: (part) => openBlobFolder(paths[part]) };
    }
    throw new KrmhubError('usage', `the blobs of this registry are in ${describeS3Place(record)}`, {
      hint: `Use --blob-url or KRMHUB_BLOB_URL with ${describeS3Place(record)} and its endpoint and region.`,
    });
  }
  const credentials = chooseCredentials(settings);
  if (isNew) await refuseBlobsIn(paths, place);
  else if (describeS3Place(record) !== describeS3Place(place)) {
    throw new KrmhubError(
      'usage',
      `the blobs of this registry are in ${describeS3Place(record)}, not in ${describeS3Place(place)}`,
      { hint: 'To move them, run `krmhub move` with --to-blob-url.' },
    );
  }
  const registry = record?.registry ?? randomUUID();
  // The ID is durable before the store has it: an interrupted first start continues with the same one.
  const next: StoreRecord = { ...place, registry, isNew: true };
  if (isNew) {
    if ((await shareRecord(shared, row, next)) === 'changed')
      return openBlobStores(paths, settings, counters);
    await writeRecord(paths, next);
  }
  const { openS3 } = await import('./s3/open-s3.js');
  const store = await openS3({
    place,
    credentials,
    owner: { id: registry, isNew },
    cacheFolder: paths.blobCache,
    cacheBytes: settings.blobCacheBytes ?? 0,
    redirect: settings.blobRedirect ?? false,
    isShared: shared !== undefined,
    ...counters,
  });
  if (isNew && (await shareRecord(shared, JSON.stringify(next), { ...place, registry })) === 'changed')
    throw startedElsewhere(place);
  const isSame = (one?: StoreRecord) => one?.bucketUrl === place.bucketUrl && one.region === place.region;
  if (!isNew && (row === undefined || !isSame(record)))
    await shareRecord(shared, row, { ...place, registry });
  if (isNew || !isSame(inFolder)) await writeRecord(paths, { ...place, registry });
  return { openPart: async (part) => store.area(part), pieces: store.pieces };
}

/**
 * Opens the blobs of a data folder or a backup read-only; a registry may be writing to them. The database in PostgreSQL,
 * if there is one, tells where they are: the data folder may be of a process that was never started.
 */
export async function openBlobReaders(
  paths: DataPaths,
  databaseUrl: string | undefined,
  settings: S3Settings,
): Promise<(part: BlobPart) => BlobReader> {
  const row = databaseUrl === undefined ? undefined : await settingIn(databaseUrl, 'blob-store');
  const record = row === undefined ? await readRecord(paths) : parseRecord(row, SETTING);
  if (record === undefined || record.isNew === true) return (part) => readBlobFolder(paths[part]);
  const { readS3 } = await import('./s3/open-s3.js');
  return readS3(record, chooseCredentials(settings)).area;
}

/** Rejects with `StoreAway` if the S3-compatible store of the blobs does not answer. */
export async function reachBlobs(settings: BlobSettings): Promise<void> {
  if (settings.blobPlace === undefined) return;
  const { reachS3 } = await import('./s3/open-s3.js');
  await reachS3(settings.blobPlace, chooseCredentials(settings));
}

async function settingIn(url: string, name: SettingName): Promise<string | undefined> {
  const { withClient } = await import('../postgres/client.js');
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ value: string }>('SELECT value FROM setting WHERE name = $1', [
      name,
    ]);
    return rows[0]?.value;
  });
}

/** Where another thread of this process reads the blobs. */
export interface BlobSource extends BlobPlaceSettings {
  folders: Record<BlobPart, string>;
}

/** Reads blobs that another thread of this process has opened. */
export async function blobsOfThread({
  folders,
  ...settings
}: BlobSource): Promise<(part: BlobPart) => BlobBytes & OpenableBlobs> {
  const { blobPlace: place } = settings;
  if (place === undefined) return (part) => blobsIn(folders[part]);
  const { readS3 } = await import('./s3/open-s3.js');
  return readS3(place, chooseCredentials(settings)).area;
}

/** Absent credentials are found when they are needed. */
function chooseCredentials({ s3Credentials }: S3Settings): CredentialSource {
  if (s3Credentials === undefined) return credentialSource({});
  return 'env' in s3Credentials ? credentialSource(s3Credentials.env) : async () => s3Credentials;
}

async function refuseBlobsIn(paths: DataPaths, place: S3Place): Promise<void> {
  for (const part of ['blobs', 'artifacts'] as const) {
    const shards = await readdir(path.join(paths[part], 'sha256')).catch(() => []);
    if (shards.length === 0) continue;
    throw new KrmhubError(
      'usage',
      `the blobs of this registry are in ${paths[part]}, not in ${describeS3Place(place)}`,
      { hint: 'To move them, run `krmhub move` with --to-blob-url.' },
    );
  }
}

async function readRecord({ blobStore: file }: DataPaths): Promise<StoreRecord | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new KrmhubError('unavailable', `cannot read ${file}: ${(cause as Error).message}`, { cause });
  }
  return parseRecord(text, file);
}

function parseRecord(text: string, name: string): StoreRecord {
  try {
    const record = JSON.parse(text) as Partial<StoreRecord> | null;
    const { bucket, prefix, bucketUrl, region, registry } = record ?? {};
    const isComplete = [bucket, prefix, bucketUrl, region, registry].every((one) => typeof one === 'string');
    if (isComplete) return record as StoreRecord;
  } catch {
    // Reported below.
  }
  throw new KrmhubError('unavailable', `${name} is corrupt`, {
    hint: 'Restore it from a backup of the registry.',
  });
}

/** Stores the record for all processes. Returns `changed`, and stores nothing, if another process was first. */
async function shareRecord(
  shared: SettingStore | undefined,
  before: string | undefined,
  record: StoreRecord,
): Promise<'changed' | 'stored'> {
  const text = JSON.stringify(record);
  const stored = (await shared?.changeSetting('blob-store', before, text)) ?? text;
  return stored === text ? 'stored' : 'changed';
}

/** Another first start has chosen another place meanwhile. */
function startedElsewhere(place: S3Place): KrmhubError {
  return new KrmhubError(
    'usage',
    `another process of this registry started at the same time with other blobs than ${describeS3Place(place)}`,
    { hint: 'Use the same --blob-url or KRMHUB_BLOB_URL for all processes.' },
  );
}

function otherRegistry({ blobStore }: DataPaths, record: StoreRecord): KrmhubError {
  const where = describeS3Place(record);
  return new KrmhubError(
    'usage',
    `${blobStore} names another registry than the database, whose blobs are in ${where}`,
    {
      hint: 'Use the data folder and the database of one registry.',
    },
  );
}

async function writeRecord({ blobStore: file }: DataPaths, record: StoreRecord): Promise<void> {
  await writeDurably(file, {
    write: (handle) => handle.writeFile(`${JSON.stringify(record, undefined, 2)}\n`),
    mode: 0o600,
    overwrite: true,
  });
}
