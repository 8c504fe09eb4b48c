import { setImmediate } from 'node:timers/promises';
import type { CatalogSyntax, EntryTexts } from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';
import type { RegistryStore } from '../../registry-store.js';
import type { Sql } from '../../sql/sql.js';
import { type Statement, text, type Work } from '../../sql/statement.js';

/** Bytes of the entries that are read before other work runs: about 2 ms. */
const PAGE_BYTES = 262_144;
/** Entries of one statement: a large one has a megabyte in each syntax. */
const TEXTS = 16;
/** Entries whose sizes are read before other work runs. */
const SIZES_PAGE = 2_000;

/** A name before all others, and one after them. */
const FIRST: FunctionName = { group: '', kind: '' };
const LAST: FunctionName = { group: '\u{10ffff}', kind: '' };

interface Position extends FunctionName {
  catalog: string;
  serial: number;
}

const FROM = {
  sqlite: `FROM catalog_function AS place INDEXED BY catalog_function_held
    CROSS JOIN entry ON entry.digest = place.entry`,
  postgres: 'FROM catalog_function AS place JOIN entry ON entry.digest = place.entry',
};
const AT = `place.entry IS NOT NULL AND place.catalog = :catalog AND (place.group_name, place.kind) >= (:group, :kind)
  AND place.from_serial <= :serial AND (place.to_serial IS NULL OR place.to_serial > :serial)`;
const BEFORE_END = 'AND (place.group_name, place.kind) < (:endGroup, :endKind)';
const IN_ORDER = 'ORDER BY place.group_name, place.kind';
const NAME = 'place.group_name AS "group", place.kind';

/** As blobs: nothing here needs the texts as strings. */
const BYTES = {
  sqlite: (syntax: CatalogSyntax) => `CAST(entry.${syntax} AS BLOB)`,
  postgres: (syntax: CatalogSyntax) => `convert_to(entry.${syntax}, 'UTF8')`,
};

const bothIn = (database: keyof typeof FROM) =>
  `SELECT ${NAME}, place.entry AS digest, ${BYTES[database]('yaml')} AS yaml, ${BYTES[database]('json')} AS json
   ${FROM[database]} WHERE ${AT} ${IN_ORDER} LIMIT ${TEXTS}`;
const both = text<EntryTexts>({ sqlite: bothIn('sqlite'), postgres: bothIn('postgres') });

const inSyntax = (syntax: CatalogSyntax) => {
  const select = (database: keyof typeof FROM) =>
    `SELECT ${NAME}, ${BYTES[database](syntax)} AS text ${FROM[database]} WHERE ${AT} ${IN_ORDER} LIMIT ${TEXTS}`;
  return text<FunctionName & { text: Buffer }>({ sqlite: select('sqlite'), postgres: select('postgres') });
};
const texts = { yaml: inSyntax('yaml'), json: inSyntax('json') };

// The database joins the texts of a range: a row for each entry takes longer.
const joined = (syntax: CatalogSyntax) =>
  text<{ text: Buffer | null; functions: number }>({
    sqlite: `SELECT CAST(group_concat(${syntax}, :between) AS BLOB) AS text, count(*) AS functions
      FROM (SELECT ${syntax} ${FROM.sqlite} WHERE ${AT} ${BEFORE_END} ${IN_ORDER})`,
    postgres: `SELECT convert_to(string_agg(entry.${syntax}, :between ${IN_ORDER}), 'UTF8') AS text,
      count(*) AS functions ${FROM.postgres} WHERE ${AT} ${BEFORE_END}`,
  });
const runs = { yaml: joined('yaml'), json: joined('json') };

const sizesIn = (from: string) =>
  `SELECT ${NAME}, octet_length(entry.yaml) AS yaml, octet_length(entry.json) AS json
   ${from} WHERE ${AT} ${IN_ORDER} LIMIT ${SIZES_PAGE}`;
