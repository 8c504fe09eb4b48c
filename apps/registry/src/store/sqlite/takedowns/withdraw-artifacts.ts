import type { FunctionTakedown, TakedownResult } from '@krmhub/catalog';
import { type BlobPlace, EMPTY_DIGEST, type OciDigest } from '@krmhub/oci';
import type { Digest } from '@krmhub/schema';
import { catalogRepository, functionRepository } from '../../../artifacts/repositories.js';
import { artifactWriter } from '../artifacts/artifact-rows.js';
import type { Connection } from '../connection.js';
import { signatureWriter } from '../snapshots/signatures.js';

/**
 * Takes the content of releases out of every repository; to be called in a transaction. The tags of the releases and of
 * withdrawn snapshots go with their manifests. Definitions that no release has any more, and withdrawn catalogs, go wherever
 * they were pushed to, and with them every manifest that names them; a README goes as a file of the release. Gives the
 * other repositories that lose something.
 */
export function artifactWithdrawer(
  connection: Connection,
): (
  change: FunctionTakedown,
  withdrawn: TakedownResult['withdrawn'],
  blobs: TakedownResult['blobs'],
) => string[] {
  const { client } = connection;
  const writer = artifactWriter(connection);
  const signatures = signatureWriter(connection);
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
  const touched = new Set<string>();
  const remove = (repository: string, digest: OciDigest): void => {
    touched.add(repository);
    for (const manifest of naming.all(digest, repository)) writer.removeManifest(manifest);
    writer.removeBlob(repository, digest);
  };
  /** The bytes, wherever they are. */
  const forget = (file: Digest): void => {
    for (const { repository, digest } of namesOf.all(file)) remove(repository, digest);
  };
  /**
   * The file of a release, and not what others have pushed with the same bytes: a README may say the same as anything,
   * and what it says is not what was taken down.
   */
  const forgetReleased = (file: Digest): void => {
    for (const { repository, digest, place } of namesOf.all(file)) {
      if (place !== 'releases') continue;
      // Nearly all artifacts name `{}`.
      if (file === EMPTY_DIGEST) writer.removeBlob(repository, digest);
      else remove(repository, digest);
    }
  };

  return ({ group, kind, takedowns }, withdrawn, blobs) => {
    touched.clear();
    for (const { release } of takedowns) withdrawTag(functionRepository({ group, kind }), release);
    const definitions = new Set(takedowns.map(({ digest }) => digest));
    for (const { digest, keptBy } of blobs) {
      if (keptBy.length > 0) continue;
      if (definitions.has(digest)) forget(digest);
      else forgetReleased(digest);
    }
    for (const { catalog, serial, digest } of withdrawn) {
      signatures.remove(catalog, serial);
      withdrawTag(catalogRepository(catalog), String(serial));
      forget(digest);
    }
    const own = new Set([
      functionRepository({ group, kind }),
      ...withdrawn.map(({ catalog }) => catalogRepository(catalog)),
    ]);
    return [...touched].filter((repository) => !own.has(repository)).sort();
  };
}
