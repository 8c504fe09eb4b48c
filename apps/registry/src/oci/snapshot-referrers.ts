import type { CatalogReader } from '@krmhub/catalog';
import {
  bundleLayer,
  isBundleType,
  type ManifestDescriptor,
  type ManifestReader,
  type OciDigest,
  OciError,
  readStoredManifest,
  referencedDescriptors,
} from '@krmhub/oci';
import { BUNDLE_MEDIA_TYPE } from '@krmhub/schema';
import { verifyBundle } from '@krmhub/signing';
import { emptyRoot } from '@krmhub/signing/trusted-root';
import { signatureArtifact } from '../catalogs/sign/sign-snapshot.js';
import { repositoryKind } from '../store/artifacts/repositories.js';
import type { OciDeps } from './oci-deps.js';
import { bundleIn, tooLargeBundle } from './pushed-bundle.js';
import type { PushedManifest } from './pushed-manifest.js';

interface Deps {
  store: CatalogReader & ManifestReader;
}

/**
 * Returns the referrer with the registry's own signature of a snapshot; undefined for other manifests, and if the
 * registry did not sign the snapshot.
 */
export async function findSnapshotSignature(
  { store }: Deps,
  repository: string,
  subject: OciDigest,
): Promise<ManifestDescriptor | undefined> {
  const kind = repositoryKind(repository);
  if (kind.of !== 'catalog') return undefined;
  const serial = (await store.listManifestTags(repository, subject)).find((tag) => /^\d{1,15}$/.test(tag));
  if (serial === undefined) return undefined;
  const signature = await store.snapshotSignature(kind.catalog, Number(serial));
  const manifest = await store.manifestDescriptor(repository, subject);
  if (signature === undefined || manifest === undefined) return undefined;
  const { manifest: own } = signatureArtifact(signature, manifest);
  return (await store.manifestDescriptor(repository, own.digest)) === undefined ? undefined : own;
}

/** Reports whether a manifest is the registry's own signature of a snapshot. */
export async function isSnapshotSignature(
  { store }: Deps,
  repository: string,
  digest: OciDigest,
): Promise<boolean> {
  if (repositoryKind(repository).of !== 'catalog') return false;
  const stored = await store.manifest(repository, digest);
  const manifest = stored && readStoredManifest(stored.bytes, stored.mediaType);
  const subject = manifest?.kind === 'image' ? manifest.image.subject : undefined;
  if (subject === undefined) return false;
  return (await findSnapshotSignature({ store }, repository, subject.digest))?.digest === digest;
}

/** The checks that a bundle passes or fails, no matter who signed it. */
const CHECKS_OF_CONTENT: readonly string[] = ['bundle', 'statement', 'subject'];
const EXPECTED = `expected one layer of the type ${BUNDLE_MEDIA_TYPE}`;

/**
 * Refuses with DENIED a referrer in the repository of a catalog that says it is a bundle, and is not one of its
 * subject. The signer is not checked: the registry has no signing policies for catalogs, and clients trust its own key.
 */
export async function checkSnapshotReferrer(
  deps: OciDeps,
  repository: string,
  { manifest, record }: PushedManifest,
): Promise<void> {
  const { subject, artifactType = '' } = record;
  const types = [artifactType, ...referencedDescriptors(manifest).map(({ mediaType }) => mediaType)];
  if (subject === undefined || !types.some(isBundleType)) return;
  if (manifest.kind === 'index' || bundleLayer(manifest.image) === undefined) throw refusal(EXPECTED);
  const bytes = await bundleIn(deps, repository, manifest);
  if (bytes === 'too-large') throw tooLargeBundle();
  // The store refuses a manifest without its blobs.
  if (bytes === undefined) return;
  const stored = await deps.store.manifest(repository, subject);
  const signed = stored && readStoredManifest(stored.bytes, stored.mediaType);
  // A signature can be of the manifest, or of a file in it.
  const files = signed?.kind === 'image' ? signed.image.layers.map(({ digest }) => digest) : [];
  const { checks } = await deps.turns.run(() =>
    verifyBundle(bytes, { digests: [subject, ...files] }, { keys: [], root: emptyRoot() }),
  );
  const { check, message } = checks.at(-1)!;
  if (CHECKS_OF_CONTENT.includes(check)) throw refusal(`${check}: ${message}`);
}

function refusal(why: string): OciError {
  return new OciError('DENIED', `the referrer is not a bundle of its subject: ${why}`, {
    hint: 'Sign the snapshot by its digest, for example with `krmhub sign` or `cosign sign`.',
  });
}
