import type { SnapshotSignature } from '@krmhub/catalog';
import { type Digest, sha256 } from '@krmhub/schema';
import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Artifact } from '../../../artifacts/artifact-store.js';
import { catalogRepository } from '../../../artifacts/repositories.js';
import type { RegistryStore } from '../../registry-store.js';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import { artifactWriter } from '../run-now.js';
import { snapshotSignatures, snapshots } from '../schema/schema.js';

export interface SignatureWriter {
  /** Replaces the previous signature and its artifact. */
  put(signature: SnapshotSignature, artifact?: Artifact): void;
  remove(catalog: string, serial: number): void;
}

const ofSnapshot = and(
  eq(snapshotSignatures.catalog, sql.placeholder('catalog')),
  eq(snapshotSignatures.serial, sql.placeholder('serial')),
);

/** Changes signatures. Call it in a transaction. */
export function signatureWriter(connection: Connection): SignatureWriter {
  const { client, db } = connection;
  const artifacts = artifactWriter(connection);
  const known = prepared(() =>
    db
      .select({ digest: snapshotSignatures.digest, manifest: snapshotSignatures.manifest })
      .from(snapshotSignatures)
      .where(ofSnapshot)
      .prepare(),
  );
  const forget = prepared(() => db.delete(snapshotSignatures).where(ofSnapshot).prepare());
  const isBundle = prepared(() =>
    client
      .prepare<[string, string], 1>(
        `SELECT 1 FROM oci_blob WHERE repository = ? AND digest = ? AND place = 'signatures'`,
      )
      .pluck(),
  );
  const naming = prepared(() =>
    client
      .prepare<[string, string], number>(
        'SELECT manifest FROM oci_reference WHERE repository = ? AND digest = ?',
      )
      .pluck(),
  );

  const remove = (catalog: string, serial: number): void => {
    const before = known.get({ catalog, serial });
    if (before === undefined) return;
    const repository = catalogRepository(catalog);
    if (before.manifest !== null) artifacts.removeManifestByDigest(repository, before.manifest);
    // The bytes go with the row, so manifests that refer to them are removed too.
    if (isBundle.get(repository, before.digest) !== undefined) {
      for (const manifest of naming.all(repository, before.digest)) artifacts.removeManifest(manifest);
      artifacts.removeBlob(repository, before.digest);
    }
    forget.run({ catalog, serial });
  };
  return {
    remove,
    put(signature, artifact) {
      remove(signature.catalog, signature.serial);
      const manifest = artifact?.manifest.digest ?? null;
      db.insert(snapshotSignatures)
        .values({ ...signature, digest: sha256(signature.bundle), manifest })
        .run();
      const change = { at: signature.signedAt, by: 'krmhub' };
      if (artifact !== undefined) artifacts.putArtifact(artifact, change, { standing: true });
    },
  };
}

export function signatureRows(
  connection: Connection,
): Pick<RegistryStore, 'snapshotSignature' | 'renewSignature' | 'hasSignatures' | 'signatureBundle'> {
  const { db, client, read, write } = connection;
  const writer = signatureWriter(connection);
  const one = prepared(() => db.select().from(snapshotSignatures).where(ofSnapshot).prepare());
  const standing = prepared(() =>
    db
      .select({ serial: snapshots.serial })
      .from(snapshots)
      .where(
        and(
          eq(snapshots.catalog, sql.placeholder('catalog')),
          eq(snapshots.serial, sql.placeholder('serial')),
          isNull(snapshots.withdrawn),
        ),
      )
      .prepare(),
  );
  const any = prepared(() =>
    client.prepare<[], 0 | 1>('SELECT EXISTS (SELECT 1 FROM snapshot_signature)').pluck(),
  );
  const bundleOf = prepared(() =>
    client
      .prepare<[string, Digest], string>(
        'SELECT bundle FROM snapshot_signature WHERE catalog = ? AND digest = ? LIMIT 1',
      )
      .pluck(),
  );

  return {
    snapshotSignature: (catalog, serial) =>
      read(() => {
        const row = one.get({ catalog, serial });
        if (row === undefined) return undefined;
        const { digest: _digest, manifest: _manifest, ...signature } = row;
        return signature;
      }),
    renewSignature: (signature, artifact) =>
      write(() => {
        const { catalog, serial } = signature;
        if (standing.get({ catalog, serial }) === undefined) return false;
        writer.put(signature, artifact);
        return true;
      }),
    hasSignatures: () => read(() => any.get() === 1),
    signatureBundle: (catalog, digest) => read(() => bundleOf.get(catalog, digest)),
  };
}
