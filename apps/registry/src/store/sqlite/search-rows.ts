import type { SearchDocument } from '@krmhub/catalog';
import type { Connection } from './connection.js';
import { kindText } from './search-text.js';

/** Removes what a function is found by, beside its own row; to be called in a transaction. */
export function searchRowRemover({ client }: Connection) {
  const forgetFacets = client.prepare<[number]>('DELETE FROM function_facet WHERE function_id = ?');
  const forgetText = client.prepare<[number]>('DELETE FROM function_text WHERE rowid = ?');
  return (id: number): void => {
    forgetFacets.run(id);
    forgetText.run(id);
  };
}

/** Writes what a function is found by, beside its own row; to be called in a transaction. */
export function searchRowWriter({ client }: Connection) {
  const forgetFacets = client.prepare<[number]>(
    `DELETE FROM function_facet WHERE function_id = ? AND facet IN ('tag', 'runtime', 'license')`,
  );
  const addFacet = client.prepare<[string, string, number]>(
    'INSERT OR IGNORE INTO function_facet (facet, value, function_id) VALUES (?, ?, ?)',
  );
  // A catalog may hold an upstream's function before this registry has it.
  const addCatalogs = client.prepare<{ id: number; group: string; kind: string }>(
    `INSERT OR IGNORE INTO function_facet (facet, value, function_id)
     SELECT 'catalog', catalog, :id FROM catalog_function AS place
     WHERE group_name = :group AND kind = :kind AND entry IS NOT NULL AND ${IN_NEWEST_SNAPSHOT}`,
  );
  const forgetText = client.prepare<[number]>('DELETE FROM function_text WHERE rowid = ?');
  const addText = client.prepare<[number, string, string, string, string, string]>(
    'INSERT INTO function_text (rowid, kind, tags, description, group_name, publisher) VALUES (?, ?, ?, ?, ?, ?)',
  );

  return (id: number, document: SearchDocument, isNew: boolean): void => {
    const { group, kind, tags, runtimes, licenses, description, publisher } = document;
    if (!isNew) {
      forgetFacets.run(id);
      forgetText.run(id);
    }
    for (const value of tags) addFacet.run('tag', value, id);
    for (const value of runtimes) addFacet.run('runtime', value, id);
    for (const value of licenses) addFacet.run('license', value, id);
    if (isNew) addCatalogs.run({ id, group, kind });
    addText.run(id, kindText(kind), tags.join(' '), description, group, publisher);
  };
}

/** SQL that is true of a `place` in catalog_function which the catalog's newest snapshot has. */
export const IN_NEWEST_SNAPSHOT = `EXISTS (
  SELECT 1 FROM (SELECT max(serial) AS newest FROM snapshot WHERE snapshot.catalog = place.catalog)
  WHERE place.from_serial <= newest AND (place.to_serial IS NULL OR place.to_serial > newest))`;
