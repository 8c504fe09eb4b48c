import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core';
import * as artifacts from '../records/schema/artifacts.js';
import { audit } from '../records/schema/audit.js';
import { consumedReleases, consumers } from '../records/schema/consumers.js';
import { directoryGroups, directoryMembers, directoryUsers } from '../records/schema/directory.js';
import { ownerClaims } from '../records/schema/owner-claims.js';
import { releaseFiles } from '../records/schema/release-files.js';
import { releaseNotes } from '../records/schema/release-notes.js';
import { releaseRuns } from '../records/schema/release-runs.js';
import { releaseWords } from '../records/schema/release-words.js';
import { releasePins, takedownPins } from '../records/schema/runtime-pins.js';
import * as schema from '../records/schema/schema.js';
import { catalogSegments, segments } from '../records/schema/segments.js';
import { catalogSources, unusedEntries, upstreamEntries } from '../records/schema/sources.js';
import { signIns, tokens, users } from '../records/schema/tokens.js';
import { trustedPublishers, usedIdentityTokens } from '../records/schema/trusted-publishers.js';

/** A table as both databases have it. */
export interface CopiedTable {
  name: string;
  columns: readonly { name: string; type: 'integer' | 'text' | 'blob'; isReordered: boolean }[];
  /** Columns of its primary key: both databases order text by its bytes. */
  key: readonly string[];
}

/** Columns that no copy has. Search of the copy starts with nothing. */
const LEFT_OUT_COLUMNS = ['catalog.searched_serial'];

/** Columns of JSON in which PostgreSQL orders the keys itself. Nothing reads their order. */
const REORDERED_COLUMNS = ['catalog.deleted', 'catalog_function.selection'];

/** Tables of a registry, each after those that it refers to. */
export const COPIED_TABLES: readonly CopiedTable[] = [
  schema.functions,
  schema.releases,
  schema.releaseBundles,
  releaseNotes,
  releaseRuns,
  releaseWords,
  releasePins,
  releaseFiles,
  schema.events,
  audit,
  schema.policies,
  schema.access,
  ownerClaims,
  consumers,
  consumedReleases,
  trustedPublishers,
  usedIdentityTokens,
  schema.takedowns,
  takedownPins,
  users,
  directoryUsers,
  directoryGroups,
  directoryMembers,
  signIns,
  tokens,
  schema.catalogs,
  schema.snapshots,
  schema.snapshotSignatures,
  schema.entries,
  schema.catalogFunctions,
  segments,
  catalogSegments,
  catalogSources,
  upstreamEntries,
  unusedEntries,
  artifacts.repositories,
  artifacts.repositoryBlobs,
  artifacts.blobBytes,
  artifacts.manifests,
  artifacts.pushers,
  artifacts.references,
  artifacts.tags,
].map(copiedTable);

/** Rows of the files in the folder of profiles. A registry writes both again on request. */
export const PROFILE_TABLES: readonly CopiedTable[] = [schema.renditions, schema.profileRenditions].map(
  copiedTable,
);

const SEARCH = 'search: the copy has its own, made from the functions and catalogs';
const SESSION = 'sessions of the operator pages: operators sign in to the copy';
const PROCESSES = 'running processes: none uses the copy';
const MIGRATIONS = 'list of the migrations of this database';

/** Tables that no copy has, each with the reason. */
export const LEFT_OUT_TABLES: Readonly<Record<string, string>> = {
  upstream_function: SEARCH,
  upstream_change: SEARCH,
  function_text: SEARCH,
  function_text_words: SEARCH,
  function_text_whole: SEARCH,
  setting: 'places of the blobs and keys: the copy has its own',
  operator_session: SESSION,
  login_request: 'programs that wait to sign in: they ask the copy again',
  one_time_secret: SESSION,
  process: PROCESSES,
  lease: PROCESSES,
  leader_call: PROCESSES,
  leader_status: PROCESSES,
  oci_upload: 'uploads that are not complete start again',
  oci_upload_piece: 'uploads that are not complete start again',
  migration: MIGRATIONS,
  __drizzle_migrations: MIGRATIONS,
};

function copiedTable(table: SQLiteTable): CopiedTable {
  const { name, columns, primaryKeys } = getTableConfig(table);
  const key = primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary);
  return {
    name,
    columns: columns
      .filter((column) => !LEFT_OUT_COLUMNS.includes(`${name}.${column.name}`))
      .map((column) => ({
        name: column.name,
        type: column.getSQLType() as CopiedTable['columns'][number]['type'],
        isReordered: REORDERED_COLUMNS.includes(`${name}.${column.name}`),
      })),
    key: key.map((column) => column.name),
  };
}
