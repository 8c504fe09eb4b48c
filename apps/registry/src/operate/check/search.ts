import { displayedRelease, type SearchDocument, searchDocument } from '@krmhub/catalog';
import type BetterSqlite3 from 'better-sqlite3';
import { DOCUMENT_FIELDS, encodeDocument, FINDABLE } from '../../store/search/document-rows.js';
import { searchText } from '../../store/search/rows.js';
import { type Check, damage, FROM_BACKUP } from './finding.js';

/** Checks that the search metadata of every function matches its releases. */
export const checkSearchRows: Check = async function* ({ store, client, progress }) {
  const selectRow = client.prepare<[string, string], Record<string, string | number>>(
    `SELECT ${DOCUMENT_FIELDS.join(', ')} FROM function WHERE group_name = ? AND kind = ?`,
  );
  let checked = 0;
  for await (const fn of store.allFunctions()) {
    const subject = `${fn.group}/${fn.kind}`;
    if (fn.releases.length === 0) {
      yield damage(subject, 'it has no release', FROM_BACKUP);
      continue;
    }
    const shown = await store.release(fn.group, fn.kind, displayedRelease(fn.releases).release);
    const row = selectRow.get(fn.group, fn.kind);
    if (shown === undefined || row === undefined) continue;
    const expected = encodeDocument(searchDocument(fn, fn.releases, shown));
    const differing = DOCUMENT_FIELDS.filter((column) => row[column] !== expected[column]);
    if (differing.length > 0) {
      yield damage(
        subject,
        `the search row differs from its releases in ${differing.join(', ')}`,
        FROM_BACKUP,
      );
    }
    if (++checked % 1_000 === 0) await progress(`${checked} search rows checked`);
  }
};

/** Checks that the full-text index has exactly the words of every function, by comparing it with a new index. */
export const checkFullText: Check = async function* ({ client, progress }) {
  await progress('Rebuilding the full-text index for comparison');
  makeExpectedText(client);
  const differing = client
    .prepare<[], string>(
      `SELECT DISTINCT coalesce((SELECT group_name || '/' || kind FROM ${FINDABLE} WHERE id = doc), 'function row ' || doc)
       FROM (SELECT * FROM (SELECT term, doc, col, offset FROM temp.expected_words EXCEPT SELECT term, doc, col, offset FROM temp.indexed_words)
         UNION ALL
         SELECT * FROM (SELECT term, doc, col, offset FROM temp.indexed_words EXCEPT SELECT term, doc, col, offset FROM temp.expected_words))`,
    )
    .pluck()
    .all();
  client.exec('DROP TABLE temp.expected_words; DROP TABLE temp.indexed_words; DROP TABLE temp.expected_text');
  for (const name of differing) {
    yield damage(name, 'the full-text index does not match its row', FROM_BACKUP);
  }
};

/** Makes `expected_words` and `indexed_words`: every word with its position, expected and actual. */
function makeExpectedText(client: BetterSqlite3.Database): void {
  const made = client
    .prepare<[], string>(`SELECT sql FROM sqlite_schema WHERE name = 'function_text'`)
    .pluck()
    .get();
  if (made === undefined) throw new Error('the full-text index is missing');
  client.exec(
    made.replace(/^CREATE VIRTUAL TABLE\s+"?function_text"?/i, 'CREATE VIRTUAL TABLE temp.expected_text'),
  );
  client.exec(`CREATE VIRTUAL TABLE temp.expected_words USING fts5vocab(temp, expected_text, instance);
    CREATE VIRTUAL TABLE temp.indexed_words USING fts5vocab(main, function_text, instance)`);
  const add = client.prepare(
    'INSERT INTO temp.expected_text (rowid, kind, tags, description, group_name, publisher) VALUES (?, ?, ?, ?, ?, ?)',
  );
  type Row = Pick<SearchDocument, 'group' | 'kind' | 'description' | 'publisher'> & {
    id: number;
    tags: string;
  };
  const page = client.prepare<[number], Row>(
    `SELECT id, group_name AS "group", kind, tags, description, publisher FROM ${FINDABLE} WHERE id > ? ORDER BY id LIMIT 500`,
  );
  for (let rows = page.all(0); rows.length > 0; rows = page.all(rows.at(-1)!.id)) {
    for (const row of rows)
      add.run(row.id, ...searchText({ ...row, tags: JSON.parse(row.tags) as string[] }));
  }
}
