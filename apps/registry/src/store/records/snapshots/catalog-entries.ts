import { setImmediate } from 'node:timers/promises';
import {
  type CatalogEntryRow,
  type ChangedEntry,
  compareFunctionNames,
  type EntryFilter,
  type EntryPageReader,
  type EntryQuery,
} from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { ReadSql } from '../../sql/sql.js';
import { text, type Work } from '../../sql/statement.js';
import { AT_SERIAL, type EntryRow, toEntryRow } from './entry-row.js';

/** Index entries that are scanned before other work runs: about 2 ms. */
const SCANNED_AT_ONCE = 5_000;
/** Functions whose rows are read before other work runs. */
const READ_AT_ONCE = 100;

type Database = 'sqlite' | 'postgres';

/** Each condition has a covering index. */
const CONDITIONS: Record<Database, Record<EntryFilter['of'], string>> = {
  sqlite: {
    held: 'entry IS NOT NULL',
    shadowed: `json_array_length(selection, '$.shadowed') > 0`,
    refused: `json_array_length(selection, '$.refused') > 0`,
    yanked: `json_array_length(selection, '$.yanked') > 0`,
  },
  postgres: {
    held: 'entry IS NOT NULL',
    shadowed: `jsonb_array_length(selection -> 'shadowed') > 0`,
    refused: `jsonb_array_length(selection -> 'refused') > 0`,
    yanked: `jsonb_array_length(selection -> 'yanked') > 0`,
  },
};
const SOURCE: Record<Database, string> = {
  sqlite: `selection ->> '$.versions[0].source'`,
  postgres: `selection -> 'versions' -> 0 ->> 'source'`,
};

/** A name after all others. */
const LAST = { group: '\u{10ffff}', kind: '' };

type Range = FunctionName & { catalog: string; serial: number; endGroup: string; endKind: string };

const rowAt = text<EntryRow>(
  `SELECT group_name AS "group", kind, entry, selection FROM catalog_function
   WHERE catalog = :catalog AND group_name = :group AND kind = :kind AND ${AT_SERIAL}
   ORDER BY from_serial DESC LIMIT 1`,
);
// The index is ordered by serial, so only the changed rows are read.
const changedIn = (table: string) =>
  `SELECT group_name AS "group", kind FROM ${table}
   WHERE catalog = :catalog AND from_serial > :from AND from_serial <= :to LIMIT :limit`;
const changedNames = text<FunctionName>({
  sqlite: changedIn('catalog_function INDEXED BY catalog_function_serial'),
  postgres: changedIn('catalog_function'),
});
const steps = {
  held: steppers('held'),
  shadowed: steppers('shadowed'),
  refused: steppers('refused'),
  yanked: steppers('yanked'),
};

function steppers(of: EntryFilter['of']) {
  const after = (database: Database) =>
    `FROM catalog_function ${database === 'sqlite' ? `INDEXED BY catalog_function_${of}` : ''}
     WHERE ${CONDITIONS[database][of]} AND catalog = :catalog AND (group_name, kind) > (:group, :kind)`;
  const inRange = (database: Database) =>
    `${after(database)} AND (group_name, kind) <= (:endGroup, :endKind)
     AND ${AT_SERIAL}`;
  const source = (database: Database) => (of === 'held' ? SOURCE[database] : `''`);
  const end = (database: Database) =>
    `SELECT group_name AS "group", kind ${after(database)}
     ORDER BY group_name, kind LIMIT 1 OFFSET ${SCANNED_AT_ONCE - 1}`;
  return {
    /** Last name of a scan; undefined if fewer index entries are left. */
    end: text<FunctionName>({ sqlite: end('sqlite'), postgres: end('postgres') }),
    names: text<FunctionName>({
      sqlite: `SELECT group_name AS "group", kind ${inRange('sqlite')}
         AND (:text IS NULL OR instr(lower(group_name || '/' || kind), :text) > 0)
         AND (:source IS NULL OR ${source('sqlite')} = :source)
       ORDER BY group_name, kind LIMIT :limit`,
      postgres: `SELECT group_name AS "group", kind ${inRange('postgres')}
         AND (:text::text IS NULL OR strpos(lower(group_name || '/' || kind), :text::text) > 0)
         AND (:source::text IS NULL OR ${source('postgres')} = :source::text)
       ORDER BY group_name, kind LIMIT :limit`,
    }),
    sources: text<FunctionName & { source: string | null }>({
      sqlite: `SELECT group_name AS "group", kind, ${source('sqlite')} AS source ${inRange('sqlite')}`,
      postgres: `SELECT group_name AS "group", kind, ${source('postgres')} AS source ${inRange('postgres')}`,
    }),
    counts: text<{ source: string | null; count: number }>({
      // Grouped by the expression itself, SQLite would read every row, although the index contains it.
      sqlite: `SELECT source, count(*) AS count FROM (
         SELECT ${source('sqlite')} AS source ${inRange('sqlite')} ORDER BY group_name, kind LIMIT -1)
       GROUP BY source`,
      postgres: `SELECT source, count(*) AS count FROM (
         SELECT ${source('postgres')} AS source ${inRange('postgres')}) AS held GROUP BY source`,
    }),
  };
}

