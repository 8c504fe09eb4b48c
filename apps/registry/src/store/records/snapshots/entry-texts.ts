import { setImmediate } from 'node:timers/promises';
import type { CatalogSyntax, EntryTextReader, EntryTexts, NameRange } from '@krmhub/catalog';
import type { Digest, FunctionName } from '@krmhub/schema';
import type { Sql } from '../../sql/sql.js';
import { fromList, text, type Work } from '../../sql/statement.js';
import { AT_SERIAL } from './entry-row.js';

/** Bytes of the entries that are read before other work runs: about 2 ms. */
const PAGE_BYTES = 262_144;
/** Entries of the first page: a build mostly reads fewer, and the size of others follows from these. */
const FIRST_PAGE = 100;
const MAX_PAGE = 400;
/** Bytes of a text that is read with others. Larger ones are read one by one: a page may have many of a megabyte. */
const SMALL = 16_384;
/** Entries whose sizes are read before other work runs. */
const SIZES_PAGE = 2_000;

/** A name before all others. */
const FIRST: FunctionName = { group: '', kind: '' };
/** A name after all others. */
const LAST: FunctionName = { group: '\u{10ffff}', kind: '' };

interface Position extends FunctionName {
  catalog: string;
  serial: number;
  endGroup: string;
  endKind: string;
}

const FROM = {
  sqlite: `FROM catalog_function AS place INDEXED BY catalog_function_held
    CROSS JOIN entry ON entry.digest = place.entry`,
  postgres: 'FROM catalog_function AS place JOIN entry ON entry.digest = place.entry',
};
const AT = `place.entry IS NOT NULL AND place.catalog = :catalog AND (place.group_name, place.kind) >= (:group, :kind)
  AND (place.group_name, place.kind) < (:endGroup, :endKind)
  AND ${AT_SERIAL}`;
const IN_ORDER = 'ORDER BY place.group_name, place.kind';
const NAME = 'place.group_name AS "group", place.kind';

/** As blobs: nothing here needs the texts as strings. */
const BYTES = {
  sqlite: (syntax: CatalogSyntax) => `CAST(entry.${syntax} AS BLOB)`,
  postgres: (syntax: CatalogSyntax) => `convert_to(entry.${syntax}, 'UTF8')`,
};

interface Row extends FunctionName {
  digest: Digest;
  /** Null for a large text. */
  yaml?: Buffer | null;
  json?: Buffer | null;
}

/** Reads entries with the texts in these syntaxes. */
const texts = (...syntaxes: CatalogSyntax[]) => {
  const select = (database: keyof typeof FROM) => {
    const columns = syntaxes.map((syntax) => {
      const bytes = BYTES[database](syntax);
      return `CASE WHEN octet_length(entry.${syntax}) <= ${SMALL} THEN ${bytes} END AS ${syntax}`;
    });
    return `SELECT ${NAME}, place.entry AS digest, ${columns.join(', ')} ${FROM[database]}
      WHERE ${AT} ${IN_ORDER} LIMIT :limit`;
  };
  return { syntaxes, statement: text<Row>({ sqlite: select('sqlite'), postgres: select('postgres') }) };
};
const TEXTS = { both: texts('yaml', 'json'), yaml: texts('yaml'), json: texts('json') };

const large = (syntax: CatalogSyntax) => {
  const select = (database: keyof typeof FROM) =>
    `SELECT ${BYTES[database](syntax)} AS bytes FROM entry WHERE digest = :digest`;
  return text<{ bytes: Buffer }>({ sqlite: select('sqlite'), postgres: select('postgres') });
};
const LARGE_TEXT = { yaml: large('yaml'), json: large('json') };

const ofDigests = text<{ digest: Digest; yaml: Buffer; json: Buffer }>(
  fromList(
    (
      list,
      join,
      dialect,
    ) => `SELECT digest, ${BYTES[dialect]('yaml')} AS yaml, ${BYTES[dialect]('json')} AS json
       FROM ${list} ${join} entry ON digest = wanted.value ->> 0`,
    ':digests',
  ),
);

const sizesIn = (from: string) =>
  `SELECT ${NAME}, octet_length(entry.yaml) AS yaml, octet_length(entry.json) AS json
   ${from} WHERE ${AT} ${IN_ORDER} LIMIT ${SIZES_PAGE}`;
