/**
 * The tables of the database, as drizzle describes them.
 *
 * They are those of migrations/sqlite. Times are RFC 3339 in UTC with milliseconds; flags are 0 or 1; lists and objects
 * are JSON text that preserves the order of keys, so that an author's schema stays readable. Drizzle cannot describe
 * the full-text table `function_text` (FTS5, rowid = function.id).
 *
 * In PostgreSQL, times are `timestamptz` and flags `boolean`. JSON that statements look into is `jsonb`, or `json` where
 * its order matters. Other JSON stays text: digests depend on its bytes.
 *
 * @module
 */

import type {
  CatalogDeletion,
  DeprecationRecord,
  EventType,
  LifecycleRecord,
  ReleaseAttestation,
  ReleaseBundle,
  ReleaseRecord,
  ReleaseSignature,
  RenderedEntry,
  Selection,
  SnapshotRecord,
} from '@krmhub/catalog';
import type { OciDigest } from '@krmhub/oci';
import type { Digest, Profile, Replacement, TakenDownSigner } from '@krmhub/schema';
import { sql } from 'drizzle-orm';
import { foreignKey, index, integer, primaryKey, sqliteTable, text, unique } from 'drizzle-orm/sqlite-core';
import { documentColumns } from './document-columns.js';

/** A function with the metadata that search displays. */
export const functions = sqliteTable(
  'function',
  {
    id: integer('id').primaryKey(),
    group: text('group_name').notNull(),
    kind: text('kind').notNull(),
    /** Lower case: kinds of one group must differ by more than case. */
    kindFolded: text('kind_folded').notNull(),
    /** Number of changes, from 1. */
    revision: integer('revision').notNull(),
    ...documentColumns(),
    /** The displayed release. */
    release: text('release').notNull(),
    /** Whether every release is yanked. */
    yanked: integer('yanked', { mode: 'boolean' }).notNull(),
    /** Whether the displayed release is deprecated. */
    deprecated: integer('deprecated', { mode: 'boolean' }).notNull(),
    /** JSON list; signatures of the displayed release. */
    signatures: text('signatures', { mode: 'json' }).$type<ReleaseSignature[]>().notNull().default([]),
    /** JSON list; attestations of the displayed release that policies can require. */
    attestations: text('attestations', { mode: 'json' }).$type<ReleaseAttestation[]>().notNull().default([]),
    /** Publication of the displayed release, in UTC. */
    published: text('published').notNull(),
  },
  (table) => [
    unique('function_name').on(table.group, table.kindFolded),
    index('function_order').on(table.group, table.kind),
    index('function_kind_folded').on(table.kindFolded),
  ],
);

/** A release. Except for its lifecycle, a row never changes. */
export const releases = sqliteTable(
  'release',
  {
    id: integer('id').primaryKey(),
    functionId: integer('function_id')
      .notNull()
      .references(() => functions.id),
    /** Canonical SemVer name. */
    release: text('release').notNull(),
    /** Digest of the definition's exact bytes. */
    digest: text('digest').$type<Digest>().notNull(),
    /** Bytes of the definition. */
    size: integer('size').notNull(),
    mediaType: text('media_type').$type<ReleaseRecord['mediaType']>().notNull(),
    /** Digest of the README's exact bytes. */
    readme: text('readme').$type<Digest>(),
    /** JSON list of API versions, most preferred first. */
    versions: text('versions', { mode: 'json' }).$type<string[]>().notNull(),
    /** JSON list. */
    tags: text('tags', { mode: 'json' }).$type<string[]>().notNull(),
    publisher: text('publisher').notNull(),
    /** JSON list. */
    runtimes: text('runtimes', { mode: 'json' }).$type<string[]>().notNull(),
    /** JSON list. */
    licenses: text('licenses', { mode: 'json' }).$type<string[]>().notNull(),
    /** UTC. */
    publishedAt: text('published_at').notNull(),
    publishedBy: text('published_by').notNull(),
    /** JSON of a LifecycleRecord. */
    yanked: text('yanked', { mode: 'json' }).$type<LifecycleRecord>(),
    /** JSON of a DeprecationRecord. */
    deprecated: text('deprecated', { mode: 'json' }).$type<DeprecationRecord>(),
    /** JSON of the normalized definition. It is the last column, so that summaries are read without it. */
    definition: text('definition', { mode: 'json' }).$type<ReleaseRecord['definition']>().notNull(),
  },
  (table) => [
    unique('release_name').on(table.functionId, table.release),
    index('release_digest').on(table.digest),
    index('release_readme').on(table.readme),
  ],
);

/** Bundles of releases. Not in their rows, so that bundles can be added later and read without the definition. */
export const releaseBundles = sqliteTable('release_bundles', {
  release: integer('release')
    .primaryKey()
    .references(() => releases.id, { onDelete: 'cascade' }),
  /** JSON list, the oldest first. */
  bundles: text('bundles', { mode: 'json' }).$type<ReleaseBundle[]>().notNull(),
});

