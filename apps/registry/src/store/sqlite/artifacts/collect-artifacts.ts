import type { ManifestStore, OciDigest } from '@krmhub/oci';
import type { Digest } from '@krmhub/schema';
import type { Sql } from '../../sql/sql.js';
import { text } from '../../sql/statement.js';
import { removeBlob, removeManifest } from './artifact-rows.js';

export type Collector = Pick<
  ManifestStore,
  'deleteUnreferencedBlobs' | 'deleteUntaggedManifests' | 'findUnreferencedFiles'
>;

const page = text<{ repository: string; digest: OciDigest; seenAt: string }>(
  `SELECT repository, digest, seen_at AS "seenAt" FROM oci_blob
   WHERE (repository, digest) > (:repository, :digest) ORDER BY repository, digest LIMIT :limit`,
);
const unneeded = text<{ repository: string }>(
  `SELECT repository FROM oci_blob WHERE repository = :repository AND digest = :digest AND seen_at < :seenBefore
     AND NOT EXISTS (SELECT 1 FROM oci_reference WHERE repository = :repository AND digest = :digest)`,
);
const DEAD = `SELECT id FROM oci_manifest WHERE pushed_at < :pushedBefore
  AND NOT (repository LIKE 'functions/%' OR repository LIKE 'catalogs/%') AND id NOT IN (SELECT id FROM alive)`;
const dead = text<{ id: number }>({
  // CROSS JOIN makes SQLite go from live manifests to what they refer to: the other order would scan all manifests of a
  // repository in each step.
  sqlite: `WITH RECURSIVE alive (id, repository, digest) AS (
      SELECT manifest.id, manifest.repository, manifest.digest
      FROM oci_tag AS tag CROSS JOIN oci_manifest AS manifest ON manifest.id = tag.manifest
      WHERE NOT (tag.repository LIKE 'functions/%' OR tag.repository LIKE 'catalogs/%')
      UNION
      SELECT child.id, child.repository, child.digest
      FROM alive CROSS JOIN oci_reference AS named ON named.manifest = alive.id
        CROSS JOIN oci_manifest AS child ON child.repository = alive.repository AND child.digest = named.digest
      UNION
      SELECT referrer.id, referrer.repository, referrer.digest
      FROM alive CROSS JOIN oci_manifest AS referrer
        ON referrer.repository = alive.repository AND referrer.subject = alive.digest
    ) ${DEAD}`,
  // Only one part of the query may refer to itself.
  postgres: `WITH RECURSIVE alive (id, repository, digest) AS (
      SELECT manifest.id, manifest.repository, manifest.digest
      FROM oci_tag AS tag JOIN oci_manifest AS manifest ON manifest.id = tag.manifest
      WHERE NOT (tag.repository LIKE 'functions/%' OR tag.repository LIKE 'catalogs/%')
      UNION
      SELECT next.id, next.repository, next.digest FROM alive CROSS JOIN LATERAL (
        SELECT child.id, child.repository, child.digest
        FROM oci_reference AS named JOIN oci_manifest AS child ON child.digest = named.digest
        WHERE named.manifest = alive.id AND child.repository = alive.repository
        UNION ALL
        SELECT referrer.id, referrer.repository, referrer.digest FROM oci_manifest AS referrer
        WHERE referrer.repository = alive.repository AND referrer.subject = alive.digest
      ) AS next
    ) ${DEAD}`,
});
const named = text<{ file: string }>(
  `SELECT file FROM oci_blob WHERE file = :file AND place = 'artifacts' LIMIT 1`,
);

/** Removes unreferenced manifests and blobs; files are deleted after the rows. */
export function collector({ read, write }: Sql): Collector {
  return {
    async deleteUnreferencedBlobs({ seenBefore, after, limit }) {
      const { rows, found } = await read(function* () {
        const rows = yield* page.all({ ...after, limit });
        const found: typeof rows = [];
        for (const row of rows) {
          const { repository, digest } = row;
          if ((yield* unneeded.first({ repository, digest, seenBefore })) !== undefined) found.push(row);
        }
        return { rows, found };
      });
      const forget = () =>
        write(function* () {
          let forgotten = 0;
          for (const { repository, digest } of found) {
            // A new manifest may refer to it, or a client may have checked it.
            if ((yield* unneeded.first({ repository, digest, seenBefore })) === undefined) continue;
            yield* removeBlob(repository, digest);
            forgotten += 1;
          }
          return forgotten;
        });
      const forgotten = found.length === 0 ? 0 : await forget();
      const last = rows.length < limit ? undefined : rows.at(-1);
      return { forgotten, last: last && { repository: last.repository, digest: last.digest } };
    },

    deleteUntaggedManifests: ({ pushedBefore }) =>
      write(function* () {
        const ids = yield* dead.all({ pushedBefore });
        for (const { id } of ids) yield* removeManifest(id);
        return ids.length;
      }),

    findUnreferencedFiles: (files: readonly Digest[]) =>
      read(function* () {
        const unreferenced: Digest[] = [];
        for (const file of files) {
          if ((yield* named.first({ file })) === undefined) unreferenced.push(file);
        }
        return unreferenced;
      }),
  };
}
