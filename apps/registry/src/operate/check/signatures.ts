import { renderSnapshot, type SnapshotRecord, type SnapshotSignature } from '@krmhub/catalog';
import { KrmhubError, type PublicKey, sha256 } from '@krmhub/schema';
import { verifySnapshot } from '@krmhub/signing/verify-snapshot';
import { readKeyFiles } from '../../catalogs/sign/key-files.js';
import { snapshotDigests } from '../../catalogs/sign/sign-snapshot.js';
import { catalogRepository } from '../../store/artifacts/repositories.js';
import { type Check, type CheckInput, damage, FROM_BACKUP, information } from './finding.js';

/**
 * Checks that the newest snapshot of every catalog is signed with a key of the registry, and that the content
 * matches.
 */
export const checkSignatures: Check = async function* (input) {
  const { store, keyFolder } = input;
  let keys: PublicKey[];
  try {
    keys = (await readKeyFiles(keyFolder)).map(({ publicKey }) => publicKey);
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    yield damage('keys', error.message, error.hint);
    return;
  }
  if (keys.length === 0 && (await store.hasSignatures())) {
    yield damage('keys', 'snapshots are signed, but the registry keys are missing', FROM_BACKUP);
    return;
  }
  let unsigned = 0;
  for (const { name, newest } of await store.catalogs()) {
    if (newest === undefined || newest.withdrawn !== undefined) continue;
    const signature = await store.snapshotSignature(name, newest.serial);
    if (signature === undefined) {
      unsigned += 1;
      continue;
    }
    const problem = await findProblem(input, newest, signature, keys);
    if (problem === undefined) continue;
    yield damage(
      `signature of snapshot ${name} ${newest.serial}`,
      problem,
      'Start the registry. It replaces an unreadable signature. If the problem remains, restore a backup.',
    );
  }
  // For example, the database of an older program before the next start.
  if (unsigned > 0) {
    yield information(
      'signatures',
      `${unsigned} newest snapshots are not signed yet; the next start signs them`,
    );
  }
};

async function findProblem(
  { store, client }: CheckInput,
  snapshot: SnapshotRecord,
  { bundle, key }: SnapshotSignature,
  keys: readonly PublicKey[],
): Promise<string | undefined> {
  const { catalog, serial } = snapshot;
  const { checks, signed } = verifySnapshot(new TextEncoder().encode(bundle), keys);
  if (signed === undefined) return checks.find(({ passed }) => !passed)?.message ?? 'it is not valid';
  const { claim, digests, signer } = signed;
  if (claim.catalog !== catalog || claim.serial !== serial || claim.previous !== snapshot.previous) {
    return `it is for snapshot ${claim.serial} of catalog ${claim.catalog}`;
  }
  if (signer.fingerprint !== key) return `it is signed with key ${signer.fingerprint}, expected ${key}`;
  const manifest = client
    .prepare<[string, string], { digest: `sha256:${string}`; size: number }>(
      `SELECT digest, size FROM oci_manifest JOIN oci_tag ON oci_manifest.id = oci_tag.manifest
       WHERE oci_tag.repository = ? AND tag = ?`,
    )
    .get(catalogRepository(catalog), String(serial));
  if (manifest === undefined) return 'the snapshot has no manifest';
  const functions = await store.snapshotEntryRows(catalog, serial);
  for (const [name, digest] of Object.entries(
    snapshotDigests(snapshot, sha256(renderSnapshot(snapshot, functions)), manifest),
  )) {
    const signed = digests.get(name);
    if (signed !== digest)
      return `it signs ${name} with digest ${signed ?? '(none)'}, but the digest is ${digest}`;
  }
  return undefined;
}
