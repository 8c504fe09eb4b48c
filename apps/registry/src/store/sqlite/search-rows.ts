import type { SearchDocument } from '@krmhub/catalog';
import type { Connection } from './connection.js';
import { kindText } from './search-text.js';

/** Removes what a function is found by in text; to be called in a transaction. */
export function searchRowRemover({ client }: Connection): (id: number) => void {
  const forget = client.prepare<[number]>('DELETE FROM function_text WHERE rowid = ?');
  return (id) => void forget.run(id);
}

/** Writes what a function is found by in text, beside its own row; to be called in a transaction. */
export function searchRowWriter(connection: Connection) {
  const forget = searchRowRemover(connection);
  const add = connection.client.prepare<[number, string, string, string, string, string]>(
    'INSERT INTO function_text (rowid, kind, tags, description, group_name, publisher) VALUES (?, ?, ?, ?, ?, ?)',
  );
  return (id: number, document: SearchDocument, isNew: boolean): void => {
    const { group, kind, tags, description, publisher } = document;
    if (!isNew) forget(id);
    add.run(id, kindText(kind), tags.join(' '), description, group, publisher);
  };
}

/** SQL that is true of a `place` in catalog_function which the catalog's newest snapshot has. */
export const IN_NEWEST_SNAPSHOT = `EXISTS (
  SELECT 1 FROM (SELECT max(serial) AS newest FROM snapshot WHERE snapshot.catalog = place.catalog)
  WHERE place.from_serial <= newest AND (place.to_serial IS NULL OR place.to_serial > newest))`;
