import type { RegistryStore } from '../registry-store.js';
import { artifactWriter } from './artifact-rows.js';
import type { Connection } from './connection.js';

/** For what an older program stored without artifacts. */
export function artifactKeeper(
  connection: Connection,
): Pick<RegistryStore, 'releasesWithoutArtifact' | 'putArtifact'> {
  const { client, read, write } = connection;
  const writer = artifactWriter(connection);
  const without = client.prepare<[number], { group: string; kind: string; release: string }>(
    `SELECT group_name AS "group", kind, release.release FROM release JOIN function ON function.id = function_id
     WHERE NOT EXISTS (SELECT 1 FROM oci_tag
                       WHERE repository = 'functions/' || group_name || '/' || kind_folded AND tag = release.release)
     LIMIT ?`,
  );
  return {
    releasesWithoutArtifact: (limit) => read(() => without.all(limit)),
    putArtifact: (artifact, change) => write(() => writer.putArtifact(artifact, change)),
  };
}
