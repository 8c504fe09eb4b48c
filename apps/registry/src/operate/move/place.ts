import type { BlobSettings } from '../../store/blobs/blob-stores.js';
import { describePostgres } from '../../store/postgres/client.js';

/** Where a registry is. */
export interface RegistryPlace {
  dataFolder: string;
  /** Absent for SQLite in the data folder. */
  databaseUrl?: string;
  blobPlace?: BlobSettings['blobPlace'];
}

/** Names a place for people, without a password. */
export function describePlace({ dataFolder, databaseUrl }: RegistryPlace): string {
  return databaseUrl === undefined ? dataFolder : describePostgres(databaseUrl);
}
