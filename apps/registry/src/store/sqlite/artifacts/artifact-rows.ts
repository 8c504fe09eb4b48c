import {
  type Change,
  EMPTY_DIGEST,
  type ManifestRecord,
  type OciDigest,
  QuotaExceeded,
  type RepositoryBlob,
  UnknownReferences,
} from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema';
import { and, eq, sql } from 'drizzle-orm';
import type { Artifact } from '../../../artifacts/artifact-store.js';
import type { Connection } from '../connection.js';
import { rowInserter } from '../insert-row.js';
import { prepared } from '../prepared.js';
import { manifests, pushers, references, repositoryBlobs, tags } from '../schema/artifacts.js';

export interface ArtifactWriter {
  putManifest(
    repository: string,
    manifest: ManifestRecord,
    options: Change & { tag?: string; needed: readonly OciDigest[]; standing?: boolean },
  ): void;
  addBlob(repository: string, blob: Omit<RepositoryBlob, 'seenAt'>, change: Change): void;
  /** `standing` marks the artifact of an existing release: its content is not checked for takedowns. */
  putArtifact(artifact: Artifact, change: Change, options?: { standing?: boolean }): void;
  /** Removes a manifest by row id, with its tags. */
  removeManifest(id: number): void;
  /** Removes a manifest by digest. Returns false if it does not exist. */
  removeManifestByDigest(repository: string, digest: OciDigest): boolean;
  removeBlob(repository: string, digest: OciDigest): void;
}

const repository = sql.placeholder('repository');
const digest = sql.placeholder('digest');

