import type { FunctionTakedown, TakedownResult } from '@krmhub/catalog';
import { type BlobPlace, EMPTY_DIGEST, type OciDigest, README_IMAGES_TYPE } from '@krmhub/oci';
import type { Digest } from '@krmhub/schema';
import { catalogRepository, functionRepository } from '../../../artifacts/repositories.js';
import { artifactWriter } from '../artifacts/artifact-rows.js';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import { signatureWriter } from '../snapshots/signatures.js';

/**
 * Removes the content of releases from every repository; call it in a transaction. Tags of the releases and of
 * withdrawn snapshots go with their manifests, and images of READMEs with their release. Definitions without another release and withdrawn catalogs are removed
 * from all repositories, with every manifest that refers to them. A README is removed only as a file of the release.
 * Returns the other repositories that lose content.
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
  const manifestAt = prepared(() =>
    client
      .prepare<[string, string], number>('SELECT manifest FROM oci_tag WHERE repository = ? AND tag = ?')
      .pluck(),
  );
  const deleteTag = prepared(() =>
    client.prepare<[string, string]>('DELETE FROM oci_tag WHERE repository = ? AND tag = ?'),
  );
  const isTagged = prepared(() =>
    client.prepare<[number], 1>('SELECT 1 FROM oci_tag WHERE manifest = ? LIMIT 1').pluck(),
  );
  const namesOf = prepared(() =>
    client.prepare<[Digest], { repository: string; digest: OciDigest; place: BlobPlace }>(
      'SELECT repository, digest, place FROM oci_blob WHERE file = ?',
    ),
  );
  const naming = prepared(() =>
    client
      .prepare<[string, string], number>(
        'SELECT manifest FROM oci_reference WHERE digest = ? AND repository = ?',
      )
      .pluck(),
  );

  const imagesOf = client
    .prepare<[number, string], number>(
      `SELECT images.id FROM oci_manifest AS release JOIN oci_manifest AS images
         ON images.repository = release.repository AND images.subject = release.digest
       WHERE release.id = ? AND images.artifact_type = ?`,
    )
    .pluck();
  const pushedFilesOf = client
    .prepare<[number], OciDigest>(
      `SELECT named.digest FROM oci_reference AS named JOIN oci_blob AS blob USING (repository, digest)
       WHERE named.manifest = ? AND blob.place = 'artifacts'`,
    )
    .pluck();

  /** Removes a manifest, and the pushed files that no other manifest of the repository has. */
  const removeWithFiles = (repository: string, manifest: number): void => {
    const files = pushedFilesOf.all(manifest);
    writer.removeManifest(manifest);
    for (const digest of files) {
      if (naming.get(digest, repository) === undefined) writer.removeBlob(repository, digest);
    }
  };
  const withdrawTag = (repository: string, tag: string): void => {
    const manifest = manifestAt.get(repository, tag);
    if (manifest === undefined) return;
    deleteTag.run(repository, tag);
    if (isTagged.get(manifest) !== undefined) return;
    for (const images of imagesOf.all(manifest, README_IMAGES_TYPE)) removeWithFiles(repository, images);
    removeWithFiles(repository, manifest);
  };
  const touched = new Set<string>();
  const remove = (repository: string, digest: OciDigest): void => {
    touched.add(repository);
    for (const manifest of naming.all(digest, repository)) writer.removeManifest(manifest);
    writer.removeBlob(repository, digest);
  };
  /** Removes the bytes from all repositories. */
  const forget = (file: Digest): void => {
    for (const { repository, digest } of namesOf.all(file)) remove(repository, digest);
  };
  /**
   * Removes a file of a release, but not the same bytes pushed by others: a README can equal any file, and it was not
   * the README that was taken down.
   */
  const forgetReleased = (file: Digest): void => {
    for (const { repository, digest, place } of namesOf.all(file)) {
      if (place !== 'releases') continue;
      // Nearly all artifacts refer to `{}`.
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
