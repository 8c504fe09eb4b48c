/**
 * Kinds of records. `catalogs`: remote catalogs and entries. `files`: catalogs on this disk. `images`: tags. `evidence`: signatures.
 */
export const RECORD_KINDS = ['catalogs', 'files', 'images', 'evidence'] as const;
export type RecordKind = (typeof RECORD_KINDS)[number];
