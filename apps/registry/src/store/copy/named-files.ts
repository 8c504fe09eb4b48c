import type { Digest } from '@krmhub/schema';
import { COPIES } from '../records/sources/source-rows.js';

/** Parts of a registry that are files. */
export const FILE_PARTS = ['blobs', 'artifacts', 'copies'] as const;
export type FilePart = (typeof FILE_PARTS)[number];

/** Files that the rows of a database name. */
export type NamedFiles = Record<FilePart, Digest[]>;

/** SQL that returns the digests of each part in one column. */
export const NAMED_FILES = {
  blobs: `SELECT digest FROM release UNION SELECT readme FROM release WHERE readme IS NOT NULL
    EXCEPT SELECT digest FROM release_file`,
  artifacts: "SELECT DISTINCT file FROM oci_blob WHERE place = 'artifacts'",
  copies: COPIES,
} as const;