/** Changes repositories and the total size of each. Call it in a transaction. */
export function artifactWriter({ client, db }: Pick<Connection, 'client' | 'db'>): ArtifactWriter {
  const insertManifestRow = rowInserter({ client }, manifests);
  const account = prepared(() =>
    client
      .prepare<[name: string, bytes: number], number>(
        `INSERT INTO oci_repository (name, bytes) VALUES (?, ?)
        ON CONFLICT (name) DO UPDATE SET bytes = bytes + excluded.bytes RETURNING bytes`,
      )
      .pluck(),
  );
  const blobOf = prepared(() =>
    client.prepare<{ repository: string; digest: OciDigest }, { size: number }>(
      'SELECT size FROM oci_blob WHERE repository = :repository AND digest = :digest',
    ),
  );
  const manifestOf = prepared(() =>
    db
      .select({ id: manifests.id })
      .from(manifests)
      .where(and(eq(manifests.repository, repository), eq(manifests.digest, digest)))
      .prepare(),
  );
  // A blob of a release becomes an artifact blob when it is pushed.
  const putBlob = prepared(() =>
    client.prepare<RepositoryBlob & { repository: string }>(
      `INSERT INTO oci_blob (repository, digest, file, place, size, seen_at)
      VALUES (:repository, :digest, :file, :place, :size, :seenAt)
      ON CONFLICT (repository, digest)
      DO UPDATE SET seen_at = excluded.seen_at, place = excluded.place, file = excluded.file`,
    ),
  );
  // A client that pushes an existing manifest will refer to it next, so garbage collection treats it as new.
  const pushedAgain = prepared(() =>
    db
      .update(manifests)
      .set({ pushedAt: sql`${sql.placeholder('at')}`, pushedBy: sql`${sql.placeholder('by')}` })
      .where(eq(manifests.id, sql.placeholder('id')))
      .prepare(),
  );
  const addReference = prepared(() =>
    db
      .insert(references)
      .values({ manifest: sql.placeholder('manifest'), repository, digest })
      .onConflictDoNothing()
      .prepare(),
  );
  const addPusher = prepared(() =>
    db
      .insert(pushers)
      .values({ manifest: sql.placeholder('manifest'), pushedBy: sql.placeholder('by') })
      .onConflictDoNothing()
      .prepare(),
  );
  const putTag = prepared(() =>
    db
      .insert(tags)
      .values({
        repository,
        tag: sql.placeholder('tag'),
        manifest: sql.placeholder('manifest'),
        taggedAt: sql.placeholder('at'),
        taggedBy: sql.placeholder('by'),
      })
      .onConflictDoUpdate({
        target: [tags.repository, tags.tag],
        set: {
          manifest: sql`excluded.manifest`,
          taggedAt: sql`excluded.tagged_at`,
          taggedBy: sql`excluded.tagged_by`,
        },
      })
      .prepare(),
  );
  const takenDown = prepared(() =>
    client.prepare<[OciDigest], string>('SELECT reason FROM takedown WHERE digest = ?').pluck(),
  );

  const grow = (name: string, bytes: number, { quota }: Pick<Change, 'quota'>): void => {
    const after = account.get(name, bytes)!;
    if (quota !== undefined && bytes > 0 && after > quota) throw new QuotaExceeded(after, quota);
  };

  const refuseTakenDown = (file: OciDigest): void => {
    const reason = takenDown.get(file);
    if (reason !== undefined) throw isTombstoned(file, reason);
  };

  const insertManifest = (name: string, manifest: ManifestRecord, change: Change): number => {
    const { digest, mediaType, artifactType, subject, annotations, size, bytes } = manifest;
    grow(name, size, change);
    const id = insertManifestRow({
      repository: name,
      digest,
      mediaType,
      artifactType,
      subject,
      annotations,
      size,
      pushedAt: change.at,
      pushedBy: change.by,
      bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    });
    for (const named of manifest.references) {
      addReference.run({ manifest: id, repository: name, digest: named });
    }
    return id;
  };

  const writer: ArtifactWriter = {
    putArtifact({ repository: name, tags: given, manifest, blobs, needed = [] }, change, options = {}) {
      for (const blob of blobs) writer.addBlob(name, blob, change);
      for (const tag of given.length === 0 ? [undefined] : given) {
        const named = tag === undefined ? {} : { tag };
        writer.putManifest(name, manifest, { ...change, ...options, ...named, needed });
      }
    },

    putManifest(name, manifest, { tag, needed, standing = false, ...change }) {
      const { at, by } = change;
      if (!standing) for (const file of manifest.references) refuseTakenDown(file);
      const unknown = needed.filter(
        // Nearly all artifacts refer to `{}`, which needs no row.
        (one) =>
          one !== EMPTY_DIGEST &&
          blobOf.get({ repository: name, digest: one }) === undefined &&
          manifestOf.get({ repository: name, digest: one }) === undefined,
      );
      if (unknown.length > 0) throw new UnknownReferences(unknown);
      const stored = manifestOf.get({ repository: name, digest: manifest.digest });
      if (stored !== undefined) pushedAgain.run({ id: stored.id, at, by });
      const id = stored?.id ?? insertManifest(name, manifest, change);
      if (manifest.subject !== undefined) addPusher.run({ manifest: id, by });
      if (tag !== undefined) putTag.run({ repository: name, tag, manifest: id, at, by });
    },

    addBlob(name, { digest, file, place, size }, change) {
      if (place === 'artifacts') refuseTakenDown(file);
      // The repository of a stored blob has a row.
      if (blobOf.get({ repository: name, digest }) === undefined) grow(name, size, change);
      putBlob.run({ repository: name, digest, file, place, size, seenAt: change.at });
    },

    removeManifest(id) {
      const [removed] = db
        .select({ name: manifests.repository, size: manifests.size })
        .from(manifests)
        .where(eq(manifests.id, id))
        .all();
      if (removed === undefined) return;
      db.delete(tags).where(eq(tags.manifest, id)).run();
      db.delete(manifests).where(eq(manifests.id, id)).run();
      grow(removed.name, -removed.size, {});
    },

    removeManifestByDigest(name, one) {
      const found = manifestOf.get({ repository: name, digest: one });
      if (found !== undefined) writer.removeManifest(found.id);
      return found !== undefined;
    },

    removeBlob(name, one) {
      const stored = blobOf.get({ repository: name, digest: one });
      if (stored === undefined) return;
      db.delete(repositoryBlobs)
        .where(and(eq(repositoryBlobs.repository, name), eq(repositoryBlobs.digest, one)))
        .run();
      grow(name, -stored.size, {});
    },
  };
  return writer;
}

function isTombstoned(file: OciDigest, reason: string): KrmhubError {
  return new KrmhubError('gone', `${file} was taken down: ${reason}`, {
    hint: 'The registry does not accept bytes that were taken down.',
  });
}
