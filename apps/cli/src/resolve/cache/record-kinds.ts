/**
 * Kinds of records. `catalogs`: remote catalogs and entries. `files`: catalogs on this disk. `entries`: what was read
 * of an entry. `images`: tags. `evidence`: signatures. `seen`: what trusted catalogs had. `scripts`:
 * whether their registries took them down.
 */
export const RECORD_KINDS = [
  'catalogs',
  'files',
  'entries',
  'images',
  'evidence',
  'seen',
  'scripts',
] as const;
export type RecordKind = (typeof RECORD_KINDS)[number];
