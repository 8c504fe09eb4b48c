/**
 * Reads and writes the rows of OCI repositories: manifests, blobs, tags, and open uploads.
 *
 * @module
 */

import {
  isOciDigest,
  type ManifestDescriptor,
  type ManifestStore,
  type NewBlob,
  type OciDigest,
  type RepositoryBlob,
} from '@krmhub/oci';
import { sha256 } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { and, asc, eq, gt, sql } from 'drizzle-orm';
import { lost } from '../../artifacts/stored-blob.js';
import type { Sql } from '../../sql/sql.js';
import { change, query, text, type Work } from '../../sql/statement.js';
import { appendAudit } from '../audit/append-audit.js';
import { manifests, pushers, references, repositories, repositoryBlobs, tags } from '../schema/artifacts.js';
import { addBlob, artifactAct, putManifest, removeBlob, removeManifestByDigest } from './artifact-rows.js';
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

const selectBlob = query((db) =>
  db
    .select()
    .from(repositoryBlobs)
    .where(and(eq(repositoryBlobs.repository, repository), eq(repositoryBlobs.digest, digest))),
);
const anywhere = query((db) =>
  db
    .select()
    .from(repositoryBlobs)
    .where(
      sql`${repositoryBlobs.place} IN ('artifacts', 'rows') AND (${repositoryBlobs.file} = ${digest}
      OR ("digest" <> "file" AND ${repositoryBlobs.digest} = ${digest}))`,
    )
    .limit(1),
);
const selectBytes = text<{ bytes: Buffer }>(
  `SELECT stored.bytes FROM oci_blob AS blob JOIN oci_blob_bytes AS stored USING (repository, digest)
   WHERE blob.file = :file AND blob.place = 'rows' LIMIT 1`,
);
const isNamed = query((db) =>
  db
    .select({ manifest: references.manifest })
    .from(references)
    .where(and(eq(references.repository, repository), eq(references.digest, digest)))
    .limit(1),
);
const tagged = query((db) =>
  db
    .select({ tag: tags.tag })
    .from(tags)
    .innerJoin(manifests, eq(manifests.id, tags.manifest))
    .where(and(eq(manifests.repository, repository), eq(manifests.digest, digest)))
    .orderBy(asc(tags.tag))
    .limit(1_000),
);
const selectRepository = query((db) =>
  db.select({ bytes: repositories.bytes }).from(repositories).where(eq(repositories.name, repository)),
);
const tagsAfter = query((db) =>
  db
    .select({ tag: tags.tag })
    .from(tags)
    .where(and(eq(tags.repository, repository), gt(tags.tag, sql.placeholder('after'))))
    .orderBy(asc(tags.tag))
    .limit(sql.placeholder('limit')),
);
const referrersAfter = query((db) =>
  db
    .select(descriptorColumns)
    .from(manifests)
    .where(
      and(
        eq(manifests.repository, repository),
        eq(manifests.subject, sql.placeholder('subject')),
        gt(manifests.digest, sql.placeholder('after')),
        sql`(CAST(${sql.placeholder('artifactType')} AS text) IS NULL OR ${manifests.artifactType} = ${sql.placeholder('artifactType')})`,
        sql`(CAST(${sql.placeholder('pushedBy')} AS text) IS NULL OR EXISTS (SELECT 1 FROM ${pushers}
        WHERE ${pushers.manifest} = ${manifests.id} AND ${pushers.pushedBy} = ${sql.placeholder('pushedBy')}))`,
      ),
    )
    .orderBy(asc(manifests.digest))
    .limit(sql.placeholder('limit')),
);
const selectPushers = query((db) =>
  db
    .select({ by: pushers.pushedBy })
    .from(pushers)
    .innerJoin(manifests, eq(manifests.id, pushers.manifest))
    .where(and(eq(manifests.repository, repository), eq(manifests.digest, digest)))
    .orderBy(asc(pushers.pushedBy)),
);

const byDigest = and(
  eq(manifests.repository, repository),
  eq(manifests.digest, sql.placeholder('reference')),
);
const byTag = and(eq(tags.repository, repository), eq(tags.tag, sql.placeholder('reference')));
const ofTag = eq(manifests.id, tags.manifest);
const wholeColumns = { ...headColumns, bytes: manifests.bytes };
const wholeByDigest = query((db) => db.select(wholeColumns).from(manifests).where(byDigest));
const wholeByTag = query((db) => db.select(wholeColumns).from(tags).innerJoin(manifests, ofTag).where(byTag));
const descriptorByDigest = query((db) => db.select(headColumns).from(manifests).where(byDigest));
const descriptorByTag = query((db) =>
  db.select(headColumns).from(tags).innerJoin(manifests, ofTag).where(byTag),
);
const repositoriesAfter = query((db) =>
  db
    .select({ name: repositories.name })
    .from(repositories)
    .where(and(gt(repositories.name, sql.placeholder('after')), isCurrentCatalog))
    .orderBy(asc(repositories.name))
    .limit(sql.placeholder('limit')),
);
const countRepositories = text<{ stored: number; deleted: number }>(
  `SELECT (SELECT count(*) FROM oci_repository) AS stored,
     (SELECT count(*) FROM catalog WHERE deleted IS NOT NULL) AS deleted`,
);
const touch = change((db) =>
  db
    .update(repositoryBlobs)
    .set({ seenAt: sql`${sql.placeholder('at')}` })
    .where(and(eq(repositoryBlobs.repository, repository), eq(repositoryBlobs.digest, digest))),
);
const removeTag = change((db) =>
  db.delete(tags).where(and(eq(tags.repository, repository), eq(tags.tag, sql.placeholder('tag')))),
);

