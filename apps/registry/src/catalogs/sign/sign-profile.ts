import type { SignatureReader, SnapshotRecord } from '@krmhub/catalog';
import type { ManifestReader } from '@krmhub/oci';
import { profileSubjects } from '@krmhub/signing/statement';
import { readSnapshotDigests, verifySnapshot } from '@krmhub/signing/verify-snapshot';
import type { SignatureRenewer } from '../../store/artifacts/artifact-store.js';
import { catalogRepository } from '../../store/artifacts/repositories.js';
import type { StoredProfile } from '../../store/profile-store.js';
import { type SigningKeys, signMore } from './sign-snapshot.js';

export interface ProfileSigningDeps {
  store: SignatureRenewer & SignatureReader & ManifestReader;
  signing: SigningKeys;
}

type SignedProfile = Pick<StoredProfile, 'profile' | 'digest' | 'report'>;

/**
 * Reports whether the signature of a snapshot covers a profile and its report. Only reads the stored statement, because
 * every request for a profile asks. True for a snapshot that is not signed: there is nothing to add to.
 */
export async function isProfileSigned(
  { store }: ProfileSigningDeps,
  { catalog, serial }: SnapshotRecord,
  rendition: SignedProfile,
): Promise<boolean> {
  const known = await store.snapshotSignature(catalog, serial);
  if (known === undefined) return true;
  const digests = readSnapshotDigests(new TextEncoder().encode(known.bundle));
  return covers(digests ?? new Map(), profileDigests(rendition));
}

/**
 * Adds a profile and its report to what the signature of its snapshot covers, unless it covers them already. Profiles
 * are written on request, after the snapshot was signed. Call it one at a time.
 */
export async function signProfile(
  { store, signing }: ProfileSigningDeps,
  { catalog, serial }: SnapshotRecord,
  rendition: SignedProfile,
): Promise<void> {
  const known = await store.snapshotSignature(catalog, serial);
  // A snapshot of an older program, or withdrawn just now.
  if (known === undefined) return;
  const keys = (await signing.keys.all()).map(({ publicKey }) => publicKey);
  const { signed } = verifySnapshot(new TextEncoder().encode(known.bundle), keys);
  // The renewal replaces a signature that is not from a key of this registry.
  if (signed === undefined || signed.claim.catalog !== catalog || signed.claim.serial !== serial) return;
  const more = profileDigests(rendition);
  if (covers(signed.digests, more)) return;
  const manifest = await store.manifestDescriptor(catalogRepository(catalog), String(serial));
  if (manifest === undefined) return;
  const { signature, artifact } = await signMore(signing, signed, known.signedAt, more, manifest);
  await store.renewSignature(signature, artifact);
}

function profileDigests({ profile, digest, report }: SignedProfile): Record<string, string> {
  const subjects = profileSubjects(profile);
  return { [subjects.document]: digest, [subjects.report]: report };
}

function covers(digests: ReadonlyMap<string, string>, wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([name, digest]) => digests.get(name) === digest);
}
