import type { ManifestStore, OciDigest } from '@krmhub/oci';
import type { Digest } from '@krmhub/schema';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import type { ArtifactWriter } from './artifact-rows.js';

export type Collector = Pick<
  ManifestStore,
  'deleteUnreferencedBlobs' | 'deleteUntaggedManifests' | 'findUnreferencedFiles'
>;

/**
 * Removes unreferenced manifests and blobs; files are deleted after the rows. CROSS JOIN makes SQLite go from live
 * manifests to what they refer to: the other order would scan all manifests of a repository in each step.
 */
export function collector({ client, read, write }: Connection, writer: ArtifactWriter): Collector {
  const page = prepared(() =>
    client.prepare<
      { repository: string; digest: string; limit: number },
      { repository: string; digest: OciDigest; seenAt: string }
    >(
      `SELECT repository, digest, seen_at AS seenAt FROM oci_blob
     WHERE (repository, digest) > (:repository, :digest) ORDER BY repository, digest LIMIT :limit`,
    ),
  );
  const isNeeded = prepared(() =>
    client
      .prepare<{ repository: string; digest: string; seenBefore: string }, 0 | 1>(
        `SELECT EXISTS (SELECT 1 FROM oci_reference WHERE repository = :repository AND digest = :digest)
         OR NOT EXISTS (SELECT 1 FROM oci_blob
                        WHERE repository = :repository AND digest = :digest AND seen_at < :seenBefore)`,
      )
      .pluck(),
  );
  const dead = prepared(() =>
    client
      .prepare<{ pushedBefore: string }, number>(
        `WITH RECURSIVE alive (id, repository, digest) AS (
         SELECT manifest.id, manifest.repository, manifest.digest
         FROM oci_tag AS tag CROSS JOIN oci_manifest AS manifest ON manifest.id = tag.manifest
         WHERE NOT (tag.repository GLOB 'functions/*' OR tag.repository GLOB 'catalogs/*')
         UNION
         SELECT child.id, child.repository, child.digest
         FROM alive CROSS JOIN oci_reference AS named ON named.manifest = alive.id
           CROSS JOIN oci_manifest AS child ON child.repository = alive.repository AND child.digest = named.digest
         UNION
         SELECT referrer.id, referrer.repository, referrer.digest
         FROM alive CROSS JOIN oci_manifest AS referrer
           ON referrer.repository = alive.repository AND referrer.subject = alive.digest
       )
       SELECT id FROM oci_manifest WHERE pushed_at < :pushedBefore
         AND NOT (repository GLOB 'functions/*' OR repository GLOB 'catalogs/*')
         AND id NOT IN (SELECT id FROM alive)`,
      )
      .pluck(),
  );
  const isNamed = prepared(() =>
    client
      .prepare<[string], 0 | 1>(
        `SELECT EXISTS (SELECT 1 FROM oci_blob WHERE file = ? AND place = 'artifacts')`,
      )
      .pluck(),
  );

  return {
    async deleteUnreferencedBlobs({ seenBefore, after, limit }) {
      const unneeded = (one: { repository: string; digest: OciDigest }) =>
        isNeeded.get({ ...one, seenBefore }) === 0;
      const { rows, found } = await read(() => {
        const rows = page.all({ ...after, limit });
        return { rows, found: rows.filter((row) => row.seenAt < seenBefore && unneeded(row)) };
      });
      const forget = () => {
        // A new manifest may refer to it, or a client may have checked it.
        const still = found.filter(unneeded);
        for (const { repository, digest } of still) writer.removeBlob(repository, digest);
        return still.length;
      };
      const forgotten = found.length === 0 ? 0 : await write(forget);
      const last = rows.length < limit ? undefined : rows.at(-1);
      return { forgotten, last: last && { repository: last.repository, digest: last.digest } };
    },

    deleteUntaggedManifests: ({ pushedBefore }) =>
      write(() => {
        const ids = dead.all({ pushedBefore });
        for (const id of ids) writer.removeManifest(id);
        return ids.length;
      }),

    findUnreferencedFiles: (files: readonly Digest[]) =>
      read(() => files.filter((file) => isNamed.get(file) === 0)),
  };
}
