/**
 * Files of a package that are no resources, and decide what krmhub reads and runs: a function could hide files from the
 * next validator, or choose the image of the next render.
 */

/** Name of the files that list what is not part of a package. */
export const IGNORE_FILE = '.krmignore';

/**
 * The folder of a write that goes on, or was interrupted. Those with a process in the name were not begun, or are done.
 */
export const WRITE_FOLDER = '.krmhub-fn';

/** Reports whether a folder at the root of a package belongs to a write. */
export function isWriteFolder(name: string): boolean {
  return name === WRITE_FOLDER || /^\.krmhub-fn\.\d+\.\d+\.\d+$/.test(name);
}

const RESERVED_FILES: ReadonlyMap<string, string> = new Map([
  [IGNORE_FILE, 'it says which files are part of the package'],
  ['krmhub.lock', 'it says which functions run'],
]);

/** Returns why a function must not write a path; undefined if it may. Case does not count, as in some file systems. */
export function reservedReason(path: string): string | undefined {
  const parts = path.toLowerCase().split('/');
  if (isWriteFolder(parts[0]!)) return 'krmhub uses this folder while it writes a package';
  return RESERVED_FILES.get(parts.at(-1)!);
}