const sizes = text<FunctionName & Record<CatalogSyntax, number>>({
  // This index contains the sizes; without it, each entry reads a page of the file.
  sqlite: sizesIn(FROM.sqlite.replace('CROSS JOIN entry ON', 'CROSS JOIN entry INDEXED BY entry_sizes ON')),
  postgres: sizesIn(FROM.postgres),
});

interface Page {
  rows: Row[];
  bytes: number;
  /** Whether there may be more entries. */
  isMore: boolean;
}

/** Reads the large texts of a page. Returns undefined if one was deleted since the page was read. */
function* completePage(
  syntaxes: readonly CatalogSyntax[],
  found: readonly Row[],
  limit: number,
): Work<Page | undefined> {
  const rows: Row[] = [];
  let bytes = 0;
  for (const row of found) {
    const isLarge = syntaxes.some((syntax) => row[syntax] === null);
    if (isLarge && bytes >= PAGE_BYTES) return { rows, bytes, isMore: true };
    for (const syntax of syntaxes) {
      const text = row[syntax] ?? (yield* LARGE_TEXT[syntax].first({ digest: row.digest }))?.bytes;
      if (text === undefined) return undefined;
      row[syntax] = text;
      bytes += text.byteLength;
    }
    rows.push(row);
  }
  return { rows, bytes, isMore: found.length === limit };
}

/** The first name after another: kinds have no control characters. */
const after = ({ group, kind }: FunctionName): FunctionName => ({ group, kind: `${kind}\u0001` });

/** Reads the texts of the entries of a snapshot as bytes, in the order of the catalog. */
export function entryTexts({ read, readOne }: Sql): EntryTextReader {
  /** Most pages need one statement. */
  async function readPage(
    { syntaxes, statement }: typeof TEXTS.both,
    position: Position,
    limit: number,
  ): Promise<Page> {
    const found = await readOne(() => statement.all({ ...position, limit }));
    const isLarge = found.some((row) => syntaxes.some((syntax) => row[syntax] === null));
    const page = await (isLarge ? read : readOne)(() => completePage(syntaxes, found, limit));
    if (page !== undefined) return page;
    return read(function* () {
      return (yield* completePage(syntaxes, yield* statement.all({ ...position, limit }), limit))!;
    });
  }

  const positionOf = (
    catalog: string,
    serial: number,
    { from: { group, kind } = FIRST, to = LAST }: NameRange,
  ): Position => ({ catalog, serial, group, kind, endGroup: to.group, endKind: to.kind });

  /** Yields pages of about the same size, each of one state. */
  async function* pages(texts: typeof TEXTS.both, start: Position): AsyncIterable<Row[]> {
    let position = start;
    for (let limit = FIRST_PAGE; ; ) {
      const { rows, bytes, isMore } = await readPage(texts, position, limit);
      const last = rows.at(-1);
      if (last === undefined) return;
      yield rows;
      if (!isMore) return;
      position = { ...position, ...after(last) };
      limit = Math.min(MAX_PAGE, Math.ceil((PAGE_BYTES / bytes) * rows.length));
      await setImmediate();
    }
  }

  return {
    async *entryTexts(catalog, serial, range = {}) {
      for await (const rows of pages(TEXTS.both, positionOf(catalog, serial, range))) {
        yield* rows as EntryTexts[];
      }
    },
    async *entryPages(catalog, serial, syntax, range = {}) {
      for await (const rows of pages(TEXTS[syntax], positionOf(catalog, serial, range))) {
        yield rows.map((row) => row[syntax]!);
      }
    },
    async entryTextsOf(digests) {
      if (digests.length === 0) return new Map();
      const wanted = JSON.stringify(digests.map((digest) => [digest]));
      const rows = await readOne(() => ofDigests.all({ digests: wanted }));
      return new Map(rows.map(({ digest, ...bytes }) => [digest, bytes]));
    },
    async entryBytes(catalog, serial) {
      const sum = { yaml: 0, json: 0 };
      for (let from = FIRST; ; ) {
        const position = positionOf(catalog, serial, { from });
        const rows = await readOne(() => sizes.all({ ...position }));
        for (const row of rows) {
          sum.yaml += row.yaml;
          sum.json += row.json;
        }
        const last = rows.at(-1);
        if (last === undefined || rows.length < SIZES_PAGE) return sum;
        from = after(last);
        await setImmediate();
      }
    },
  };
}
