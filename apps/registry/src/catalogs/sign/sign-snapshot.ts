/**
 * Signs snapshots and profiles, and manages the keys of the registry.
 *
 * The registry has its own keys, files next to the database. A key signs from its start time until that of the next
 * key.
 *
 * A build signs `snapshot.json`, every rendition, and the manifest by their digests, with catalog, serial, and expiry.
 * The bundle is committed with the snapshot, as a row and as a referrer in the repository of the catalog, so no
 * snapshot is without a signature. A client verifies the newest bundle with its pinned key first, then reads everything
 * else by the serial in it.
 *
 * renewal.ts signs a newest snapshot again when half of its time is over or its key was replaced; only the expiry
 * changes. sign-profile.ts adds the digest of a profile when it is written first. registry-keys.ts makes a key at the
 * first start only. If something was signed and no key is present, the registry does not start.
 *
 * @module
 */

import type { SnapshotRecord, SnapshotSignature } from '@krmhub/catalog';
import { bundleManifest, type ManifestDescriptor, MEDIA_TYPES } from '@krmhub/oci';
import { type Digest, SNAPSHOT_RENDITIONS, sha256 } from '@krmhub/schema';
import { keySigner, signStatement } from '@krmhub/signing/sign';
import { SNAPSHOT_PREDICATE, type SnapshotClaim, snapshotStatement } from '@krmhub/signing/statement';
import type { Artifact } from '../../store/artifacts/artifact-store.js';
import { catalogRepository } from '../../store/artifacts/repositories.js';
import type { RegistryKeys } from './registry-keys.js';

const MILLISECONDS_PER_DAY = 86_400_000;

/** The keys with which a registry signs. */
export interface SigningKeys {
  keys: RegistryKeys;
}

export interface SigningDeps extends SigningKeys {
  clock: () => Date;
  /** Days for which a signature states that its snapshot is the newest. */
  validDays: number;
}

export interface SignedSnapshot {
  signature: SnapshotSignature;
  artifact: Artifact;
}

type Named = Pick<SnapshotRecord, 'catalog' | 'serial' | 'previous'>;
type Manifest = Pick<ManifestDescriptor, 'digest' | 'size'>;

/** Returns everything that the signature of a snapshot covers, by name. `document` is the digest of `snapshot.json`. */
export function snapshotDigests(
  snapshot: SnapshotRecord,
  document: Digest,
  manifest: Manifest,
): Record<string, string> {
  return {
    // cosign shows the first one as the verified digest.
    manifest: manifest.digest,
    'snapshot.json': document,
    ...Object.fromEntries(SNAPSHOT_RENDITIONS.map((form) => [form, snapshot.digests[form]])),
  };
}

/** Signs a snapshot with the current key. */
export async function signSnapshot(
  { keys, clock, validDays }: SigningDeps,
  { catalog, serial, previous }: Named,
  digests: Readonly<Record<string, string>>,
  manifest: Manifest,
): Promise<SignedSnapshot> {
  const now = clock();
  const signedAt = now.toISOString();
  const expiresAt = new Date(now.getTime() + validDays * MILLISECONDS_PER_DAY).toISOString();
  return sign(keys, { catalog, serial, previous, expires: expiresAt, signedAt }, digests, manifest);
}

/**
 * Signs a snapshot again with more digests. All other claims stay: an old snapshot does not become newer because a
 * client asked for a profile of it.
 */
export async function signMore(
  { keys }: SigningKeys,
  { claim, digests }: { claim: SnapshotClaim; digests: ReadonlyMap<string, string> },
  signedAt: string,
  more: Readonly<Record<string, string>>,
  manifest: Manifest,
): Promise<SignedSnapshot> {
  return sign(keys, { signedAt, ...claim }, { ...Object.fromEntries(digests), ...more }, manifest);
}

async function sign(
  keys: RegistryKeys,
  claim: SnapshotClaim & { signedAt: string },
  digests: Readonly<Record<string, string>>,
  manifest: Manifest,
): Promise<SignedSnapshot> {
  const { privateKey, publicKey } = await keys.signing();
  const { catalog, serial, expires: expiresAt, signedAt } = claim;
  const bytes = await signStatement(snapshotStatement(claim, digests), keySigner(privateKey));
  const bundle = new TextDecoder().decode(bytes);
  const signature = { catalog, serial, bundle, key: publicKey.fingerprint, signedAt, expiresAt };
  return { signature, artifact: signatureArtifact(signature, manifest) };
}

/** Returns a signature as a referrer of the snapshot's manifest. The result is deterministic. */
export function signatureArtifact(
  { catalog, bundle, signedAt }: SnapshotSignature,
  subject: Manifest,
): Artifact {
  const digest = sha256(bundle);
  const size = Buffer.byteLength(bundle);
  const manifest = bundleManifest({
    bundle: { digest, size },
    subject: { mediaType: MEDIA_TYPES.image, digest: subject.digest, size: subject.size },
    predicateType: SNAPSHOT_PREDICATE,
    created: signedAt,
  });
  return {
    repository: catalogRepository(catalog),
    tags: [],
    manifest,
    blobs: [{ digest, file: digest, place: 'signatures', size }],
  };
}
