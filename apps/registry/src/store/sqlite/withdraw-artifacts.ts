import type { FunctionTakedown, TakedownReach } from '@krmhub/catalog';
import type { BlobPlace, OciDigest } from '@krmhub/oci';
import type { Digest } from '@krmhub/schema';
import { catalogRepository, functionRepository } from '../../oci/repositories.js';
import { artifactWriter, EMPTY_DIGEST } from './artifact-rows.js';
import type { Connection } from './connection.js';

/**
 * Takes the content of releases out of every repository; to be called in a transaction. The tags of the releases and of
 * withdrawn snapshots go with their manifests. Bytes that no release has any more go wherever they were pushed to, and
 * with them every manifest that names them.
 */
export function artifactWithdrawer(
  connection: Connection,
): (change: FunctionTakedown, withdrawn: TakedownReach['withdrawn'], blobs: TakedownReach['blobs']) => void {
  const { client } = connection;
  const writer = artifactWriter(connection);
  const manifestAt = client
    .prepare<[string, string], number>('SELECT manifest FROM oci_tag WHERE repository = ? AND tag = ?')
    .pluck();
  const deleteTag = client.prepare<[string, string]>('DELETE FROM oci_tag WHERE repository = ? AND tag = ?');
  const isTagged = client.prepare<[number], 1>('SELECT 1 FROM oci_tag WHERE manifest = ? LIMIT 1').pluck();
  const namesOf = client.prepare<[Digest], { repository: string; digest: OciDigest; place: BlobPlace }>(
    'SELECT repository, digest, place FROM oci_blob WHERE file = ?',
  );
  const naming = client
    .prepare<[string, string], number>(
      'SELECT manifest FROM oci_reference WHERE digest = ? AND repository = ?',
    )
    .pluck();

  const withdrawTag = (repository: string, tag: string): void => {
    const manifest = manifestAt.get(repository, tag);
    if (manifest === undefined) return;
    deleteTag.run(repository, tag);
    if (isTagged.get(manifest) === undefined) writer.removeManifest(manifest);
  };
  const forget = (file: Digest): void => {
    for (const { repository, digest, place } of namesOf.all(file)) {
      if (file === EMPTY_DIGEST) {
        // A README may say no more than `{}`, which nearly all artifacts name, and every repository has.
        if (place === 'releases') writer.removeBlob(repository, digest);
        continue;
      }
      for (const manifest of naming.all(digest, repository)) writer.removeManifest(manifest);
      writer.removeBlob(repository, digest);
    }
  };

  return ({ group, kind, takedowns }, withdrawn, blobs) => {
    for (const { release } of takedowns) withdrawTag(functionRepository({ group, kind }), release);
    for (const { digest, keptBy } of blobs) if (keptBy.length === 0) forget(digest);
    for (const { catalog, serial, digest } of withdrawn) {
      withdrawTag(catalogRepository(catalog), String(serial));
      forget(digest);
    }
  };
}
