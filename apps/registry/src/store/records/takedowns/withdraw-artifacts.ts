import type { FunctionTakedown, TakedownResult } from '@krmhub/catalog';
import { type BlobPlace, EMPTY_DIGEST, type OciDigest, README_IMAGES_TYPE } from '@krmhub/oci';
import type { Digest } from '@krmhub/schema';
import { catalogRepository, functionRepository } from '../../artifacts/repositories.js';
import { text, type Work } from '../../sql/statement.js';
import { removeBlob, removeManifest, removeManifestByDigest } from '../artifacts/artifact-rows.js';
import { removeSignature } from '../snapshots/signatures.js';

const manifestAt = text<{ manifest: number }>(
  'SELECT manifest FROM oci_tag WHERE repository = :repository AND tag = :tag',
);
const deleteTag = text('DELETE FROM oci_tag WHERE repository = :repository AND tag = :tag');
const isTagged = text<{ tag: string }>('SELECT tag FROM oci_tag WHERE manifest = :manifest LIMIT 1');
const selectNames = text<{ repository: string; digest: OciDigest; place: BlobPlace }>(
  'SELECT repository, digest, place FROM oci_blob WHERE file = :file',
);
const repositoriesWith = text<{ repository: string }>(
  'SELECT repository FROM oci_manifest WHERE digest = :digest',
);
const naming = text<{ manifest: number }>(
  'SELECT manifest FROM oci_reference WHERE digest = :digest AND repository = :repository',
);
const selectImages = text<{ id: number }>(
  `SELECT images.id FROM oci_manifest AS release JOIN oci_manifest AS images
     ON images.repository = release.repository AND images.subject = release.digest
   WHERE release.id = :manifest AND images.artifact_type = :type`,
);
const selectPushedFiles = text<{ digest: OciDigest }>(
  `SELECT named.digest FROM oci_reference AS named JOIN oci_blob AS blob USING (repository, digest)
   WHERE named.manifest = :manifest AND blob.place IN ('artifacts', 'rows')`,
);

/**
 * Removes the content of releases from every repository. Tags of the releases and of withdrawn snapshots go with their
 * manifests, and images of READMEs with their release. Definitions without another release and withdrawn catalogs are
 * removed from all repositories, with every manifest that refers to them. A README is removed only as a file of the
 * release. Adds to `touched`, and returns the repositories of it that are not of the releases and catalogs.
 */
export function* withdrawArtifacts(
  { group, kind, takedowns }: FunctionTakedown,
  withdrawn: TakedownResult['withdrawn'],
  blobs: TakedownResult['blobs'],
  touched: Set<string>,
): Work<string[]> {
  for (const { release } of takedowns) yield* withdrawTag(functionRepository({ group, kind }), release);
  const definitions = new Set(takedowns.map(({ digest }) => digest));
  for (const { digest, keptBy } of blobs) {
    if (keptBy.length > 0) continue;
    if (definitions.has(digest)) yield* forget(digest, touched);
    else yield* forgetReleased(digest, touched);
  }
  for (const { catalog, serial, digest } of withdrawn) {
    yield* removeSignature(catalog, serial);
    yield* withdrawTag(catalogRepository(catalog), String(serial));
    yield* forget(digest, touched);
  }
  const own = new Set([
    functionRepository({ group, kind }),
    ...withdrawn.map(({ catalog }) => catalogRepository(catalog)),
  ]);
  return [...touched].filter((repository) => !own.has(repository)).sort();
}

function* withdrawTag(repository: string, tag: string): Work<void> {
  const found = yield* manifestAt.first({ repository, tag });
  if (found === undefined) return;
  const { manifest } = found;
  yield* deleteTag.run({ repository, tag });
  if ((yield* isTagged.first({ manifest })) !== undefined) return;
  for (const { id } of yield* selectImages.all({ manifest, type: README_IMAGES_TYPE })) {
    yield* removeWithFiles(repository, id);
  }
  yield* removeWithFiles(repository, manifest);
}

/** Removes a manifest, and the pushed files that no other manifest of the repository has. */
export function* removeWithFiles(repository: string, manifest: number): Work<void> {
  const files = yield* selectPushedFiles.all({ manifest });
  yield* removeManifest(manifest);
  for (const { digest } of files) {
    if ((yield* naming.first({ digest, repository })) === undefined) yield* removeBlob(repository, digest);
  }
}

/** Removes the bytes from all repositories, and the manifests that are them or refer to them. */
export function* forget(file: OciDigest, touched: Set<string>): Work<void> {
  for (const { repository, digest } of yield* selectNames.all({ file }))
    yield* remove(repository, digest, touched);
  for (const { repository } of yield* repositoriesWith.all({ digest: file })) {
    yield* remove(repository, file, touched);
    yield* removeManifestByDigest(repository, file);
  }
}

/**
 * Removes a file of a release, but not the same bytes pushed by others: a README can equal any file, and it was not
 * the README that was taken down.
 */
function* forgetReleased(file: Digest, touched: Set<string>): Work<void> {
  for (const { repository, digest, place } of yield* selectNames.all({ file })) {
    if (place !== 'releases') continue;
    // Nearly all artifacts refer to `{}`.
    if (file === EMPTY_DIGEST) yield* removeBlob(repository, digest);
    else yield* remove(repository, digest, touched);
  }
}

function* remove(repository: string, digest: OciDigest, touched: Set<string>): Work<void> {
  touched.add(repository);
  for (const { manifest } of yield* naming.all({ digest, repository })) yield* removeManifest(manifest);
  yield* removeBlob(repository, digest);
}