/** A document that administrators apply as a whole: one row, or none. */
const appliedDocument = <Name extends string>(name: Name) =>
  sqliteTable(name, {
    id: integer('id').primaryKey(),
    /** Number of changes, from 1. */
    revision: integer('revision').notNull(),
    /** Exact text. */
    text: text('text').notNull(),
    /** UTC. */
    appliedAt: text('applied_at').notNull(),
    appliedBy: text('applied_by').notNull(),
  });

/** The signing policies. */
export const policies = appliedDocument('policy');

/** Who may see and do what. */
export const access = appliedDocument('access');

/** Tombstones of releases that were taken down, whether or not the function has other releases. */
export const takedowns = sqliteTable(
  'takedown',
  {
    id: integer('id').primaryKey(),
    group: text('group_name').notNull(),
    kind: text('kind').notNull(),
    /** Lower case. */
    kindFolded: text('kind_folded').notNull(),
    /** Canonical SemVer name. */
    release: text('release').notNull(),
    /** Digest of the definition's exact bytes. */
    digest: text('digest').$type<Digest>().notNull(),
    /** Digest of the README's exact bytes. */
    readme: text('readme').$type<Digest>(),
    /** Revision of the function after the takedown. A later publish continues from it. */
    revision: integer('revision').notNull(),
    /** UTC. */
    at: text('at').notNull(),
    by: text('by').notNull(),
    /** ID of the requesting token. */
    token: text('token'),
    reason: text('reason').notNull(),
    /** Whether its bytes are erased from the disk. */
    finished: integer('finished', { mode: 'boolean' }).notNull(),
    /** JSON list of the signers of the release; null for none, and in rows of older versions. */
    signers: text('signers', { mode: 'json' }).$type<TakenDownSigner[]>(),
    /** JSON list of the digests of its scripts; null for none, and in rows of older versions. */
    scripts: text('scripts', { mode: 'json' }).$type<Digest[]>(),
  },
  (table) => [
    unique('takedown_release').on(table.group, table.kindFolded, table.release),
    index('takedown_digest').on(table.digest),
  ],
);

/** Condition of the index of the revocation feed. */
export const IS_REVOCATION = `"type" IN ('release.yanked', 'release.unyanked', 'release.taken-down', 'catalog.withdrawn',
  'catalog.deleted', 'catalog.restored')`;

export const events = sqliteTable(
  'event',
  {
    /** Counts from 1; a number is never reused. */
    sequence: integer('sequence').primaryKey({ autoIncrement: true }),
    type: text('type').$type<EventType>().notNull(),
    /** UTC. */
    at: text('at').notNull(),
    by: text('by').notNull(),
    group: text('group_name'),
    kind: text('kind'),
    release: text('release'),
    digest: text('digest').$type<Digest>(),
    catalog: text('catalog'),
    serial: integer('serial'),
    reason: text('reason'),
    /** Name of a source of the catalog's recipe. */
    source: text('source'),
    /** JSON of what to use instead of a deprecated release. */
    replacement: text('replacement', { mode: 'json' }).$type<Replacement>(),
  },
  (table) => [index('event_revocation').on(table.sequence).where(sql.raw(IS_REVOCATION))],
);

export const catalogs = sqliteTable('catalog', {
  name: text('name').primaryKey(),
  /** The recipe's exact text. */
  recipe: text('recipe').notNull(),
  /** UTC. */
  appliedAt: text('applied_at').notNull(),
  appliedBy: text('applied_by').notNull(),
  /**
   * Sequence of the earliest event that a build must include: the recipe was applied with it, or it is a takedown of
   * a release that an earlier build may contain.
   */
  appliedEvent: integer('applied_event').notNull(),
  /** Last event that the newest snapshot includes. */
  throughEvent: integer('through_event').notNull(),
  /** UTC; the time by which minimum ages of entries are judged. */
  clock: text('clock').notNull().default(''),
  /** Last serial whose upstream functions are in `upstream_function`; less than 1 for none. */
  searchedSerial: integer('searched_serial').notNull().default(0),
  /** JSON of a CatalogDeletion; null for a catalog that is not deleted. */
  deleted: text('deleted', { mode: 'json' }).$type<CatalogDeletion>(),
});

