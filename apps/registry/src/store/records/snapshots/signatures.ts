import type { SignatureReader, SnapshotSignature } from '@krmhub/catalog';
import { type Digest, sha256 } from '@krmhub/schema';
import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Artifact, SignatureRenewer } from '../../artifacts/artifact-store.js';
import { catalogRepository } from '../../artifacts/repositories.js';
import type { Sql } from '../../sql/sql.js';
import { change, query, type StatementCall, text, together, type Work } from '../../sql/statement.js';
import { type AddedArtifact, artifactChanges } from '../artifacts/artifact-changes.js';
import { removeBlob, removeManifest, removeManifestByDigest } from '../artifacts/artifact-rows.js';
import { snapshotSignatures, snapshots } from '../schema/schema.js';

const catalog = sql.placeholder('catalog');
const serial = sql.placeholder('serial');
const ofSnapshot = and(eq(snapshotSignatures.catalog, catalog), eq(snapshotSignatures.serial, serial));

const one = query((db) => db.select().from(snapshotSignatures).where(ofSnapshot));
const known = query((db) =>
  db
    .select({ digest: snapshotSignatures.digest, manifest: snapshotSignatures.manifest })
    .from(snapshotSignatures)
    .where(ofSnapshot),
);
const forget = change((db) => db.delete(snapshotSignatures).where(ofSnapshot));
const add = change((db) =>
  db.insert(snapshotSignatures).values({
    catalog,
    serial,
    digest: sql.placeholder('digest'),
    manifest: sql.placeholder('manifest'),
    key: sql.placeholder('key'),
    signedAt: sql.placeholder('signedAt'),
    expiresAt: sql.placeholder('expiresAt'),
    bundle: sql.placeholder('bundle'),
  }),
);
const bundleBlob = text<{ digest: Digest }>(
  `SELECT digest FROM oci_blob WHERE repository = :repository AND digest = :digest AND place = 'signatures'`,
);
const naming = text<{ manifest: number }>(
  'SELECT manifest FROM oci_reference WHERE repository = :repository AND digest = :digest',
);
const servedSnapshot = query((db) =>
  db
    .select({ serial: snapshots.serial })
    .from(snapshots)
    .where(and(eq(snapshots.catalog, catalog), eq(snapshots.serial, serial), isNull(snapshots.withdrawn))),
);
const any = text<{ serial: number }>('SELECT serial FROM snapshot_signature LIMIT 1');
const selectBundle = text<{ bundle: string }>(
  'SELECT bundle FROM snapshot_signature WHERE catalog = :catalog AND digest = :digest LIMIT 1',
);

/** Removes the signature of a snapshot, with its artifact. */
export function* removeSignature(catalog: string, serial: number): Work<void> {
  const before = yield* known.first({ catalog, serial });
  if (before === undefined) return;
  const repository = catalogRepository(catalog);
  const { digest, manifest } = before;
  if (manifest !== null) yield* removeManifestByDigest(repository, manifest);
  // The bytes go with the row, so manifests that refer to them are removed too.
  if ((yield* bundleBlob.first({ repository, digest })) !== undefined) {
    for (const named of yield* naming.all({ repository, digest })) yield* removeManifest(named.manifest);
    yield* removeBlob(repository, digest);
  }
  yield* forget.run({ catalog, serial });
}

/** Returns the insertion of the signature of a snapshot that has none, without its artifact. */
export function addSignature(signature: SnapshotSignature, artifact?: Artifact): StatementCall {
  const manifest = artifact?.manifest.digest ?? null;
  return add.later({ ...signature, digest: sha256(signature.bundle), manifest });
}

/** Replaces the signature of a snapshot and its artifact. */
function* putSignature(signature: SnapshotSignature, artifact?: Artifact): Work<void> {
  yield* removeSignature(signature.catalog, signature.serial);
  const artifacts = signatureArtifacts(signature, artifact);
  yield* together([addSignature(signature, artifact), ...(yield* artifactChanges(artifacts))]);
}

/** Returns the artifact of a signature for `artifactChanges`. */
export function signatureArtifacts(
  { signedAt }: SnapshotSignature,
  artifact: Artifact | undefined,
): AddedArtifact[] {
  return artifact === undefined ? [] : [{ ...artifact, at: signedAt, by: 'krmhub', isServed: true }];
}

const keys = text<{ key: Digest }>('SELECT DISTINCT key FROM snapshot_signature');

export function signatureRows({ readOne, write }: Sql): SignatureReader & SignatureRenewer {
  return {
    snapshotSignature: (catalog, serial) =>
      readOne(function* () {
        const row = yield* one.first({ catalog, serial });
        if (row === undefined) return undefined;
        const { digest: _digest, manifest: _manifest, ...signature } = row;
        return signature;
      }),
    renewSignature: (signature, artifact) =>
      write(function* () {
        const { catalog, serial } = signature;
        if ((yield* servedSnapshot.first({ catalog, serial })) === undefined) return false;
        yield* putSignature(signature, artifact);
        return true;
      }),
    signatureKeys: () =>
      readOne(function* () {
        return (yield* keys.all()).map(({ key }) => key);
      }),
    hasSignatures: () =>
      readOne(function* () {
        return (yield* any.first()) !== undefined;
      }),
    signatureBundle: (catalog, digest) =>
      readOne(function* () {
        return (yield* selectBundle.first({ catalog, digest }))?.bundle;
      }),
  };
}
