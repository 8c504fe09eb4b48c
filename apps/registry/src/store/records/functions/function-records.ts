import {
  type FunctionRecord,
  functionKey,
  type NotesAndRun,
  type ReleaseBundle,
  type ReleaseRecord,
  type ReleaseSummary,
} from '@krmhub/catalog';
import { compareReleases, type FunctionName } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { getTableColumns } from 'drizzle-orm';
import { LRUCache } from 'lru-cache';
import { SERVER_LIMITS } from '../../../limits.js';
import { fromList, text, type Work } from '../../sql/statement.js';
import { releases } from '../schema/schema.js';

type FunctionRow = Pick<FunctionRecord, 'group' | 'kind' | 'revision'>;

/** A release with its bundles, without its definition. */
type SummaryRow = Omit<typeof releases.$inferSelect, 'definition'> & { bundles: ReleaseBundle[] | null };

/** As the statement returns it: lists and objects are JSON; all columns are null for a function without releases. */
type StoredRow = Record<keyof SummaryRow, unknown>;

/** What of a release is in its row. */
type Field = Exclude<keyof ReleaseRecord, keyof FunctionName | keyof NotesAndRun | 'bundles'>;
/** The compiler names a field of a record that has no column. */
const ALL_COLUMNS = getTableColumns(releases) satisfies Record<Field, unknown>;
const { definition: _, ...COLUMNS } = ALL_COLUMNS;
const SELECTED = Object.entries(COLUMNS).map(([field, { name }]) => `release.${name} AS "${field}"`);
type Column = keyof typeof COLUMNS;
/** The compiler names a column that a record does not have. */
const FIELDS: readonly (Column & (Field | 'id' | 'functionId'))[] = Object.keys(COLUMNS) as Column[];
const JSON_FIELDS = FIELDS.filter((field) => COLUMNS[field].dataType === 'json');

export interface FunctionRecords {
  /** Reads the records of functions with one statement, in the order of the names. Leaves out names of none. */
  read(names: readonly FunctionName[]): Work<FunctionRecord[]>;
  /** Returns the record of a function from memory, unless the function has changed. */
  known(row: FunctionRow): FunctionRecord | undefined;
  /** Keeps a record in memory, and freezes it. */
  remember(record: FunctionRecord): FunctionRecord;
}

// Not by drizzle: for thousands of rows, its conversion takes longer than everything else.
const selectRows = text<StoredRow & FunctionRow>(
  fromList(
    (
      list,
      join,
    ) => `SELECT function.group_name AS "group", function.kind, revision, ${SELECTED.join(', ')}, bundles
   FROM ${list} ${join} function ON group_name = wanted.value ->> 0 AND kind_folded = wanted.value ->> 1
     LEFT JOIN release ON function_id = function.id
     LEFT JOIN release_bundles ON release_bundles.release = release.id`,
    ':names',
  ),
);

function* readRecords(names: readonly FunctionName[]): Work<FunctionRecord[]> {
  if (names.length === 0) return [];
  const wanted = new Map(names.map((name) => [functionKey(name), [name.group, name.kind.toLowerCase()]]));
  const records = new Map<string, FunctionRecord>();
  for (const { group, kind, revision, ...row } of yield* selectRows.all({
    names: JSON.stringify([...wanted.values()]),
  })) {
    const key = functionKey({ group, kind });
    const record = records.get(key) ?? { group, kind, revision, releases: [] };
    records.set(key, record);
    // A damaged database can have a function without releases.
    if (row.release !== null) record.releases.push(releaseSummary(parseRow(row)));
  }
  for (const { releases } of records.values()) releases.sort((a, b) => compareReleases(b.release, a.release));
  return [...wanted.keys()].flatMap((key) => records.get(key) ?? []);
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
    known(row) {
      const known = cache.get(functionKey(row));
      return known?.revision === row.revision ? known : undefined;
    },
    remember(record) {
      for (const release of record.releases) Object.freeze(release);
      Object.freeze(record.releases);
      cache.set(functionKey(record), Object.freeze(record));
      return record;
    },
  };
}

function parseRow(row: StoredRow): SummaryRow {
  const parsed = { ...row };
  for (const field of [...JSON_FIELDS, 'bundles'] as const) {
    if (row[field] !== null) parsed[field] = JSON.parse(row[field] as string);
  }
  return parsed as SummaryRow;
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
    ...defined({
      readme: readme ?? undefined,
      yanked: yanked ?? undefined,
      deprecated: deprecated ?? undefined,
      bundles: bundles ?? undefined,
    }),
  };
}