const sizes = text<FunctionName & Record<CatalogSyntax, number>>({
  // This index contains the sizes; without it, each entry reads a page of the file.
  sqlite: sizesIn(FROM.sqlite.replace('CROSS JOIN entry ON', 'CROSS JOIN entry INDEXED BY entry_sizes ON')),
  postgres: sizesIn(FROM.postgres),
});

interface Page<Row> {
  rows: Row[];
  /** Name from which the next page continues; undefined at the end. */
  next: FunctionName | undefined;
}

/** Reads rows from a name on, until they have the bytes of a page. `limit` is the limit of the statement. */
function* readPage<Row extends FunctionName>(
  { statement, limit }: { statement: Statement<Row>; limit: number },
  start: Position,
  size: (row: Row) => number,
): Work<Page<Row>> {
  const rows: Row[] = [];
  let from = start;
  for (let bytes = 0; bytes < PAGE_BYTES; ) {
    const found = yield* statement.all({ ...from });
    const last = found.at(-1);
    for (const row of found) bytes += size(row);
    rows.push(...found);
    if (last === undefined || found.length < limit) return { rows, next: undefined };
    // The first name after it: kinds have no control characters.
    from = { ...from, group: last.group, kind: `${last.kind}\u0001` };
  }
  return { rows, next: { group: from.group, kind: from.kind } };
}

/** Reads the texts of the entries of a snapshot as bytes, in the order of the catalog. */
export function entryTexts({
  read,
}: Pick<Sql, 'read'>): Pick<RegistryStore, 'entryTexts' | 'entryPages' | 'entryRuns' | 'entryBytes'> {
  /** Yields pages, each of one read transaction. */
  async function* pages<Row>(page: (from: FunctionName) => Work<Page<Row>>, from: FunctionName) {
    let next: FunctionName | undefined = { group: from.group, kind: from.kind };
    while (next !== undefined) {
      const start: FunctionName = next;
      const found: Page<Row> = await read(() => page(start));
      if (found.rows.length > 0) yield found.rows;
      next = found.next;
      if (next !== undefined) await setImmediate();
    }
  }

  return {
    async *entryTexts(catalog, serial, from = FIRST): AsyncIterable<EntryTexts> {
      const size = ({ yaml, json }: EntryTexts) => yaml.byteLength + json.byteLength;
      const page = (start: FunctionName) =>
        readPage({ statement: both, limit: TEXTS }, { catalog, serial, ...start }, size);
      for await (const rows of pages(page, from)) yield* rows;
    },
    async *entryPages(catalog, serial, syntax, from = FIRST) {
      const page = (start: FunctionName) =>
        readPage(
          { statement: texts[syntax], limit: TEXTS },
          { catalog, serial, ...start },
          (row) => row.text.byteLength,
        );
      for await (const rows of pages(page, from)) yield rows.map((row) => row.text);
    },
    async *entryRuns(catalog, serial, { syntax, between, ranges }) {
      let bytes = 0;
      for (const { from = FIRST, to = LAST } of ranges) {
        const position = { catalog, serial, group: from.group, kind: from.kind };
        const end = { endGroup: to.group, endKind: to.kind };
        const run = (await read(() => runs[syntax].first({ ...position, ...end, between })))!;
        yield { text: run.text ?? Buffer.of(), functions: run.functions };
        bytes += run.text?.byteLength ?? 0;
        if (bytes < PAGE_BYTES) continue;
        bytes = 0;
        await setImmediate();
      }
    },
    async entryBytes(catalog, serial) {
      const sum = { yaml: 0, json: 0 };
      const page = (start: FunctionName) =>
        readPage({ statement: sizes, limit: SIZES_PAGE }, { catalog, serial, ...start }, () => PAGE_BYTES);
      for await (const rows of pages(page, FIRST)) {
        for (const row of rows) {
          sum.yaml += row.yaml;
          sum.json += row.json;
        }
      }
      return sum;
    },
  };
}
