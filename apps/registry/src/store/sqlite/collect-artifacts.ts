import type { ManifestStore, OciDigest } from '@krmhub/oci';
import type { Digest } from '@krmhub/schema';
import type { ArtifactWriter } from './artifact-rows.js';
import type { Connection } from './connection.js';

export type Collector = Pick<
  ManifestStore,
  'forgetUnnamedBlobs' | 'forgetUntaggedManifests' | 'unnamedFiles'
>;

/** What nothing living names is forgotten; the files go after the rows. */
export function collector({ client, read, write }: Connection, writer: ArtifactWriter): Collector {
  const repositoriesAfter = client
    .prepare<[string, number], string>('SELECT name FROM oci_repository WHERE name > ? ORDER BY name LIMIT ?')
    .pluck();
  const unnamed = client
    .prepare<{ repository: string; seenBefore: string }, OciDigest>(
      `SELECT digest FROM oci_blob AS blob
       WHERE repository = :repository AND seen_at < :seenBefore
         AND NOT EXISTS (SELECT 1 FROM oci_reference AS named
                         WHERE named.repository = blob.repository AND named.digest = blob.digest)`,
    )
    .pluck();
  const dead = client
    .prepare<{ pushedBefore: string }, number>(
      `WITH RECURSIVE alive (id, repository, digest) AS (
         SELECT manifest.id, manifest.repository, manifest.digest
         FROM oci_tag AS tag JOIN oci_manifest AS manifest ON manifest.id = tag.manifest
         UNION
         SELECT child.id, child.repository, child.digest
         FROM alive JOIN oci_reference AS named ON named.manifest = alive.id
           JOIN oci_manifest AS child ON child.repository = alive.repository AND child.digest = named.digest
         UNION
         SELECT referrer.id, referrer.repository, referrer.digest
         FROM alive JOIN oci_manifest AS referrer
           ON referrer.repository = alive.repository AND referrer.subject = alive.digest
       )
       SELECT id FROM oci_manifest WHERE pushed_at < :pushedBefore
         AND repository NOT LIKE 'functions/%' AND repository NOT LIKE 'catalogs/%'
         AND id NOT IN (SELECT id FROM alive)`,
    )
    .pluck();
  const isNamed = client
    .prepare<[string], 0 | 1>(`SELECT EXISTS (SELECT 1 FROM oci_blob WHERE file = ? AND place = 'artifacts')`)
    .pluck();

  return {
    async forgetUnnamedBlobs({ seenBefore, after, limit }) {
      const names = await read(() => repositoriesAfter.all(after, limit));
      const found = await read(() =>
        names.filter((repository) => unnamed.all({ repository, seenBefore }).length > 0),
      );
      let forgotten = 0;
      if (found.length > 0) {
        forgotten = await write(() => {
          let removed = 0;
          // A manifest or somebody who pushes may have come since.
          for (const repository of found) {
            const digests = unnamed.all({ repository, seenBefore });
            for (const digest of digests) writer.removeBlob(repository, digest);
            removed += digests.length;
          }
          return removed;
        });
      }
      return { forgotten, last: names.length < limit ? undefined : names.at(-1) };
    },

    forgetUntaggedManifests: ({ pushedBefore }) =>
      write(() => {
        const ids = dead.all({ pushedBefore });
        for (const id of ids) writer.removeManifest(id);
        return ids.length;
      }),

    unnamedFiles: (files: readonly Digest[]) => read(() => files.filter((file) => isNamed.get(file) === 0)),
  };
}
