import { setImmediate } from 'node:timers/promises';
import {
  type CatalogEntryRow,
  type ChangedEntry,
  compareFunctionNames,
  type EntryFilter,
  type EntryQuery,
} from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';
import type { RegistryStore } from '../../registry-store.js';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import { type EntryRow, toEntryRow } from './entry-row.js';

/** Index entries that are scanned before other work runs: about 2 ms. */
const SCANNED_AT_ONCE = 5_000;
/** Functions whose rows are read before other work runs. */
const READ_AT_ONCE = 100;

/** Each condition has a covering index. */
const CONDITIONS: Record<EntryFilter['of'], string> = {
  held: 'entry IS NOT NULL',
  shadowed: `json_array_length(selection, '$.shadowed') > 0`,
  refused: `json_array_length(selection, '$.refused') > 0`,
  yanked: `json_array_length(selection, '$.yanked') > 0`,
};
const SOURCE = `selection ->> '$.versions[0].source'`;

/** A name after all others. */
const LAST = { group: '\u{10ffff}', kind: '' };

type Step = { catalog: string; group: string; kind: string };
type Range = Step & { serial: number; endGroup: string; endKind: string };

/** Pages, counts, and changes of the entry rows of a catalog. Each call does a bounded amount of work. */
export function catalogEntryRows(
  connection: Connection,
): Pick<RegistryStore, 'entryPage' | 'countEntries' | 'changedEntries'> {
  const { client, read } = connection;
  const rowAt = prepared(() =>
    client.prepare<FunctionName & { catalog: string; serial: number }, EntryRow>(
      `SELECT group_name AS "group", kind, entry, selection FROM catalog_function
     WHERE catalog = :catalog AND group_name = :group AND kind = :kind AND from_serial <= :serial
       AND (to_serial IS NULL OR to_serial > :serial)
     ORDER BY from_serial DESC LIMIT 1`,
    ),
  );
  // The index is ordered by serial, so only the changed rows are read.
  const changedNames = prepared(() =>
    client.prepare<{ catalog: string; from: number; to: number; limit: number }, FunctionName>(
      `SELECT group_name AS "group", kind FROM catalog_function INDEXED BY catalog_function_serial
     WHERE catalog = :catalog AND from_serial > :from AND from_serial <= :to LIMIT :limit`,
    ),
  );
  const steps = {
    held: steppers('held'),
    shadowed: steppers('shadowed'),
    refused: steppers('refused'),
    yanked: steppers('yanked'),
  };

  function steppers(of: EntryFilter['of']) {
    const index = `FROM catalog_function INDEXED BY catalog_function_${of}
      WHERE ${CONDITIONS[of]} AND catalog = :catalog AND (group_name, kind) > (:group, :kind)`;
    const inRange = `${index} AND (group_name, kind) <= (:endGroup, :endKind)
      AND from_serial <= :serial AND (to_serial IS NULL OR to_serial > :serial)`;
    const source = of === 'held' ? SOURCE : `''`;
    return {
      /** Last name of a scan; undefined if fewer index entries are left. */
      end: prepared(() =>
        client.prepare<Step, FunctionName>(
          `SELECT group_name AS "group", kind ${index}
         ORDER BY group_name, kind LIMIT 1 OFFSET ${SCANNED_AT_ONCE - 1}`,
        ),
      ),
      names: prepared(() =>
        client.prepare<Range & { text: string | null; source: string | null; limit: number }, FunctionName>(
          `SELECT group_name AS "group", kind ${inRange}
           AND (:text IS NULL OR instr(lower(group_name || '/' || kind), :text) > 0)
           AND (:source IS NULL OR ${source} = :source)
         ORDER BY group_name, kind LIMIT :limit`,
        ),
      ),
      counts: prepared(() =>
        client.prepare<Range, { source: string | null; count: number }>(
          // Grouped by the expression itself, SQLite would read every row, although the index contains it.
          `SELECT source, count(*) AS count FROM (
           SELECT ${source} AS source ${inRange} ORDER BY group_name, kind LIMIT -1)
         GROUP BY source`,
        ),
      ),
    };
  }

  /** Calls `visit` for one range of names after the other, until there are no more or it returns false. */
  async function forRanges(
    { catalog, serial, of }: EntryFilter,
    after: FunctionName,
    visit: (range: Range) => boolean,
  ): Promise<void> {
    let from = after;
    for (;;) {
      const end = await read(() => {
        const found = steps[of].end.get({ catalog, ...from });
        const { group: endGroup, kind: endKind } = found ?? LAST;
        return visit({ catalog, serial, ...from, endGroup, endKind }) ? found : undefined;
      });
      if (end === undefined) return;
      from = end;
      await setImmediate();
    }
  }

  return {
    async entryPage({ text, source, after = { group: '', kind: '' }, limit, ...filter }: EntryQuery) {
      const names: FunctionName[] = [];
      await forRanges(filter, { group: after.group, kind: after.kind }, (range) => {
        // One more than the page, to know whether there is a next page.
        const found = steps[filter.of].names.all({
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
      const rows = await read(() =>
        names.slice(0, limit).flatMap((name) => rowAt.all({ catalog, serial, ...name }).map(toEntryRow)),
      );
      const next = isMore ? names[limit - 1] : undefined;
      return { rows, ...(next === undefined ? {} : { next }) };
    },

    async countEntries(filter) {
      const counts = new Map<string, number>();
      await forRanges(filter, { group: '', kind: '' }, (range) => {
        for (const { source, count } of steps[filter.of].counts.all(range)) {
          counts.set(source ?? '', (counts.get(source ?? '') ?? 0) + count);
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
        const at = (name: FunctionName, serial: number): CatalogEntryRow[] =>
          rowAt.all({ catalog, serial, ...name }).map(toEntryRow);
        const found = await read(() =>
          batch.map((name): ChangedEntry => {
            const [[before], [after]] = [at(name, from), at(name, to)];
            return {
              ...name,
              ...(before === undefined ? {} : { before }),
              ...(after === undefined ? {} : { after }),
            };
          }),
        );
        changed.push(...found);
      }
      return { changed, isAll: rows.length <= limit };
    },
  };
}
