import { setImmediate } from 'node:timers/promises';
import type { CatalogSyntax, EntryTexts } from '@krmhub/catalog';
import type { Digest, FunctionName } from '@krmhub/schema';
import type { RegistryStore } from '../../registry-store.js';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';

/** Bytes of the entries that are read before other work runs: about 2 ms. */
const PAGE_BYTES = 262_144;
/** Entries whose sizes are read before other work runs. */
const SIZES_PAGE = 2_000;

/** A name after all others. */
const LAST: FunctionName = { group: '\u{10ffff}', kind: '' };

type Run = { between: string; endGroup: string; endKind: string };
type Position = FunctionName & { catalog: string; serial: number };

/** Reads the texts of the entries of a snapshot as bytes, in the order of the catalog. */
export function entryTexts({
  client,
  read,
}: Pick<Connection, 'client' | 'read'>): Pick<
  RegistryStore,
  'entryTexts' | 'entryPages' | 'entryRuns' | 'entryBytes'
> {
  const select = (columns: string, rest = '') =>
    `SELECT ${columns} FROM catalog_function AS place INDEXED BY catalog_function_held
     CROSS JOIN entry ON entry.digest = place.entry
     WHERE place.entry IS NOT NULL AND place.catalog = :catalog AND (place.group_name, place.kind) >= (:group, :kind)
       AND place.from_serial <= :serial AND (place.to_serial IS NULL OR place.to_serial > :serial)
     ORDER BY place.group_name, place.kind ${rest}`;
  const name = 'place.group_name AS "group", place.kind';
  // As blobs: nothing here needs the texts as strings.
  const yaml = 'CAST(entry.yaml AS BLOB) AS yaml';
  const json = 'CAST(entry.json AS BLOB) AS json';
  const both = prepared(() =>
    client.prepare<Position, FunctionName & { digest: Digest; yaml: Buffer; json: Buffer }>(
      select(`${name}, place.entry AS digest, ${yaml}, ${json}`),
    ),
  );
  const inSyntax = {
    yaml: prepared(() =>
      client.prepare<Position, FunctionName & { yaml: Buffer }>(select(`${name}, ${yaml}`)),
    ),
    json: prepared(() =>
      client.prepare<Position, FunctionName & { json: Buffer }>(select(`${name}, ${json}`)),
    ),
  };
  // SQLite joins the texts of a range: a row for each entry takes longer.
  const joined = (syntax: CatalogSyntax) =>
    prepared(() =>
      client.prepare<Position & Run, { text: Buffer | null; functions: number }>(
        `SELECT CAST(group_concat(${syntax}, :between) AS BLOB) AS text, count(*) AS functions
         FROM (${select(syntax).replace('ORDER BY', 'AND (place.group_name, place.kind) < (:endGroup, :endKind) ORDER BY')})`,
      ),
    );
  const runs = { yaml: joined('yaml'), json: joined('json') };
  const sizes = prepared(() =>
    client.prepare<Position, FunctionName & Record<CatalogSyntax, number>>(
      select(
        `${name}, octet_length(entry.yaml) AS yaml, octet_length(entry.json) AS json`,
        `LIMIT ${SIZES_PAGE}`,
        // This index contains the sizes; without it, each entry reads a page of the file.
      ).replace('CROSS JOIN entry ON', 'CROSS JOIN entry INDEXED BY entry_sizes ON'),
    ),
  );

  /** Yields the rows of one read transaction after the other. `isFull` ends a page. */
  async function* pages<Row extends FunctionName>(
    rows: (position: Position) => Iterable<Row>,
    { catalog, serial, ...from }: Position,
    isFull: (row: Row) => boolean,
  ): AsyncIterable<Row[]> {
    let position: FunctionName | undefined = from;
    while (position !== undefined) {
      const page: Row[] = [];
      const start: FunctionName = position;
      const isMore = await read(() => {
        for (const row of rows({ catalog, serial, ...start })) {
          page.push(row);
          if (isFull(row)) return true;
        }
        return false;
      });
      const last = page.at(-1);
      if (page.length > 0) yield page;
      position = isMore && last !== undefined ? { group: last.group, kind: `${last.kind}\0` } : undefined;
      if (position !== undefined) await setImmediate();
    }
  }

  /** Reports the last row of a page of this many bytes. */
  const limited = <Row>(size: (row: Row) => number): ((row: Row) => boolean) => {
    let bytes = 0;
    return (row) => {
      bytes += size(row);
      if (bytes < PAGE_BYTES) return false;
      bytes = 0;
      return true;
    };
  };

  const start = { group: '', kind: '' };
  return {
    async *entryTexts(catalog, serial, from = start): AsyncIterable<EntryTexts> {
      const position = { catalog, serial, group: from.group, kind: from.kind };
      const isFull = limited<EntryTexts>((row) => row.yaml.byteLength + row.json.byteLength);
      for await (const page of pages((at) => both.iterate(at), position, isFull)) yield* page;
    },
    async *entryPages(catalog, serial, syntax, from = start) {
      const position = { catalog, serial, group: from.group, kind: from.kind };
      type Row = FunctionName & { text: Buffer };
      function* rows(at: Position): Iterable<Row> {
        if (syntax === 'yaml') {
          for (const { yaml: text, ...row } of inSyntax.yaml.iterate(at)) yield { ...row, text };
        } else {
          for (const { json: text, ...row } of inSyntax.json.iterate(at)) yield { ...row, text };
        }
      }
      const isFull = limited<Row>(({ text }) => text.byteLength);
      for await (const page of pages(rows, position, isFull)) yield page.map(({ text }) => text);
    },
    async *entryRuns(catalog, serial, { syntax, between, ranges }) {
      let bytes = 0;
      for (const { from = start, to = LAST } of ranges) {
        const position = { catalog, serial, group: from.group, kind: from.kind };
        const end = { endGroup: to.group, endKind: to.kind };
        const { text, functions } = await read(() => runs[syntax].get({ ...position, ...end, between })!);
        yield { text: text ?? Buffer.of(), functions };
        bytes += text?.byteLength ?? 0;
        if (bytes < PAGE_BYTES) continue;
        bytes = 0;
        await setImmediate();
      }
    },
    async entryBytes(catalog, serial) {
      const sum = { yaml: 0, json: 0 };
      let count = 0;
      const isFull = () => ++count % SIZES_PAGE === 0;
      for await (const page of pages((at) => sizes.all(at), { catalog, serial, ...start }, isFull)) {
        for (const row of page) {
          sum.yaml += row.yaml;
          sum.json += row.json;
        }
      }
      return sum;
    },
  };
}
