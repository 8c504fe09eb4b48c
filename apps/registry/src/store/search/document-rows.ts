import type { SearchDocument, upstreamSearchDocument } from '@krmhub/catalog';
import { getTableColumns } from 'drizzle-orm';
import { documentColumns } from '../records/schema/document-columns.js';
import { functions } from '../records/schema/schema.js';

/** How the fields of search documents are stored: text as it is, lists as JSON, flags as 0 or 1. */

export type UpstreamDocument = ReturnType<typeof upstreamSearchDocument>;
type Named = 'group' | 'kind';
type EntryField = keyof ReturnType<typeof documentColumns>;
type OwnField = Exclude<keyof SearchDocument, Named | EntryField>;
/** A row with the fields `Field` of a document. */
type Encoded<Field extends keyof SearchDocument> = {
  [Key in Field]: SearchDocument[Key] extends boolean ? number : string;
};
/** Every field of an entry has a column. */
export type EntryRow = Encoded<Exclude<keyof UpstreamDocument, Named>>;
/** The row of a function; one that only upstream catalogs have has no release. */
export type DocumentRow = EntryRow & Omit<Encoded<OwnField>, 'release'> & { release: string | null };

/** Fields that functions of upstream catalogs have too. */
export const ENTRY_FIELDS = Object.keys(documentColumns()) as EntryField[];
/** Fields of functions of the registry only, with their SQL for all others. */
const OWN_FIELDS = {
  release: 'NULL',
  yanked: '0',
  deprecated: '0',
  signatures: "'[]'",
  attestations: "'[]'",
  published: "''",
} as const satisfies Record<OwnField, string>;
export const DOCUMENT_FIELDS = [...ENTRY_FIELDS, ...(Object.keys(OWN_FIELDS) as OwnField[])];

const columns = getTableColumns(functions);
const FLAGS = DOCUMENT_FIELDS.filter((field) => columns[field].dataType === 'boolean');
const JSON_FIELDS = DOCUMENT_FIELDS.filter((field) => columns[field].dataType === 'json');

/** SQL of searchable functions: those of this registry, and those that only upstream catalogs have. */
export const FINDABLE_TABLES = [
  `SELECT id, group_name, kind, kind_folded, ${DOCUMENT_FIELDS.join(', ')} FROM function`,
  `SELECT id, group_name, kind, kind_folded, ${ENTRY_FIELDS.join(', ')}, ${Object.entries(OWN_FIELDS)
    .map(([field, value]) => `${value} AS ${field}`)
    .join(', ')} FROM upstream_function`,
] as const;
export const FINDABLE = `(${FINDABLE_TABLES.join(' UNION ALL ')})`;

/** SQL of the columns of a table in SQLite that stores documents of both kinds. */
export const DOCUMENT_COLUMN_TYPES = DOCUMENT_FIELDS.map((field) =>
  field === 'release' ? 'release TEXT' : `${field} ${FLAGS.includes(field) ? 'INTEGER' : 'TEXT'} NOT NULL`,
).join(', ');

/** Returns the columns of an entry. */
export function encodeEntry(document: UpstreamDocument): EntryRow {
  return encode(document, ENTRY_FIELDS) as EntryRow;
}

/** Returns the columns of a function of the registry. */
export function encodeDocument(document: SearchDocument): DocumentRow {
  return encode(document, DOCUMENT_FIELDS) as DocumentRow;
}

function encode(document: Partial<SearchDocument>, fields: readonly (keyof SearchDocument)[]): object {
  return Object.fromEntries(
    fields.map((field) => {
      const value = document[field];
      if (Array.isArray(value)) return [field, JSON.stringify(value)];
      return [field, typeof value === 'boolean' ? Number(value) : value];
    }),
  );
}

/** Returns the values of a row, except for the release. */
export function decodeDocument(row: DocumentRow): Omit<SearchDocument, Named | 'release'> {
  const values = DOCUMENT_FIELDS.filter((field) => field !== 'release').map((field) => {
    const value = row[field];
    if (JSON_FIELDS.includes(field)) return [field, JSON.parse(value as string)];
    return [field, FLAGS.includes(field) ? value === 1 : value];
  });
  return Object.fromEntries(values) as Omit<SearchDocument, Named | 'release'>;
}
