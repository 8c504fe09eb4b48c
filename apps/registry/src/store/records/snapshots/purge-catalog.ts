import type { CatalogPurges } from '@krmhub/catalog';
import type { OciDigest } from '@krmhub/oci';
import type { Digest } from '@krmhub/schema';
import { catalogRepository } from '../../artifacts/repositories.js';
import type { Sql } from '../../sql/sql.js';
import { text, type Work } from '../../sql/statement.js';
import { removeBlob, removeManifest } from '../artifacts/artifact-rows.js';
import { appendAudit } from '../audit/append-audit.js';
import { canCollect, collectEntries } from '../sources/source-rows.js';
import { PURGED_CATALOGS } from './catalog-deletion.js';
import { deleteUnusedSegment } from './segments.js';

/** Rows deleted in one transaction. */
const BATCH = 500;

// Search reads from the rows which functions it must exclude.
const IS_SEARCHED =
  'coalesce(searched_serial >= (SELECT max(serial) FROM snapshot WHERE snapshot.catalog = name), true)';
const IS_DUE = `deleted ->> 'restorableUntil' <= :at AND ${IS_SEARCHED}`;
const HAS_ROWS = `EXISTS (SELECT 1 FROM snapshot WHERE catalog = name)
  OR EXISTS (SELECT 1 FROM catalog_function WHERE catalog = name)
  OR EXISTS (SELECT 1 FROM catalog_segment WHERE catalog = name)
  OR EXISTS (SELECT 1 FROM catalog_source WHERE catalog = name)
  OR EXISTS (SELECT 1 FROM oci_repository AS repository WHERE repository.name = 'catalogs/' || catalog.name)`;
const toPurge = text<{ name: string }>(
  `SELECT name FROM catalog WHERE deleted IS NOT NULL AND (
     (name NOT IN (${PURGED_CATALOGS}) AND ${IS_DUE}) OR (name IN (${PURGED_CATALOGS}) AND (${HAS_ROWS}))) ORDER BY name`,
);
const markAs = (marked: string) =>
  `UPDATE catalog SET recipe = '', deleted = ${marked}
   WHERE name = :name AND name NOT IN (${PURGED_CATALOGS}) AND deleted IS NOT NULL AND ${IS_DUE}`;
const mark = text({
  sqlite: markAs(`json_set(deleted, '$.purgedAt', :at)`),
  postgres: markAs(`jsonb_set(deleted, '{purgedAt}', to_jsonb(:at::text))`),
});
const markedCatalog = text<{ name: string }>(
  `SELECT name FROM catalog WHERE name = :name AND name IN (${PURGED_CATALOGS})`,
);

/**
 * Deletes the rows of deleted catalogs in batches, so that others can write. Snapshots are deleted last: as long as a
 * purged catalog has rows, its purge is unfinished. The tombstone stays.
 */
export function catalogPurges({ read, write }: Sql): CatalogPurges {
  return {
    catalogsToPurge: (at) =>
      read(function* () {
        return (yield* toPurge.all({ at })).map(({ name }) => name);
      }),
    startPurge: (name, at) =>
      write(function* () {
        if ((yield* mark.run({ name, at })) === 0) return yield* isMarked(name);
        const act = { at, by: 'krmhub', action: 'catalog.purge', object: `catalog/${name}` } as const;
        yield* appendAudit({ ...act, outcome: 'done' });
        return true;
      }),
    purgeRows: (name, at) =>
      write(function* () {
        if (!(yield* isMarked(name))) return false;
        for (const step of STEPS) if (yield* step(name, at)) return true;
        return false;
      }),
    collectEntries: (at) =>
      write(function* () {
        if (!(yield* canCollect(at))) return false;
        yield* collectEntries(at);
        return true;
      }),
  };
}

function* isMarked(name: string): Work<boolean> {
  return (yield* markedCatalog.first({ name })) !== undefined;
}

const some = (table: string, rest = '') => ({
  sqlite: `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE catalog = :name LIMIT ${BATCH}) ${rest}`,
  postgres: `DELETE FROM ${table} WHERE ctid = ANY (ARRAY (
    SELECT ctid FROM ${table} WHERE catalog = :name LIMIT ${BATCH})) ${rest}`,
});
const manifests = text<{ id: number }>(
  `SELECT id FROM oci_manifest WHERE repository = :repository LIMIT ${BATCH}`,
);
const blobs = text<{ digest: OciDigest }>(
  `SELECT digest FROM oci_blob WHERE repository = :repository LIMIT ${BATCH}`,
);
const deleteRepository = text('DELETE FROM oci_repository WHERE name = :repository');
const deleteSegments = text<{ digest: Digest }>(some('catalog_segment', 'RETURNING segment AS digest'));
const addUnused = text(
  'INSERT INTO unused_entry (digest, since) VALUES (:digest, :at) ON CONFLICT (digest) DO NOTHING',
);

/** Deletes some rows of a catalog, and reports whether it deleted any. */
type Step = (name: string, at: string) => Work<boolean>;

const STEPS: readonly Step[] = [
  purgeSegments,
  purgeManifests,
  purgeBlobs,
  function* (name) {
    return (yield* deleteRepository.run({ repository: catalogRepository(name) })) > 0;
  },
  deletion('snapshot_signature'),
  deletionWithEntries('upstream_entry', 'definition'),
  deletion('catalog_source'),
  deletionWithEntries('catalog_function', 'entry'),
  deletion('snapshot'),
];

function* purgeSegments(name: string): Work<boolean> {
  const deleted = yield* deleteSegments.all({ name });
  for (const { digest } of deleted) yield* deleteUnusedSegment(digest);
  return deleted.length > 0;
}

function* purgeManifests(name: string): Work<boolean> {
  const found = yield* manifests.all({ repository: catalogRepository(name) });
  for (const { id } of found) yield* removeManifest(id);
  return found.length > 0;
}

function* purgeBlobs(name: string): Work<boolean> {
  const repository = catalogRepository(name);
  const found = yield* blobs.all({ repository });
  for (const { digest } of found) yield* removeBlob(repository, digest);
  return found.length > 0;
}

function deletion(table: string): Step {
  const statement = text(some(table));
  return function* (name) {
    return (yield* statement.run({ name })) > 0;
  };
}

/** Another catalog may have the same entry, so entries are collected later. */
function deletionWithEntries(table: string, column: string): Step {
  const statement = text<{ digest: Digest | null }>(some(table, `RETURNING ${column} AS digest`));
  return function* (name, at) {
    const deleted = yield* statement.all({ name });
    for (const digest of new Set(deleted.map((row) => row.digest))) {
      if (digest !== null) yield* addUnused.run({ digest, at });
    }
    return deleted.length > 0;
  };
}
