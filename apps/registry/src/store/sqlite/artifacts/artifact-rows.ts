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
import { manifests, pushers, references, repositories, repositoryBlobs, tags } from '../schema/artifacts.js';
import { takedowns } from '../schema/schema.js';

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
    db
      .insert(repositories)
      .values({ name: repository, bytes: sql.placeholder('bytes') })
      .onConflictDoUpdate({
        target: repositories.name,
        set: { bytes: sql`${repositories.bytes} + excluded.bytes` },
      })
      .returning({ bytes: repositories.bytes })
      .prepare(),
  );
  const blobOf = prepared(() =>
    db
      .select({ size: repositoryBlobs.size })
      .from(repositoryBlobs)
      .where(and(eq(repositoryBlobs.repository, repository), eq(repositoryBlobs.digest, digest)))
      .prepare(),
  );
  const manifestOf = prepared(() =>
    db
      .select({ id: manifests.id })
      .from(manifests)
      .where(and(eq(manifests.repository, repository), eq(manifests.digest, digest)))
      .prepare(),
  );
  const putBlob = prepared(() =>
    db
      .insert(repositoryBlobs)
      .values({
        repository,
        digest,
        file: sql.placeholder('file'),
        place: sql.placeholder('place'),
        size: sql.placeholder('size'),
        seenAt: sql.placeholder('seenAt'),
      })
      .onConflictDoUpdate({
        target: [repositoryBlobs.repository, repositoryBlobs.digest],
        // A blob of a release becomes an artifact blob when it is pushed.
        set: { seenAt: sql`excluded.seen_at`, place: sql`excluded.place`, file: sql`excluded.file` },
      })
      .prepare(),
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
    db
      .select({ reason: takedowns.reason })
      .from(takedowns)
      .where(eq(takedowns.digest, sql.placeholder('file')))
      .prepare(),
  );

  const grow = (name: string, bytes: number, { quota }: Pick<Change, 'quota'>): void => {
    const after = account.get({ repository: name, bytes })!.bytes;
    if (quota !== undefined && bytes > 0 && after > quota) throw new QuotaExceeded(after, quota);
  };

  const refuseTakenDown = (file: OciDigest): void => {
    const taken = takenDown.get({ file });
    if (taken !== undefined) throw isTombstoned(file, taken.reason);
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
      const stored = blobOf.get({ repository: name, digest });
      grow(name, stored === undefined ? size : 0, change);
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
