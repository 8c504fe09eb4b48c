import { displayedRelease, releaseWords, searchDocument } from '@krmhub/catalog';
import type { FunctionDefinition } from '@krmhub/schema';
import type BetterSqlite3 from 'better-sqlite3';
import { DOCUMENT_FIELDS, encodeDocument, FINDABLE } from '../../store/search/document-rows.js';
import { searchText, TEXT_TABLES, type TextTable } from '../../store/search/rows.js';
import type { TextDocument } from '../../store/search/search-index.js';
import { wholeText } from '../../store/search/text.js';
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

/** Checks that the full-text indexes have exactly the words of every function, by comparing each with a new one. */
export const checkFullText: Check = async function* ({ client, progress }) {
  await progress('Rebuilding the full-text index for comparison');
  makeExpectedText(client);
  const differing = client
    .prepare<[], string>(
      `SELECT DISTINCT coalesce((SELECT group_name || '/' || kind FROM ${FINDABLE} WHERE id = doc), 'function row ' || doc)
       FROM (${TABLES.flatMap((table) => [
         `SELECT * FROM (${words(`expected_${table}`)} EXCEPT ${words(`indexed_${table}`)})`,
         `SELECT * FROM (${words(`indexed_${table}`)} EXCEPT ${words(`expected_${table}`)})`,
       ]).join(' UNION ALL ')})`,
    )
    .pluck()
    .all();
  for (const table of TABLES)
    client.exec(
      `DROP TABLE temp.expected_${table}; DROP TABLE temp.indexed_${table}; DROP TABLE temp.new_${table}`,
    );
  for (const name of differing) {
    yield damage(name, 'the full-text index does not match its row', FROM_BACKUP);
  }
};

const TABLES = Object.keys(TEXT_TABLES) as TextTable[];

function words(table: string): string {
  return `SELECT term, doc, col, offset FROM temp.${table}`;
}

/** Makes for each table `expected_` and `indexed_`: every word with its position, expected and actual. */
function makeExpectedText(client: BetterSqlite3.Database): void {
  for (const table of TABLES) {
    const made = client
      .prepare<[string], string>('SELECT sql FROM sqlite_schema WHERE name = ?')
      .pluck()
      .get(table);
    if (made === undefined) throw new Error(`the full-text index ${table} is missing`);
    client.exec(made.replace(/^CREATE VIRTUAL TABLE\s+"?\w+"?/i, `CREATE VIRTUAL TABLE temp.new_${table}`));
    client.exec(`CREATE VIRTUAL TABLE temp.expected_${table} USING fts5vocab(temp, new_${table}, instance);
      CREATE VIRTUAL TABLE temp.indexed_${table} USING fts5vocab(main, ${table}, instance)`);
  }
  const [addBegun, addWhole] = TABLES.map((table) => {
    const columns = TEXT_TABLES[table];
    return client.prepare<Record<string, string | number>>(
      `INSERT INTO temp.new_${table} (rowid, ${columns.join(', ')})
       VALUES (:id, ${columns.map((column) => `:${column}`).join(', ')})`,
    );
  });
  type Row = Omit<TextDocument, 'tags'> & {
    id: number;
    tags: string;
    fields: string | null;
    readme: string | null;
    entry: string | null;
  };
  const page = client.prepare<[number], Row>(
    `SELECT shown.id, group_name AS "group", shown.kind, shown.tags, shown.description, shown.publisher,
       release_words.fields, release_words.readme,
       (SELECT json FROM entry JOIN upstream_function AS found ON entry.digest = found.entry
        WHERE found.id = shown.id) AS entry
     FROM ${FINDABLE} AS shown
     LEFT JOIN release ON release.function_id = shown.id AND release.release = shown.release
     LEFT JOIN release_words ON release_words.release = release.id
     WHERE shown.id > ? ORDER BY shown.id LIMIT 500`,
  );
  for (let rows = page.all(0); rows.length > 0; rows = page.all(rows.at(-1)!.id)) {
    for (const { id, tags, fields, readme, entry, ...row } of rows) {
      const text = { id, ...searchText({ ...row, tags: JSON.parse(tags) as string[] }) };
      addBegun!.run(text);
      const words =
        fields !== null && readme !== null
          ? { fields, readme }
          : entry === null
            ? undefined
            : releaseWords(JSON.parse(entry) as FunctionDefinition);
      if (words !== undefined) addWhole!.run({ ...text, ...wholeText(words) });
    }
  }
}
