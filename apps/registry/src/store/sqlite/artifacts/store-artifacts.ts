import type { RegistryStore } from '../../registry-store.js';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import { artifactWriter } from './artifact-rows.js';

/** Adds artifacts to releases that an older program stored without them. */
export function missingArtifacts(
  connection: Connection,
): Pick<RegistryStore, 'releasesWithoutArtifact' | 'putArtifact'> {
  const { client, read, write } = connection;
  const writer = artifactWriter(connection);
  const page = prepared(() =>
    client.prepare<
      { after: number; limit: number },
      { id: number; group: string; kind: string; release: string; known: 0 | 1 }
    >(
      `SELECT release.id, group_name AS "group", kind, release.release, EXISTS (
       SELECT 1 FROM oci_tag
       WHERE repository = 'functions/' || group_name || '/' || kind_folded AND tag = release.release) AS known
     FROM release JOIN function ON function.id = function_id WHERE release.id > :after ORDER BY release.id LIMIT :limit`,
    ),
  );
  return {
    releasesWithoutArtifact: (options) =>
      read(() => {
        const rows = page.all(options);
        return {
          without: rows.flatMap(({ id: _id, known, ...name }) => (known === 1 ? [] : [name])),
          last: rows.length < options.limit ? undefined : rows.at(-1)?.id,
        };
      }),
    putArtifact: (artifact, change) => write(() => writer.putArtifact(artifact, change, { standing: true })),
  };
}
