import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { inflateRawSync } from 'node:zlib';
import { type Digest, SNAPSHOT_RENDITIONS, type SnapshotRendition, sha256 } from '@krmhub/schema';
import { dataPaths } from '../apps/registry/src/store/data-folder.js';
import { Database } from '../apps/registry/src/store/sqlite/driver.js';
import { DROP_NEWER_TABLES } from '../apps/registry/src/testing/newer-tables.js';
import { openTestRegistry, type TestRegistry } from '../apps/registry/src/testing/test-registry.js';

/** When the migration to segments was written; see migrations/sqlite/meta/_journal.json. */
const SEGMENTS_MIGRATION = 1_768_867_200_000;
/** Undoes the migration `0027_renditions` in SQLite. */
export const OLD_NAMES = `ALTER TABLE rendition RENAME TO form; DROP INDEX rendition_blob;
  CREATE INDEX form_blob ON form (blob); ALTER TABLE profile_rendition RENAME TO profile_form;
  ALTER TABLE unused_entry RENAME TO loose_entry;`;
const CODINGS = ['identity', 'gzip', 'br'];
/** Snapshots whose documents the version before stored as files. */
const STORED = 3;

export interface OlderSnapshot {
  serial: number;
  digests: Record<SnapshotRendition, Digest>;
}

/** Returns the address of a document of a snapshot of the catalog `default`. */
export function documentPath(serial: number, rendition: SnapshotRendition): string {
  const [kind, syntax] = rendition.split('.');
  const query = kind === 'catalog' ? '' : '?kind=KRMFunctionCatalog';
  return `/catalogs/default/snapshots/${serial}/catalog.${syntax}${query}`;
}

/**
 * Makes a data folder as the version before segments left it: whole documents of the newest snapshots of the catalog
 * `default` as files in `forms/`, all definitions as files in `blobs/`, and a database without the tables of segments
 * and of definitions. Returns every snapshot.
 */
export async function makeOlderFolder(folder: string, snapshots: number): Promise<OlderSnapshot[]> {
  mkdirSync(folder, { recursive: true });
  const registry = await openTestRegistry({ folder });
  for (let at = 0; at < snapshots - 1; at++) {
    const release = `1.${Math.floor(at / 40)}.0`;
    await registry.publish({ kind: `Older${at % 40}`, release, description: `From publish ${at}.` });
  }
  const found = (await registry.parts.store.snapshots('default', snapshots + 1)).reverse();
  if (found.length !== snapshots) throw new Error(`the catalog has ${found.length} snapshots`);
  const files = await storedDocuments(registry, found);
  const profile = await registry.request('/catalogs/default/catalog.yaml?profile=porch');
  if (profile.status !== 200) throw new Error(await profile.text());
  await registry.parts.close();
  // A registry whose database has tokens does not write one.
  writeFileSync(dataPaths(folder).adminToken, 'unused\n');

  const client = new Database(dataPaths(folder).database);
  client.exec(OLD_NAMES);
  client.exec('ALTER TABLE snapshot DROP COLUMN documents; DROP TABLE catalog_segment; DROP TABLE segment');
  const rows = client
    .prepare<[], { digest: Digest; bytes: Buffer }>('SELECT digest, bytes FROM release_file')
    .all();
  for (const { digest, bytes } of rows) writeBlob(dataPaths(folder).blobs, digest, inflateRawSync(bytes));
  client.exec(
    `DROP TABLE release_file; DROP TABLE oci_upload_piece; DROP TABLE oci_upload; DROP TABLE one_time_secret; DROP TABLE operator_session; DROP TABLE setting; DROP TABLE oci_blob_bytes; DROP TABLE takedown_pin; DROP TABLE release_pin; ALTER TABLE takedown DROP COLUMN scripts; ${DROP_NEWER_TABLES}; ALTER TABLE "function" DROP COLUMN published`,
  );
  client.prepare('DELETE FROM __drizzle_migrations WHERE created_at >= ?').run(SEGMENTS_MIGRATION);
  const add = client.prepare('INSERT OR IGNORE INTO form (digest, coding, blob) VALUES (?, ?, ?)');
  for (const { digest, coding, bytes } of files) {
    const blob = sha256(bytes);
    writeBlob(dataPaths(folder).profiles, blob, bytes);
    add.run(digest, coding, blob);
  }
  client.close();
  return found.map(({ serial, digests }) => ({ serial, digests }));
}

function writeBlob(folder: string, digest: Digest, bytes: Uint8Array): void {
  const file = path.join(folder, digest.replace(/:(..)/, '/$1/$1'));
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, bytes);
}

async function storedDocuments(registry: TestRegistry, snapshots: readonly OlderSnapshot[]) {
  const files: { digest: Digest; coding: string; bytes: Uint8Array }[] = [];
  for (const { serial, digests } of snapshots.slice(-STORED)) {
    for (const rendition of SNAPSHOT_RENDITIONS) {
      for (const wanted of CODINGS) {
        const answer = await registry.request(documentPath(serial, rendition), {
          headers: { 'Accept-Encoding': wanted },
        });
        const bytes = new Uint8Array(await answer.arrayBuffer());
        const coding = answer.headers.get('content-encoding') ?? 'identity';
        files.push({ digest: digests[rendition], coding, bytes });
      }
    }
  }
  return files;
}

/** Returns what is wrong with the documents of the snapshots that a registry serves. */
export async function wrongDocuments(url: string, snapshots: readonly OlderSnapshot[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const { serial, digests } of snapshots) {
    for (const rendition of SNAPSHOT_RENDITIONS) {
      const target = documentPath(serial, rendition);
      const { status, digest } = await read(url + target, 'identity');
      if (status !== 200 || digest !== digests[rendition]) wrong.push(`${target}: ${status} ${digest}`);
    }
  }
  return wrong;
}

/** Returns the coding of the newest catalog for a client that accepts gzip, and the digest of what it decodes. */
export async function newestCatalog(url: string): Promise<{ coding: string | null; digest: Digest }> {
  return read(`${url}/catalogs/default/catalog.json`, 'gzip');
}

async function read(url: string, coding: string) {
  const answer = await fetch(url, { headers: { 'Accept-Encoding': coding } });
  const digest = sha256(new Uint8Array(await answer.arrayBuffer()));
  return { status: answer.status, coding: answer.headers.get('content-encoding'), digest };
}
