import type {
  EventType,
  LifecycleRecord,
  ReleaseBundle,
  ReleaseRecord,
  ReleaseSignature,
  RenderedEntry,
  Selection,
  SnapshotRecord,
} from '@krmhub/catalog';
import type { OciDigest } from '@krmhub/oci';
import type { Digest, Profile, ReportedSource, Takedown } from '@krmhub/schema';
import { sql } from 'drizzle-orm';
import { foreignKey, index, integer, primaryKey, sqliteTable, text, unique } from 'drizzle-orm/sqlite-core';

/**
 * The tables, as migrations/sqlite makes them. Times are RFC 3339 in UTC with milliseconds; flags are 0 or 1;
 * lists and objects are JSON as text, whose keys keep their order: an author's schema stays readable.
 * The full-text table `function_text` (FTS5, rowid = function.id) is not one that drizzle can describe.
 */

/** A function and what search shows of it. */
export const functions = sqliteTable(
  'function',
  {
    id: integer('id').primaryKey(),
    group: text('group_name').notNull(),
    kind: text('kind').notNull(),
    /** Lower case: kinds of one group differ by more than case. */
    kindFolded: text('kind_folded').notNull(),
    /** Counts the changes from 1. */
    revision: integer('revision').notNull(),
    description: text('description').notNull(),
    publisher: text('publisher').notNull(),
    /** The release that is shown. */
    release: text('release').notNull(),
    /** JSON list of API versions. */
    versions: text('versions', { mode: 'json' }).$type<string[]>().notNull(),
    /** JSON list. */
    tags: text('tags', { mode: 'json' }).$type<string[]>().notNull(),
    /** JSON list. */
    runtimes: text('runtimes', { mode: 'json' }).$type<string[]>().notNull(),
    /** JSON list. */
    licenses: text('licenses', { mode: 'json' }).$type<string[]>().notNull(),
    /** Every release is yanked. */
    yanked: integer('yanked', { mode: 'boolean' }).notNull(),
    /** The release that is shown is deprecated. */
    deprecated: integer('deprecated', { mode: 'boolean' }).notNull(),
    /** JSON list: of the release that is shown. */
    signatures: text('signatures', { mode: 'json' }).$type<ReleaseSignature[]>().notNull().default([]),
  },
  (table) => [
    unique('function_name').on(table.group, table.kindFolded),
    index('function_order').on(table.group, table.kind),
    index('function_kind_folded').on(table.kindFolded),
  ],
);

/** A release; but for its marks a row never changes. */
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
    /** JSON of a mark. */
    yanked: text('yanked', { mode: 'json' }).$type<LifecycleRecord>(),
    /** JSON of a mark. */
    deprecated: text('deprecated', { mode: 'json' }).$type<LifecycleRecord>(),
    /** JSON of the normal form; the last column, so that summaries are read without it. */
    definition: text('definition', { mode: 'json' }).$type<ReleaseRecord['definition']>().notNull(),
  },
  (table) => [
    unique('release_name').on(table.functionId, table.release),
    index('release_digest').on(table.digest),
    index('release_readme').on(table.readme),
  ],
);

/** Of the releases that have any: beside their rows, so that they can come later and are read without the definition. */
export const releaseBundles = sqliteTable('release_bundles', {
  release: integer('release')
    .primaryKey()
    .references(() => releases.id, { onDelete: 'cascade' }),
  /** JSON list, in the order in which they came. */
  bundles: text('bundles', { mode: 'json' }).$type<ReleaseBundle[]>().notNull(),
});

/** The signing policies: one row, or none. */
export const policies = sqliteTable('policy', {
  id: integer('id').primaryKey(),
  /** Counts the changes from 1. */
  revision: integer('revision').notNull(),
  /** Exact text. */
  text: text('text').notNull(),
  /** UTC. */
  appliedAt: text('applied_at').notNull(),
  appliedBy: text('applied_by').notNull(),
});

/** What is left of releases that were taken down, whether the function has others or not. */
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
    /** Of the function after it: one that is published anew counts on from there. */
    revision: integer('revision').notNull(),
    /** UTC. */
    at: text('at').notNull(),
    by: text('by').notNull(),
    /** ID of the token that asked for it. */
    token: text('token'),
    reason: text('reason').notNull(),
    /** Nothing of its bytes is left on the disk. */
    finished: integer('finished', { mode: 'boolean' }).notNull(),
  },
  (table) => [
    unique('takedown_release').on(table.group, table.kindFolded, table.release),
    index('takedown_digest').on(table.digest),
  ],
);

/** What the revocation feed holds: the condition of its index. */
export const IS_REVOCATION = `"type" IN ('release.yanked', 'release.unyanked', 'release.taken-down', 'catalog.withdrawn')`;

