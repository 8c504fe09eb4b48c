/** The kinds of document that can be converted to definitions: `kep` are definitions and catalogs in any dialect. */
export const CONVERT_SOURCES = ['kep', 'kpt-metadata', 'kpt-list', 'krew', 'porch'] as const;
export type ConvertSource = (typeof CONVERT_SOURCES)[number];