function* rowsAt(catalog: string, serial: number, names: readonly FunctionName[]): Work<CatalogEntryRow[]> {
  const rows: CatalogEntryRow[] = [];
  for (const { group, kind } of names) {
    const row = yield* rowAt.first({ catalog, serial, group, kind });
    if (row !== undefined) rows.push(toEntryRow(row));
  }
  return rows;
}

/** Pages, counts, and changes of the entry rows of a catalog. Each call does a bounded amount of work. */
export function catalogEntryRows({ read }: ReadSql): EntryPageReader {
  /** Calls `visit` for one range of names after the other, until there are no more or it returns false. */
  async function forRanges(
    { catalog, serial, of }: EntryFilter,
    after: FunctionName,
    visit: (range: Range) => Work<boolean>,
  ): Promise<void> {
    let from = after;
    for (;;) {
      const start = from;
      const end = await read(function* () {
        const found = yield* steps[of].end.first({ catalog, ...start });
        const { group: endGroup, kind: endKind } = found ?? LAST;
        return (yield* visit({ catalog, serial, ...start, endGroup, endKind })) ? found : undefined;
      });
      if (end === undefined) return;
      from = { group: end.group, kind: end.kind };
      await setImmediate();
    }
  }

  return {
    async entryPage({ text, source, after = { group: '', kind: '' }, limit, ...filter }: EntryQuery) {
      const names: FunctionName[] = [];
      await forRanges(filter, { group: after.group, kind: after.kind }, function* (range) {
        // One more than the page, to know whether there is a next page.
        const found = yield* steps[filter.of].names.all({
          ...range,
          text: text === undefined ? null : text.toLowerCase(),
          source: source ?? null,
          limit: limit + 1 - names.length,
        });
        names.push(...found);
        return names.length <= limit;
      });
      const isMore = names.length > limit;
      const { catalog, serial } = filter;
      const rows = await read(() => rowsAt(catalog, serial, names.slice(0, limit)));
      const next = isMore ? names[limit - 1] : undefined;
      return { rows, ...defined({ next }) };
    },

    async countEntries(filter, sees) {
      const counts = new Map<string, number>();
      const add = (source: string | null, count: number) =>
        counts.set(source ?? '', (counts.get(source ?? '') ?? 0) + count);
      const { counts: all, sources } = steps[filter.of];
      await forRanges(filter, { group: '', kind: '' }, function* (range) {
        if (sees === undefined) {
          for (const { source, count } of yield* all.all({ ...range })) add(source, count);
        } else {
          for (const { source, ...name } of yield* sources.all({ ...range })) if (sees(name)) add(source, 1);
        }
        return true;
      });
      return counts;
    },

    async changedEntries(catalog, { from, to }, limit) {
      const rows = await read(() => changedNames.all({ catalog, from, to, limit: limit + 1 }));
      const unique = new Map(rows.map((name) => [`${name.group}/${name.kind}`, name]));
      const names = [...unique.values()].slice(0, limit).sort(compareFunctionNames);
      const changed: ChangedEntry[] = [];
      for (let start = 0; start < names.length; start += READ_AT_ONCE) {
        if (start > 0) await setImmediate();
        const batch = names.slice(start, start + READ_AT_ONCE);
        await read(function* () {
          for (const name of batch) {
            const [before] = yield* rowsAt(catalog, from, [name]);
            const [after] = yield* rowsAt(catalog, to, [name]);
            changed.push({
              ...name,
              ...defined({ before, after }),
            });
          }
        });
      }
      return { changed, isAll: rows.length <= limit };
    },
  };
}
