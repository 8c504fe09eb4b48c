import { isOciDigest, type ManifestDescriptor, type ManifestStore, type OciDigest } from '@krmhub/oci';
import { and, asc, eq, gt, sql } from 'drizzle-orm';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import { manifests, pushers, references, repositories, repositoryBlobs, tags } from '../schema/artifacts.js';
import { artifactWriter } from './artifact-rows.js';
import { collector } from './collect-artifacts.js';

/** Columns for HEAD and GET. Annotations are not included: they can have megabytes and are part of the bytes. */
const headColumns = {
  digest: manifests.digest,
  mediaType: manifests.mediaType,
  size: manifests.size,
  artifactType: manifests.artifactType,
};
const descriptorColumns = { ...headColumns, annotations: manifests.annotations };
const repository = sql.placeholder('repository');
const digest = sql.placeholder('digest');

/** Not the repository of a deleted catalog. */
const isCurrentCatalog = sql`${repositories.name} NOT IN (SELECT 'catalogs/' || name FROM catalog WHERE deleted IS NOT NULL)`;

export function manifestStore(connection: Connection): ManifestStore {
  const { db, read, write } = connection;
  const writer = artifactWriter(connection);
  const find = manifestFinder(connection);
  const blobOf = prepared(() =>
    db
      .select()
      .from(repositoryBlobs)
      .where(and(eq(repositoryBlobs.repository, repository), eq(repositoryBlobs.digest, digest)))
      .prepare(),
  );
  const anywhere = prepared(() =>
    db
      .select()
      .from(repositoryBlobs)
      .where(
        sql`${repositoryBlobs.place} = 'artifacts' AND (${repositoryBlobs.file} = ${digest}
        OR ("digest" <> "file" AND ${repositoryBlobs.digest} = ${digest}))`,
      )
      .limit(1)
      .prepare(),
  );
  const isNamed = prepared(() =>
    db
      .select({ manifest: references.manifest })
      .from(references)
      .where(and(eq(references.repository, repository), eq(references.digest, digest)))
      .limit(1)
      .prepare(),
  );
  const tagged = prepared(() =>
    db
      .select({ tag: tags.tag })
      .from(tags)
      .innerJoin(manifests, eq(manifests.id, tags.manifest))
      .where(and(eq(manifests.repository, repository), eq(manifests.digest, digest)))
      .orderBy(asc(tags.tag))
      .limit(1_000)
      .prepare(),
  );
  const repositoryOf = prepared(() =>
    db
      .select({ bytes: repositories.bytes })
      .from(repositories)
      .where(eq(repositories.name, repository))
      .prepare(),
  );
  const tagsAfter = prepared(() =>
    db
      .select({ tag: tags.tag })
      .from(tags)
      .where(and(eq(tags.repository, repository), gt(tags.tag, sql.placeholder('after'))))
      .orderBy(asc(tags.tag))
      .limit(sql.placeholder('limit'))
      .prepare(),
  );
  const referrersAfter = prepared(() =>
    db
      .select(descriptorColumns)
      .from(manifests)
      .where(
        and(
          eq(manifests.repository, repository),
          eq(manifests.subject, sql.placeholder('subject')),
          gt(manifests.digest, sql.placeholder('after')),
          sql`(${sql.placeholder('artifactType')} IS NULL OR ${manifests.artifactType} = ${sql.placeholder('artifactType')})`,
          sql`(${sql.placeholder('pushedBy')} IS NULL OR EXISTS (SELECT 1 FROM ${pushers}
          WHERE ${pushers.manifest} = ${manifests.id} AND ${pushers.pushedBy} = ${sql.placeholder('pushedBy')}))`,
        ),
      )
      .orderBy(asc(manifests.digest))
      .limit(sql.placeholder('limit'))
      .prepare(),
  );
  const pushersOf = prepared(() =>
    db
      .select({ by: pushers.pushedBy })
      .from(pushers)
      .innerJoin(manifests, eq(manifests.id, pushers.manifest))
      .where(and(eq(manifests.repository, repository), eq(manifests.digest, digest)))
      .orderBy(asc(pushers.pushedBy))
      .prepare(),
  );

  return {
    manifest: (name, reference) =>
      read(() => {
        const row = find.whole(name, reference);
        return row && { ...descriptorOf(row), bytes: row.bytes };
      }),
    manifestDescriptor: (name, reference) =>
      read(() => {
        const row = find.descriptor(name, reference);
        return row && descriptorOf(row);
      }),
    putManifest: (name, manifest, options) => write(() => writer.putManifest(name, manifest, options)),
    deleteManifest: (name, one) => write(() => writer.removeManifestByDigest(name, one)),
    deleteTag: (name, tag) =>
      write(
        () =>
          db
            .delete(tags)
            .where(and(eq(tags.repository, name), eq(tags.tag, tag)))
            .run().changes > 0,
      ),
    listManifestTags: (name, one) =>
      read(() => tagged.all({ repository: name, digest: one }).map(({ tag }) => tag)),
    tags: (name, after, limit) =>
      read(() =>
        repositoryOf.get({ repository: name }) === undefined
          ? undefined
          : tagsAfter.all({ repository: name, after, limit }).map(({ tag }) => tag),
      ),
    referrers: (
      name,
      subject,
      {
        artifactType = null,
        pushedBy = null,
        after,
        limit,
      }: { artifactType?: string | null; pushedBy?: string | null; after: string; limit: number },
    ) =>
      read(() =>
        referrersAfter
          .all({ repository: name, subject, artifactType, pushedBy, after, limit })
          .map(descriptorOf),
      ),
    pushers: (name, one) => read(() => pushersOf.all({ repository: name, digest: one }).map(({ by }) => by)),
    repositories: (after, limit) =>
      read(() =>
        db
          .select({ name: repositories.name })
          .from(repositories)
          .where(and(gt(repositories.name, after), isCurrentCatalog))
          .orderBy(asc(repositories.name))
          .limit(limit)
          .all()
          .map(({ name }) => name),
      ),

    blob: (name, one) =>
      read(() => {
        const row = blobOf.get({ repository: name, digest: one });
        if (row === undefined) return undefined;
        const { repository: _, ...blob } = row;
        return blob;
      }),
    addBlob: (name, blob, change) => write(() => writer.addBlob(name, blob, change)),
    mountBlob: (from, to, one, change) =>
      write(() => {
        const blob =
          from === undefined ? anywhere.get({ digest: one }) : blobOf.get({ repository: from, digest: one });
        // Catalogs and signatures of snapshots are only found through their catalog.
        if (blob === undefined || blob.place === 'forms' || blob.place === 'signatures') return false;
        writer.addBlob(to, { ...blob, digest: one }, change);
        return true;
      }),
    touchBlob: (name, one, at) =>
      write(() => {
        db.update(repositoryBlobs)
          .set({ seenAt: at })
          .where(and(eq(repositoryBlobs.repository, name), eq(repositoryBlobs.digest, one)))
          .run();
      }),
    deleteBlob: (name, one) =>
      write(() => {
        if (blobOf.get({ repository: name, digest: one }) === undefined) return 'unknown';
        if (isNamed.get({ repository: name, digest: one }) !== undefined) return 'named';
        writer.removeBlob(name, one);
        return 'deleted';
      }),
    isReferenced: (name, one) => read(() => isNamed.get({ repository: name, digest: one }) !== undefined),
    countBytes: (name) => read(() => repositoryOf.get({ repository: name })?.bytes ?? 0),
    ...collector(connection, writer),
  };
}

