import type {
  DeprecationRecord,
  FunctionRecord,
  LifecycleRecord,
  ReleaseBundle,
  ReleaseSummary,
} from '@krmhub/catalog';
import { compareReleases } from '@krmhub/schema';
import { LRUCache } from 'lru-cache';
import { SERVER_LIMITS } from '../../../limits.js';
import { fromList, text, type Work } from '../../sql/statement.js';
import type { releases } from '../schema/schema.js';

interface FunctionRow {
  id: number;
  group: string;
  kind: string;
  revision: number;
}

/** A release with its bundles, without its definition. */
type SummaryRow = Omit<typeof releases.$inferSelect, 'definition'> & { bundles: ReleaseBundle[] | null };

/** As SQLite has it: lists and objects are JSON. */
type StoredRow = Omit<
  SummaryRow,
  'versions' | 'tags' | 'runtimes' | 'licenses' | 'yanked' | 'deprecated' | 'bundles'
> &
  Record<'versions' | 'tags' | 'runtimes' | 'licenses', string> &
  Record<'yanked' | 'deprecated' | 'bundles', string | null>;

export interface FunctionRecords {
  /** Reads the records of functions, in their order. */
  read(rows: readonly FunctionRow[]): Work<FunctionRecord[]>;
  /** Returns the record of one, from memory if the function has not changed. The record is frozen. */
  cached(row: FunctionRow): Work<FunctionRecord>;
}

// Not by drizzle: for thousands of rows, its conversion takes longer than everything else.
const rowsOf = text<StoredRow>(
  fromList(
    (
      list,
    ) => `SELECT release.id, function_id AS "functionId", release.release, digest, size, media_type AS "mediaType", readme,
     versions, tags, publisher, runtimes, licenses, published_at AS "publishedAt", published_by AS "publishedBy",
     yanked, deprecated, bundles
   FROM ${list} JOIN release ON function_id = CAST(CAST(wanted.value AS text) AS integer)
     LEFT JOIN release_bundles ON release_bundles.release = release.id`,
    ':ids',
  ),
);

function* readRecords(functions: readonly FunctionRow[]): Work<FunctionRecord[]> {
  const records = new Map<number, FunctionRecord>(
    functions.map(({ id, group, kind, revision }) => [id, { group, kind, revision, releases: [] }]),
  );
  for (const row of yield* rowsOf.all({ ids: JSON.stringify([...records.keys()]) })) {
    records.get(row.functionId)!.releases.push(releaseSummary(parsedRow(row)));
  }
  for (const { releases } of records.values()) releases.sort((a, b) => compareReleases(b.release, a.release));
  return functions.map(({ id }) => records.get(id)!);
}

/**
 * Returns the records of functions. A function can have thousands of releases, and every read of one of its pages needs
 * them all.
 */
export function functionRecords(): FunctionRecords {
  const cache = new LRUCache<string, FunctionRecord>({
    maxSize: SERVER_LIMITS.maxCachedReleases,
    sizeCalculation: ({ releases }) => releases.length + 1,
  });
  return {
    read: readRecords,
    *cached(row) {
      const key = `${row.group}/${row.kind}`;
      const known = cache.get(key);
      if (known?.revision === row.revision) return known;
      const record = (yield* readRecords([row]))[0]!;
      for (const release of record.releases) Object.freeze(release);
      Object.freeze(record.releases);
      cache.set(key, Object.freeze(record));
      return record;
    },
  };
}

function parsedRow(row: StoredRow): SummaryRow {
  return {
    ...row,
    versions: JSON.parse(row.versions) as string[],
    tags: JSON.parse(row.tags) as string[],
    runtimes: JSON.parse(row.runtimes) as string[],
    licenses: JSON.parse(row.licenses) as string[],
    yanked: row.yanked === null ? null : (JSON.parse(row.yanked) as LifecycleRecord),
    deprecated: row.deprecated === null ? null : (JSON.parse(row.deprecated) as DeprecationRecord),
    bundles: row.bundles === null ? null : (JSON.parse(row.bundles) as ReleaseBundle[]),
  };
}

/** Returns a row without its keys and empty columns. */
export function releaseSummary(row: SummaryRow): ReleaseSummary {
  const {
    id: _id,
    functionId: _functionId,
    mediaType: _mediaType,
    readme,
    yanked,
    deprecated,
    bundles,
    ...rest
  } = row;
  return {
    ...rest,
    ...(readme !== null && { readme }),
    ...(yanked && { yanked }),
    ...(deprecated && { deprecated }),
    ...(bundles && { bundles }),
  };
}