export const snapshots = sqliteTable(
  'snapshot',
  {
    catalog: text('catalog')
      .notNull()
      .references(() => catalogs.name),
    /** Counts from 1 in each catalog. */
    serial: integer('serial').notNull(),
    /** Digest of catalog.yaml. */
    digest: text('digest').$type<Digest>().notNull(),
    /** Digest of the previous snapshot's catalog.yaml. */
    previous: text('previous').$type<Digest>(),
    /** JSON object of digests by rendition. */
    digests: text('digests', { mode: 'json' }).$type<SnapshotRecord['digests']>().notNull(),
    /** JSON object; null without labels. */
    labels: text('labels', { mode: 'json' }).$type<Record<string, string>>(),
    /** Number of functions. */
    functions: integer('functions').notNull(),
    /** UTC. */
    createdAt: text('created_at').notNull(),
    /** JSON of the takedown that withdrew it. */
    withdrawn: text('withdrawn', { mode: 'json' }).$type<NonNullable<SnapshotRecord['withdrawn']>>(),
    /** JSON list of the upstream sources; null without any. */
    sources: text('sources', { mode: 'json' }).$type<NonNullable<SnapshotRecord['sources']>>(),
    /** JSON of sizes and checksums by rendition; null in snapshots of older versions. */
    documents: text('documents', { mode: 'json' }).$type<NonNullable<SnapshotRecord['documents']>>(),
  },
  (table) => [
    primaryKey({ columns: [table.catalog, table.serial] }),
    index('snapshot_digest').on(table.catalog, table.digest),
  ],
);

/** The newest signature of each signed snapshot. */
export const snapshotSignatures = sqliteTable(
  'snapshot_signature',
  {
    catalog: text('catalog').notNull(),
    serial: integer('serial').notNull(),
    /** Digest of the bundle. */
    digest: text('digest').$type<Digest>().notNull(),
    /** Digest of its manifest in the catalog's repository. */
    manifest: text('manifest').$type<OciDigest>(),
    /** Fingerprint of the signing key. */
    key: text('key').$type<Digest>().notNull(),
    /** UTC. */
    signedAt: text('signed_at').notNull(),
    /** UTC. */
    expiresAt: text('expires_at').notNull(),
    /** A sigstore bundle, JSON. */
    bundle: text('bundle').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.catalog, table.serial] }),
    foreignKey({
      columns: [table.catalog, table.serial],
      foreignColumns: [snapshots.catalog, snapshots.serial],
    }),
    index('snapshot_signature_digest').on(table.catalog, table.digest),
  ],
);

/** A rendered entry, by digest. */
export const entries = sqliteTable(
  'entry',
  {
    /** Digest of `yaml`. */
    digest: text('digest').$type<RenderedEntry['digest']>().primaryKey(),
    yaml: text('yaml').notNull(),
    json: text('json').notNull(),
  },
  (table) => [
    index('entry_sizes').on(table.digest, sql`octet_length(${table.yaml})`, sql`octet_length(${table.json})`),
  ],
);

/** A function's entry in a catalog for a range of serials: a build adds rows only for changes. */
export const catalogFunctions = sqliteTable(
  'catalog_function',
  {
    catalog: text('catalog')
      .notNull()
      .references(() => catalogs.name),
    group: text('group_name').notNull(),
    kind: text('kind').notNull(),
    /** First serial with this entry; if above the newest serial, the row waits for the next snapshot. */
    fromSerial: integer('from_serial').notNull(),
    /** First serial without this entry; null while it is current. */
    toSerial: integer('to_serial'),
    entry: text('entry')
      .$type<Digest>()
      .references(() => entries.digest),
    /** JSON of versions, shadowed, refused and yanked. */
    selection: text('selection', { mode: 'json' }).$type<Omit<Selection, 'group' | 'kind'>>().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.catalog, table.group, table.kind, table.fromSerial] }),
    index('catalog_function_serial').on(table.catalog, table.fromSerial),
    index('catalog_function_folded').on(table.group, sql`lower(${table.kind})`),
    index('catalog_function_entry').on(table.entry),
    index('catalog_function_held')
      .on(
        table.catalog,
        table.group,
        table.kind,
        table.fromSerial,
        table.toSerial,
        table.entry,
        sql.raw(`"selection" ->> '$.versions[0].source'`),
      )
      .where(sql`${table.entry} IS NOT NULL`),
    ...(['shadowed', 'refused', 'yanked'] as const).map((remark) =>
      index(`catalog_function_${remark}`)
        .on(table.catalog, table.group, table.kind, table.fromSerial, table.toSerial)
        .where(sql.raw(`json_array_length("selection", '$.${remark}') > 0`)),
    ),
  ],
);

/** A stored coding of a profile or of its report. */
export const renditions = sqliteTable(
  'rendition',
  {
    /** Digest of the identity bytes. */
    digest: text('digest').$type<Digest>().notNull(),
    coding: text('coding').$type<'identity' | 'gzip' | 'br'>().notNull(),
    /** Digest of the stored bytes. */
    blob: text('blob').$type<Digest>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.digest, table.coding] }), index('rendition_blob').on(table.blob)],
);

/** A stored profile of a snapshot. Its bytes and its report are also rows of `rendition`. */
export const profileRenditions = sqliteTable(
  'profile_rendition',
  {
    /** Digest of the snapshot's catalog.yaml. */
    snapshot: text('snapshot').$type<Digest>().notNull(),
    profile: text('profile').$type<Profile>().notNull(),
    /** Revision of the profile that wrote it. */
    revision: integer('revision').notNull(),
    digest: text('digest').$type<Digest>().notNull(),
    report: text('report').$type<Digest>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.snapshot, table.profile] })],
);
