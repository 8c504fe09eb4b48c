import type { ReleaseWords } from '@krmhub/catalog';
import { text, type Work } from '../sql/statement.js';
import type { TextDocument } from './search-index.js';
import { foldCase, kindText, wholeText } from './text.js';

/**
 * The full-text tables, with their columns. The first finds beginnings of words too; words of READMEs and fields would
 * make its index ten times as large, so the second has them, and everything else again for searches with several words.
 */
export const TEXT_TABLES = {
  function_text: ['kind', 'tags', 'description', 'group_name', 'publisher'],
  function_text_whole: ['kind', 'tags', 'description', 'group_name', 'publisher', 'fields', 'readme'],
} as const;
export type TextTable = keyof typeof TEXT_TABLES;

const forget = (table: TextTable) => text(`DELETE FROM ${table} WHERE rowid = :id`);
const add = (table: TextTable) =>
  text(
    `INSERT INTO ${table} (rowid, ${TEXT_TABLES[table].join(', ')})
     VALUES (:id, ${TEXT_TABLES[table].map((column) => `:${column}`).join(', ')})`,
  );
const forgetBegun = forget('function_text');
const forgetWhole = forget('function_text_whole');
const addBegun = add('function_text');
const addWhole = add('function_text_whole');

/** Removes the full-text documents of a function. */
export function* removeText(id: number): Work<void> {
  yield* forgetBegun.run({ id });
  yield* forgetWhole.run({ id });
}

/** Writes the full-text documents of a function: the second one if its words are known. */
export function* writeText(
  id: number,
  document: TextDocument,
  words: ReleaseWords | undefined,
  isNew: boolean,
): Work<void> {
  if (!isNew) yield* removeText(id);
  yield* addBegun.run({ id, ...searchText(document) });
  if (words !== undefined) yield* addWhole.run({ id, ...searchText(document), ...wholeText(words) });
}

/** Returns the columns of function_text for a function. */
export function searchText({
  group,
  kind,
  tags,
  description,
  publisher,
}: TextDocument): Record<(typeof TEXT_TABLES)['function_text'][number], string> {
  return {
    kind: kindText(kind),
    tags: foldCase(tags.join(' ')),
    description: foldCase(description),
    group_name: group,
    publisher: foldCase(publisher),
  };
}

/** SQL condition: the newest snapshot of a catalog that is not deleted contains the catalog_function row `place`. */
export const IN_NEWEST_SNAPSHOT = `EXISTS (
  SELECT 1 FROM (SELECT max(serial) AS newest FROM snapshot WHERE snapshot.catalog = place.catalog) AS newest_snapshot
  WHERE place.from_serial <= newest AND (place.to_serial IS NULL OR place.to_serial > newest)
    AND place.catalog NOT IN (SELECT name FROM catalog WHERE deleted IS NOT NULL))`;

/** SQL: the displayed place of a name first. `default` comes last: a catalog that someone composed takes precedence. */
export const PLACE_ORDER = `ORDER BY place.catalog = 'default', place.catalog, place.kind`;

/** What to use instead of the displayed release of `shown`, if it is deprecated: JSON. */
export const REPLACEMENT = `(SELECT deprecated -> '$.replacement' FROM release WHERE function_id = shown.id AND release.release = shown.release)`;
