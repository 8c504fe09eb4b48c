/** The types of documents that can be converted to definitions. `kep`: definitions and catalogs in any dialect. */
export const CONVERT_SOURCES = ['kep', 'kpt-metadata', 'kpt-list', 'krew', 'porch'] as const;
export type ConvertSource = (typeof CONVERT_SOURCES)[number];