function manifestFinder({ db }: Connection) {
  const byDigest = and(
    eq(manifests.repository, repository),
    eq(manifests.digest, sql.placeholder('reference')),
  );
  const byTag = and(eq(tags.repository, repository), eq(tags.tag, sql.placeholder('reference')));
  const ofTag = eq(manifests.id, tags.manifest);
  const wholeColumns = { ...headColumns, bytes: manifests.bytes };
  const wholeByDigest = prepared(() => db.select(wholeColumns).from(manifests).where(byDigest).prepare());
  const wholeByTag = prepared(() =>
    db.select(wholeColumns).from(tags).innerJoin(manifests, ofTag).where(byTag).prepare(),
  );
  const descriptorByDigest = prepared(() => db.select(headColumns).from(manifests).where(byDigest).prepare());
  const descriptorByTag = prepared(() =>
    db.select(headColumns).from(tags).innerJoin(manifests, ofTag).where(byTag).prepare(),
  );
  return {
    whole: (name: string, reference: string) =>
      (isOciDigest(reference) ? wholeByDigest : wholeByTag).get({ repository: name, reference }),
    descriptor: (name: string, reference: string) =>
      (isOciDigest(reference) ? descriptorByDigest : descriptorByTag).get({ repository: name, reference }),
  };
}

function descriptorOf(row: {
  digest: OciDigest;
  mediaType: string;
  size: number;
  artifactType: string | null;
  annotations?: Record<string, string> | null;
}): ManifestDescriptor {
  const { digest, mediaType, size, artifactType, annotations = null } = row;
  return {
    digest,
    mediaType,
    size,
    ...(artifactType !== null && { artifactType }),
    ...(annotations !== null && { annotations }),
  };
}
