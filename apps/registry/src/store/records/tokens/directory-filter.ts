import { foldCase } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { DirectoryFilter, Slice } from '../../directory-store.js';
import { type Statement, text } from '../../sql/statement.js';

/** The statements of a list of the directory: a page, and how many match. */
export interface ListStatements<Row> {
  page: Statement<Row>;
  count: Statement<{ total: number }>;
}

/** Returns statements for each filter: a column for each, and what comes before the condition. */
export function listStatements<Row>(
  columns: string,
  from: string,
  filtered: { id: string; name: string; externalId: string },
): (filter?: DirectoryFilter) => ListStatements<Row> {
  const make = (condition: string): ListStatements<Row> => ({
    page: text<Row>(
      `SELECT ${columns} ${from} ${condition} ORDER BY ${filtered.id} LIMIT :limit OFFSET :offset`,
    ),
    count: text<{ total: number }>(`SELECT count(*) AS total ${from} ${condition}`),
  });
  const all = make('');
  const by = Object.fromEntries(
    Object.entries(filtered).map(([name, column]) => [name, make(`AND ${column} = :value`)]),
  );
  return (filter) => (filter === undefined ? all : by[filter.by]!);
}

/** Returns the values of these statements. Names differ by more than case. */
export function listValues(
  issuer: string,
  filter: DirectoryFilter | undefined,
  { limit, offset }: Slice = { limit: 1, offset: 0 },
): Record<string, string | number> {
  const value = filter?.by === 'name' ? foldCase(filter.value) : filter?.value;
  return { issuer, limit, offset, ...defined({ value }) };
}