export const events = sqliteTable(
  'event',
  {
    /** Counts from 1; a number is never given twice. */
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
   * Sequence of the event before which no cut may have been planned: the recipe was applied with it, or something
   * was taken down that such a cut may hold.
   */
  appliedEvent: integer('applied_event').notNull(),
  /** Every event up to this sequence is taken into the newest snapshot. */
  throughEvent: integer('through_event').notNull(),
  /** UTC: by which the minimum ages of entries are judged. */
  clock: text('clock').notNull().default(''),
  /** What snapshots up to this serial hold of other catalogs is in `upstream_function`. */
  searchedSerial: integer('searched_serial').notNull().default(0),
});

export const snapshots = sqliteTable(
  'snapshot',
  {
    catalog: text('catalog')
      .notNull()
      .references(() => catalogs.name),
    /** Counts the snapshots of a catalog from 1. */
    serial: integer('serial').notNull(),
    /** Digest of catalog.yaml. */
    digest: text('digest').$type<Digest>().notNull(),
    /** Digest of the previous snapshot's catalog.yaml. */
    previous: text('previous').$type<Digest>(),
    /** JSON object of digests by form. */
    digests: text('digests', { mode: 'json' }).$type<SnapshotRecord['digests']>().notNull(),
    /** JSON object; null where the catalog has none. */
    labels: text('labels', { mode: 'json' }).$type<Record<string, string>>(),
    /** Number of functions. */
    functions: integer('functions').notNull(),
    /** UTC. */
    createdAt: text('created_at').notNull(),
    /** JSON of the takedown for which its bytes are gone. */
    withdrawn: text('withdrawn', { mode: 'json' }).$type<Takedown>(),
    /** JSON list of the sources that are catalogs elsewhere; null where there are none. */
    sources: text('sources', { mode: 'json' }).$type<ReportedSource[]>(),
  },
  (table) => [
    primaryKey({ columns: [table.catalog, table.serial] }),
    index('snapshot_digest').on(table.catalog, table.digest),
  ],
);

/** The newest signature of each snapshot that is signed. */
export const snapshotSignatures = sqliteTable(
  'snapshot_signature',
  {
    catalog: text('catalog').notNull(),
    serial: integer('serial').notNull(),
    /** Digest of the bundle. */
    digest: text('digest').$type<Digest>().notNull(),
    /** Digest of its manifest in the catalog's repository. */
    manifest: text('manifest').$type<OciDigest>(),
    /** Fingerprint of the key that signed. */
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

/** A rendered entry, by its content. */
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

/** A function's place in a catalog from one serial until another: a cut adds rows only for what changed. */
export const catalogFunctions = sqliteTable(
  'catalog_function',
  {
    catalog: text('catalog')
      .notNull()
      .references(() => catalogs.name),
    group: text('group_name').notNull(),
    kind: text('kind').notNull(),
    /** The first serial that it holds for; above the newest serial, it waits for the next snapshot. */
    fromSerial: integer('from_serial').notNull(),
    /** The first serial that it no longer holds for; null while it is the newest. */
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
    index('catalog_function_name').on(table.group, table.kind),
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

/** Where a form of a snapshot is kept. */
export const forms = sqliteTable(
  'form',
  {
    /** Digest of the identity bytes. */
    digest: text('digest').$type<Digest>().notNull(),
    coding: text('coding').$type<'identity' | 'gzip' | 'br'>().notNull(),
    /** Digest of the stored bytes. */
    blob: text('blob').$type<Digest>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.digest, table.coding] }), index('form_blob').on(table.blob)],
);

/** Where a profile of a snapshot is kept: its bytes and its report are forms. */
export const profileForms = sqliteTable(
  'profile_form',
  {
    /** Digest of the snapshot's catalog.yaml. */
    snapshot: text('snapshot').$type<Digest>().notNull(),
    profile: text('profile').$type<Profile>().notNull(),
    /** Of the profile, when it was written. */
    revision: integer('revision').notNull(),
    digest: text('digest').$type<Digest>().notNull(),
    report: text('report').$type<Digest>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.snapshot, table.profile] })],
);

export const tokens = sqliteTable(
  'token',
  {
    id: text('id').primaryKey(),
    /** SHA-256 of the secret, hexadecimal. */
    hash: text('hash').notNull(),
    name: text('name').notNull(),
    /** JSON list. */
    scopes: text('scopes', { mode: 'json' }).$type<string[]>().notNull(),
    /** JSON list of globs. */
    groups: text('groups', { mode: 'json' }).$type<string[]>().notNull(),
    /** UTC. */
    createdAt: text('created_at').notNull(),
    createdBy: text('created_by').notNull(),
    /** UTC. */
    expiresAt: text('expires_at'),
    /** UTC. */
    lastUsedAt: text('last_used_at'),
    /** UTC. */
    revokedAt: text('revoked_at'),
    revokedReason: text('revoked_reason'),
    /** JSON list of globs over repositories of artifacts. */
    repositories: text('repositories', { mode: 'json' }).$type<string[]>().notNull().default([]),
  },
  (table) => [unique('token_hash').on(table.hash)],
);
