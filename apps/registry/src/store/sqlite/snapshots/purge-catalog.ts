import type { SnapshotStore } from '@krmhub/catalog';
import type { OciDigest } from '@krmhub/oci';
import type { Digest } from '@krmhub/schema';
import { catalogRepository } from '../../../artifacts/repositories.js';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import { artifactWriter, entryRemover } from '../run-now.js';
import { PURGED_CATALOGS } from './catalog-deletion.js';
import { unusedSegmentDeleter } from './segments.js';

export type CatalogPurges = Pick<
  SnapshotStore,
  'catalogsToPurge' | 'startPurge' | 'purgeRows' | 'collectEntries'
>;

/** Rows deleted in one transaction. */
const BATCH = 500;

/**
 * Deletes the rows of deleted catalogs in batches, so that others can write. Snapshots are deleted last: as long as a
 * purged catalog has rows, its purge is unfinished. The tombstone stays.
 */
export function catalogPurges(connection: Connection): CatalogPurges {
  const { client, read, write } = connection;
  const entries = entryRemover(connection);
  const steps = purgeSteps(connection);
  const newest = 'coalesce((SELECT max(serial) FROM snapshot WHERE snapshot.catalog = name), 0)';
  // Search reads from the rows which functions it must exclude.
  const isDue = `deleted ->> '$.restorableUntil' <= :at AND searched_serial >= ${newest}`;
  const isUnfinished = `name IN (${PURGED_CATALOGS}) AND (
    EXISTS (SELECT 1 FROM snapshot WHERE catalog = name)
    OR EXISTS (SELECT 1 FROM catalog_function WHERE catalog = name)
    OR EXISTS (SELECT 1 FROM catalog_segment WHERE catalog = name)
    OR EXISTS (SELECT 1 FROM catalog_source WHERE catalog = name)
    OR EXISTS (SELECT 1 FROM oci_repository AS repository WHERE repository.name = 'catalogs/' || catalog.name))`;
  const toPurge = prepared(() =>
    client
      .prepare<{ at: string }, string>(
        `SELECT name FROM catalog WHERE deleted IS NOT NULL AND (
           (name NOT IN (${PURGED_CATALOGS}) AND ${isDue}) OR (${isUnfinished})) ORDER BY name`,
      )
      .pluck(),
  );
  const mark = prepared(() =>
    client.prepare<{ name: string; at: string }>(
      `UPDATE catalog SET recipe = '', deleted = json_set(deleted, '$.purgedAt', :at)
       WHERE name = :name AND name NOT IN (${PURGED_CATALOGS}) AND deleted IS NOT NULL AND ${isDue}`,
    ),
  );
  const isMarked = prepared(() =>
    client.prepare<[string], 1>(`SELECT 1 WHERE ? IN (${PURGED_CATALOGS})`).pluck(),
  );

  return {
    catalogsToPurge: (at) => read(() => toPurge.all({ at })),
    startPurge: (name, at) =>
      write(() => mark.run({ name, at }).changes > 0 || isMarked.get(name) !== undefined),
    purgeRows: (name, at) =>
      write(() => {
        if (isMarked.get(name) === undefined) return false;
        return steps.some((step) => step(name, at));
      }),
    collectEntries: (at) =>
      write(() => {
        if (!entries.canCollect(at)) return false;
        entries.collect(at);
        return true;
      }),
  };
}

/** Returns the steps in order. Each deletes some rows of a catalog, and reports whether it deleted any. */
function purgeSteps(connection: Connection): ((name: string, at: string) => boolean)[] {
  const { client } = connection;
  const artifacts = artifactWriter(connection);
  const manifests = prepared(() =>
    client
      .prepare<[string], number>(`SELECT id FROM oci_manifest WHERE repository = ? LIMIT ${BATCH}`)
      .pluck(),
  );
  const blobs = prepared(() =>
    client
      .prepare<[string], OciDigest>(`SELECT digest FROM oci_blob WHERE repository = ? LIMIT ${BATCH}`)
      .pluck(),
  );
  const deleteRepository = prepared(() =>
    client.prepare<[string]>('DELETE FROM oci_repository WHERE name = ?'),
  );
  const some = (table: string) =>
    `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE catalog = ? LIMIT ${BATCH})`;
  const deleteSome = (table: string) => {
    const statement = prepared(() => client.prepare<[string]>(some(table)));
    return (name: string) => statement.run(name).changes > 0;
  };
  const addUnused = prepared(() =>
    client.prepare<[Digest, string]>('INSERT OR IGNORE INTO loose_entry (digest, since) VALUES (?, ?)'),
  );
  /** Another catalog may have the same entry, so entries are collected later. */
  const deleteWithEntries = (table: string, column: string) => {
    const statement = prepared(() =>
      client.prepare<[string], Digest | null>(`${some(table)} RETURNING ${column}`).pluck(),
    );
    return (name: string, at: string) => {
      const deleted = statement.all(name);
      for (const digest of new Set(deleted)) if (digest !== null) addUnused.run(digest, at);
      return deleted.length > 0;
    };
  };
  const segments = prepared(() =>
    client.prepare<[string], Digest>(`${some('catalog_segment')} RETURNING segment`).pluck(),
  );
  const deleteUnusedSegment = unusedSegmentDeleter(connection);
  return [
    (name) => {
      const digests = segments.all(name);
      for (const digest of digests) deleteUnusedSegment(digest);
      return digests.length > 0;
    },
    (name) => {
      const ids = manifests.all(catalogRepository(name));
      for (const id of ids) artifacts.removeManifest(id);
      return ids.length > 0;
    },
    (name) => {
      const repository = catalogRepository(name);
      const digests = blobs.all(repository);
      for (const digest of digests) artifacts.removeBlob(repository, digest);
      return digests.length > 0;
    },
    (name) => deleteRepository.run(catalogRepository(name)).changes > 0,
    deleteSome('snapshot_signature'),
    deleteWithEntries('upstream_entry', 'definition'),
    deleteSome('catalog_source'),
    deleteWithEntries('catalog_function', 'entry'),
    deleteSome('snapshot'),
  ];
}
