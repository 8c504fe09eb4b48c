import { compareText } from '../names/compare-text.js';

/** The files of a folder as one text, so that they can be stored and read like a catalog file. */

/** A file of the folder of a source. */
export interface SourceFile {
  /** Relative to the folder, or to the root of the repository. */
  path: string;
  /** The release from the tag of the repository. */
  release?: string;
  /** The content. Absent if there is a problem. */
  text?: string;
  /** Whether the newest commit of the repository does not have the file any more. */
  removed?: true;
  /** Why the file cannot be read. */
  problem?: string;
}

const START = '{"apiVersion":"krmhub.dev/v1alpha1","kind":"SourceFiles","files":[';

/** Serializes the files as one line per file, sorted by path, so that equal files have equal bytes. */
export function writeSourceFiles(files: readonly SourceFile[]): Uint8Array {
  const lines = [...files].sort(compareFiles).map((file) => JSON.stringify(file));
  return Buffer.from(`${START}\n${lines.join(',\n')}\n]}\n`);
}

/** Parses the files. Returns undefined for other bytes. */
export function readSourceFiles(bytes: Uint8Array): SourceFile[] | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (text.subarray(0, START.length).toString('latin1') !== START) return undefined;
  try {
    const { files } = JSON.parse(text.toString('utf8')) as { files: unknown };
    return Array.isArray(files) && files.every(isSourceFile) ? files : undefined;
  } catch {
    return undefined;
  }
}

function isSourceFile(value: unknown): value is SourceFile {
  if (typeof value !== 'object' || value === null) return false;
  const { path, release = '', text = '', problem = '', removed = true } = value as Record<string, unknown>;
  return removed === true && [path, release, text, problem].every((field) => typeof field === 'string');
}

function compareFiles(a: SourceFile, b: SourceFile): number {
  return compareText(`${a.path}\0${a.release ?? ''}`, `${b.path}\0${b.release ?? ''}`);
}
