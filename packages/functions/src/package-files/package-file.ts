/** What tells whether a file was changed. */
export interface FileVersion {
  inode: bigint;
  size: bigint;
  modifiedNanoseconds: bigint;
  changedNanoseconds: bigint;
}

/** A file of resources, as it was read. */
export interface PackageFile {
  /** Relative to the folder of the package, with slashes. */
  path: string;
  /** The file in the package that is read and written, if `path` is a symbolic link to it. */
  target?: string;
  text: string;
  version: FileVersion;
  /** Permissions, without the type. */
  mode: number;
  owner: number;
  group: number;
}

/** A file that looks like one of resources and was not read. */
export interface SkippedFile {
  path: string;
  /** The path, and why. */
  reason: string;
}

/** The file that is written for a path. */
export function writtenPath({ path, target = path }: PackageFile): string {
  return target;
}

/** The files of a package, before their resources are read. */
export interface PackageFiles {
  /** Real path. */
  folder: string;
  /** By path, in the order in which kpt reads them. */
  files: Map<string, PackageFile>;
  skipped: SkippedFile[];
}

/** Name of the file that makes a folder a package. */
export const KPTFILE = 'Kptfile';
/** Reports whether a file has resources, by its name. kpt reads `.json` too. */
export function isResourceFile(name: string): boolean {
  return name === KPTFILE || /\.(?:ya?ml|json)$/.test(name);
}

/** Reports whether a path with slashes stays in its folder. */
export function isInside(text: unknown): text is string {
  if (typeof text !== 'string' || text === '' || text.startsWith('/') || text.includes('\0')) return false;
  return text.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}