export function manifestStore(sql: Sql): ManifestStore {
  const { read, readOne, write } = sql;
  return {
    manifest: (name, reference) =>
      readOne(function* () {
        const found = isOciDigest(reference) ? wholeByDigest : wholeByTag;
        const row = yield* found.first({ repository: name, reference });
        return row && { ...toDescriptor(row), bytes: row.bytes };
      }),
    manifestDescriptor: (name, reference) =>
      readOne(function* () {
        const found = isOciDigest(reference) ? descriptorByDigest : descriptorByTag;
        const row = yield* found.first({ repository: name, reference });
        return row && toDescriptor(row);
      }),
    putManifest: (name, manifest, options) => write(() => putManifest(name, manifest, options)),
    deleteManifest: (name, one, change) =>
      write(function* () {
        const isRemoved = yield* removeManifestByDigest(name, one);
        if (isRemoved) yield* appendAudit(artifactAct(change, 'artifact.delete', `${name}@${one}`));
        return isRemoved;
      }),
    deleteTag: (name, tag, change) =>
      write(function* () {
        const isRemoved = (yield* removeTag.run({ repository: name, tag })) > 0;
        if (isRemoved) yield* appendAudit(artifactAct(change, 'artifact.untag', `${name}:${tag}`));
        return isRemoved;
      }),
    listManifestTags: (name, one) =>
      readOne(function* () {
        return (yield* tagged.all({ repository: name, digest: one })).map(({ tag }) => tag);
      }),
    tags: (name, after, limit) =>
      read(function* () {
        if ((yield* selectRepository.first({ repository: name })) === undefined) return undefined;
        return (yield* tagsAfter.all({ repository: name, after, limit })).map(({ tag }) => tag);
      }),
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
      readOne(function* () {
        const values = { repository: name, subject, artifactType, pushedBy, after, limit };
        return (yield* referrersAfter.all(values)).map(toDescriptor);
      }),
    pushers: (name, one) =>
      readOne(function* () {
        return (yield* selectPushers.all({ repository: name, digest: one })).map(({ by }) => by);
      }),
    repositories: (after, limit) =>
      readOne(function* () {
        return (yield* repositoriesAfter.all({ after, limit })).map(({ name }) => name);
      }),
    repositoriesVersion: () =>
      readOne(function* () {
        const { stored, deleted } = (yield* countRepositories.first())!;
        return `${stored} ${deleted}`;
      }),

    blob: (name, one) =>
      readOne(function* () {
        const row = yield* selectBlob.first({ repository: name, digest: one });
        if (row === undefined) return undefined;
        const { repository: _, ...blob } = row;
        return blob;
      }),
    async rowBytes(file) {
      const row = await readOne(() => selectBytes.first({ file }));
      if (row === undefined || sha256(row.bytes) === file) return row?.bytes;
      throw lost(file, 'they do not match the digest');
    },
    addBlob: (name, blob, change) => write(() => addBlob(name, blob, change)),
    mountBlob: (from, to, one, change) =>
      write(function* () {
        const blob =
          from === undefined
            ? yield* anywhere.first({ digest: one })
            : yield* selectBlob.first({ repository: from, digest: one });
        // Catalogs and signatures of snapshots are only found through their catalog.
        if (blob === undefined || blob.place === 'forms' || blob.place === 'signatures') return false;
        yield* addBlob(to, yield* withBytes({ ...blob, digest: one }), change);
        return true;
      }),
    touchBlob: (name, one, at) =>
      write(function* () {
        yield* touch.run({ repository: name, digest: one, at });
      }),
    deleteBlob: (name, one, change) =>
      write(function* (): Work<'unknown' | 'named' | 'deleted'> {
        const place = { repository: name, digest: one };
        if ((yield* selectBlob.first(place)) === undefined) return 'unknown';
        if ((yield* isNamed.first(place)) !== undefined) return 'named';
        yield* removeBlob(name, one);
        yield* appendAudit(artifactAct(change, 'artifact.delete-blob', `${name}@${one}`));
        return 'deleted';
      }),
    isReferenced: (name, one) =>
      readOne(function* () {
        return (yield* isNamed.first({ repository: name, digest: one })) !== undefined;
      }),
    countBytes: (name) =>
      readOne(function* () {
        return (yield* selectRepository.first({ repository: name }))?.bytes ?? 0;
      }),
    ...collector(sql),
  };
}

/** A row without its bytes is one that another program damaged. */
function* withBytes({ place, ...blob }: Omit<RepositoryBlob, 'seenAt'>): Work<NewBlob> {
  if (place !== 'rows') return { ...blob, place };
  const row = yield* selectBytes.first({ file: blob.file });
  if (row === undefined) throw lost(blob.file, 'they are missing');
  return { ...blob, place, bytes: row.bytes };
}

function toDescriptor(row: {
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
    ...defined({ artifactType: artifactType ?? undefined, annotations: annotations ?? undefined }),
  };
}
