/**
 * How files that exist are written. `edit`: their text is edited where a function changed a resource. `kpt`: as kpt
 * writes them, byte for byte.
 */
export const FILE_FORMATS = ['edit', 'kpt'] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];
