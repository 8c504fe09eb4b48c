import type { OciDigest, UnreferencedContent, UnreferencedFileFinder } from '@krmhub/oci';
import type { Digest } from '@krmhub/schema';
import type { Sql } from '../../sql/sql.js';
import { fromList, text } from '../../sql/statement.js';
import { appendAudit } from '../audit/append-audit.js';
import { artifactAct, removeBlob, removeManifest } from './artifact-rows.js';

export type Collector = UnreferencedContent & UnreferencedFileFinder;

const UNNEEDED = `oci_blob.seen_at < :seenBefore AND NOT EXISTS (
  SELECT 1 FROM oci_reference AS named
  WHERE named.repository = oci_blob.repository AND named.digest = oci_blob.digest)
  AND NOT EXISTS (SELECT 1 FROM release_pin WHERE pin = oci_blob.file)`;
const page = text<{ repository: string; digest: OciDigest; isUnneeded: number }>(
  // The page first: PostgreSQL then expects few rows, and looks up each instead of reading all references.
  `SELECT repository, digest, CASE WHEN ${UNNEEDED} THEN 1 ELSE 0 END AS "isUnneeded"
   FROM (SELECT repository, digest, file, seen_at FROM oci_blob
     WHERE (repository, digest) > (:repository, :digest) ORDER BY repository, digest LIMIT :limit) AS oci_blob
   ORDER BY repository, digest`,
);
const unneeded = text<{ repository: string }>(
  `SELECT repository FROM oci_blob WHERE repository = :repository AND digest = :digest AND ${UNNEEDED}`,
);
const DEAD = `SELECT id, repository, digest FROM oci_manifest WHERE pushed_at < :pushedBefore
  AND NOT (repository LIKE 'functions/%' OR repository LIKE 'catalogs/%') AND id NOT IN (SELECT id FROM alive)`;
/** What releases name by digest: manifests, and manifests with such a file. */
const PINNED = `SELECT id, repository, digest FROM oci_manifest WHERE digest IN (SELECT pin FROM release_pin)
      UNION
      SELECT holder.id, holder.repository, holder.digest
      FROM release_pin JOIN oci_blob AS blob ON blob.file = release_pin.pin
        JOIN oci_reference AS named ON named.repository = blob.repository AND named.digest = blob.digest
        JOIN oci_manifest AS holder ON holder.id = named.manifest`;
const dead = text<{ id: number; repository: string; digest: OciDigest }>({
  // CROSS JOIN makes SQLite go from live manifests to what they refer to: the other order would scan all manifests of a
  // repository in each step.
  sqlite: `WITH RECURSIVE alive (id, repository, digest) AS (
      SELECT manifest.id, manifest.repository, manifest.digest
      FROM oci_tag AS tag CROSS JOIN oci_manifest AS manifest ON manifest.id = tag.manifest
      WHERE NOT (tag.repository LIKE 'functions/%' OR tag.repository LIKE 'catalogs/%')
      UNION
      ${PINNED}
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
      ${PINNED}
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
const unreferenced = text<{ file: Digest }>(
  fromList(
    (list) => `SELECT wanted.value ->> 0 AS file FROM ${list} WHERE NOT EXISTS (
      SELECT 1 FROM oci_blob WHERE file = wanted.value ->> 0 AND place = 'artifacts') ORDER BY wanted.position`,
    ':files',
  ),
);

/** Removes unreferenced manifests and blobs; files are deleted after the rows. */
export function collector({ readOne, write }: Sql): Collector {
  return {
    async deleteUnreferencedBlobs({ seenBefore, after, limit }) {
      const rows = await readOne(() => page.all({ ...after, seenBefore, limit }));
      const found = rows.filter(({ isUnneeded }) => isUnneeded === 1);
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

    deleteUntaggedManifests: ({ pushedBefore, at }) =>
      write(function* () {
        const found = yield* dead.all({ pushedBefore });
        for (const { id, repository, digest } of found) {
          yield* removeManifest(id);
          yield* appendAudit(artifactAct({ at, by: 'krmhub' }, 'artifact.delete', `${repository}@${digest}`));
        }
        return found.length;
      }),

    findUnreferencedFiles: (files) =>
      readOne(function* () {
        const rows = yield* unreferenced.all({ files: JSON.stringify(files.map((file) => [file])) });
        return rows.map(({ file }) => file);
      }),
  };
}
