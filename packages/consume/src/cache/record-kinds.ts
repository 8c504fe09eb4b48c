/**
 * Kinds of records. `catalogs`: remote catalogs and entries. `files`: catalogs on this disk. `indexes`: digests of
 * indexes. `entries`: what was read of an entry. `images`: tags. `evidence`: signatures. `seen`: what trusted catalogs
 * had. `takedowns`: whether registries took down scripts and releases, and the releases that images and executables are
 * from.
 */
export const RECORD_KINDS = [
  'catalogs',
  'files',
  'indexes',
  'entries',
  'images',
  'evidence',
  'seen',
  'takedowns',
] as const;
export type RecordKind = (typeof RECORD_KINDS)[number];
