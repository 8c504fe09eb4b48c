import type { BlobPlace, OciDigest } from '@krmhub/oci';
import type { Digest } from '@krmhub/schema';
import { sql } from 'drizzle-orm';
import {
  blob,
  foreignKey,
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core';

/** Tables of OCI artifacts, with terms of distribution-spec. Times and JSON are as in the other tables. */

export const repositories = sqliteTable('oci_repository', {
  name: text('name').primaryKey(),
  /** Total size of its blobs and manifests, each counted once. */
  bytes: integer('bytes').notNull(),
});

/** A blob of one repository. Other repositories need their own row. */
export const repositoryBlobs = sqliteTable(
  'oci_blob',
  {
    repository: text('repository')
      .notNull()
      .references(() => repositories.name),
    /** Pushed digest: sha256 or sha512. */
    digest: text('digest').$type<OciDigest>().notNull(),
    /** Digest of the stored file. */
    file: text('file').$type<Digest>().notNull(),
    place: text('place').$type<BlobPlace>().notNull(),
    size: integer('size').notNull(),
    /** UTC; when it was last pushed, mounted, or checked by a client that may push. */
    seenAt: text('seen_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.repository, table.digest] }),
    index('oci_blob_file').on(table.file),
    index('oci_blob_other_digest').on(table.digest).where(sql`"digest" <> "file"`),
  ],
);

/** The bytes of the blobs whose place is `rows`. They are deleted with the blob. */
export const blobBytes = sqliteTable(
  'oci_blob_bytes',
  {
    repository: text('repository').notNull(),
    digest: text('digest').$type<OciDigest>().notNull(),
    bytes: blob('bytes', { mode: 'buffer' }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.repository, table.digest] }),
    foreignKey({
      columns: [table.repository, table.digest],
      foreignColumns: [repositoryBlobs.repository, repositoryBlobs.digest],
    }).onDelete('cascade'),
  ],
);

export const manifests = sqliteTable(
  'oci_manifest',
  {
    id: integer('id').primaryKey(),
    repository: text('repository')
      .notNull()
      .references(() => repositories.name),
    digest: text('digest').$type<OciDigest>().notNull(),
    mediaType: text('media_type').notNull(),
    /** Value in descriptors: its own, or the media type of its configuration. */
    artifactType: text('artifact_type'),
    /** Digest of the manifest that it refers to. */
    subject: text('subject').$type<OciDigest>(),
    /** JSON object. */
    annotations: text('annotations', { mode: 'json' }).$type<Record<string, string>>(),
    /** Bytes of the manifest. */
    size: integer('size').notNull(),
    /** UTC. */
    pushedAt: text('pushed_at').notNull(),
    pushedBy: text('pushed_by').notNull(),
    /** Exact bytes. It is the last column, so that the others are read without it. */
    bytes: blob('bytes', { mode: 'buffer' }).notNull(),
  },
  (table) => [
    uniqueIndex('oci_manifest_digest').on(table.repository, table.digest),
    index('oci_manifest_subject')
      .on(table.repository, table.subject, table.digest)
      .where(sql`"subject" IS NOT NULL`),
  ],
);

/** Everyone who pushed a referrer. Anyone could push one again, so the last pusher says little. */
export const pushers = sqliteTable(
  'oci_pusher',
  {
    manifest: integer('manifest')
      .notNull()
      .references(() => manifests.id, { onDelete: 'cascade' }),
    pushedBy: text('pushed_by').notNull(),
  },
  (table) => [primaryKey({ columns: [table.manifest, table.pushedBy] })],
);

/** References that keep content alive: configuration, layers, manifests of an index. */
export const references = sqliteTable(
  'oci_reference',
  {
    manifest: integer('manifest')
      .notNull()
      .references(() => manifests.id, { onDelete: 'cascade' }),
    /** Repository of the manifest. */
    repository: text('repository').notNull(),
    digest: text('digest').$type<OciDigest>().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.manifest, table.digest] }),
    index('oci_reference_digest').on(table.digest, table.repository),
  ],
);

export const tags = sqliteTable(
  'oci_tag',
  {
    repository: text('repository')
      .notNull()
      .references(() => repositories.name),
    tag: text('tag').notNull(),
    manifest: integer('manifest')
      .notNull()
      .references(() => manifests.id),
    /** UTC. */
    taggedAt: text('tagged_at').notNull(),
    taggedBy: text('tagged_by').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.repository, table.tag] }),
    index('oci_tag_manifest').on(table.manifest),
  ],
);
