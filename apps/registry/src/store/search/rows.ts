import type { SearchDocument } from '@krmhub/catalog';
import { text, type Work } from '../sql/statement.js';
import { foldCase, kindText } from './text.js';

type TextDocument = Pick<SearchDocument, 'group' | 'kind' | 'tags' | 'description' | 'publisher'>;

const forget = text('DELETE FROM function_text WHERE rowid = :id');
const add = text(
  `INSERT INTO function_text (rowid, kind, tags, description, group_name, publisher)
   VALUES (:id, :kind, :tags, :description, :group, :publisher)`,
);

/** Removes the full-text document of a function. */
export function* removeText(id: number): Work<void> {
  yield* forget.run({ id });
}

/** Writes the full-text document of a function. */
export function* writeText(id: number, document: TextDocument, isNew: boolean): Work<void> {
  if (!isNew) yield* forget.run({ id });
  const [kind, tags, description, group, publisher] = searchText(document);
  yield* add.run({ id, kind, tags, description, group, publisher });
}

/** Returns the columns of function_text for a function, in their order. */
export function searchText({
  group,
  kind,
  tags,
  description,
  publisher,
}: TextDocument): [string, string, string, string, string] {
  return [kindText(kind), foldCase(tags.join(' ')), foldCase(description), group, foldCase(publisher)];
}

/** SQL condition: the newest snapshot of a catalog that is not deleted contains the catalog_function row `place`. */
export const IN_NEWEST_SNAPSHOT = `EXISTS (
  SELECT 1 FROM (SELECT max(serial) AS newest FROM snapshot WHERE snapshot.catalog = place.catalog) AS newest_snapshot
  WHERE place.from_serial <= newest AND (place.to_serial IS NULL OR place.to_serial > newest)
    AND place.catalog NOT IN (SELECT name FROM catalog WHERE deleted IS NOT NULL))`;

/** What to use instead of the displayed release of `shown`, if it is deprecated: JSON. */
export const REPLACEMENT = `(SELECT deprecated -> '$.replacement' FROM release WHERE function_id = shown.id AND release.release = shown.release)`;
