import { type FileHandle, readFile } from 'node:fs/promises';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import { writeDurably } from '@krmhub/sources/durable-file';
import { makeFolder } from '@krmhub/sources/make-folder';
import { diskError } from './read-file.js';

export interface WriteOptions {
  /** Whether a file with other bytes may be replaced. */
  overwrite: boolean;
  /** Permissions of the file and, where it has to be made, of its folder. */
  mode?: number;
  folderMode?: number;
}

/**
 * Writes a file whole or not at all (`writeDurably`). A file with the same
 * bytes is left as it is. Throws `conflict` where another one may not be replaced.
 */
export async function writeFileAtomically(
  file: string,
  bytes: Uint8Array | string,
  options: WriteOptions,
): Promise<'written' | 'unchanged'> {
  const wanted = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
  return replacing(file, options, {
    same: async () => (await readFile(file)).equals(wanted),
    write: (handle) => handle.writeFile(wanted),
  });
}

/** The same for bytes that come in pieces, where `same` says whether the file that is there has them. */
export function writePiecesAtomically(
  file: string,
  source: { same: () => Promise<boolean>; pieces: () => AsyncIterable<Uint8Array> },
  options: WriteOptions,
): Promise<'written' | 'unchanged'> {
  return replacing(file, options, {
    same: source.same,
    write: async (handle) => {
      for await (const piece of source.pieces()) await handle.writeFile(piece);
    },
  });
}

async function replacing(
  file: string,
  options: WriteOptions,
  content: { same: () => Promise<boolean>; write: (handle: FileHandle) => Promise<void> },
): Promise<'written' | 'unchanged'> {
  const folder = path.dirname(file);
  try {
    const same = await content.same().catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (same === true) return 'unchanged';
    if (same === false && !options.overwrite) throw existsError(file);
    await makeFolder(folder, options.folderMode).catch((error: unknown) => {
      throw folderError(error, folder);
    });
    const { overwrite, mode = 0o666 } = options;
    await writeDurably(file, { write: content.write, mode, overwrite });
    return 'written';
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') throw existsError(file);
    throw error instanceof KrmhubError ? error : diskError(error, `cannot write ${file}`);
  }
}

function folderError(error: unknown, folder: string): unknown {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) return error;
  return new KrmhubError('unavailable', `no folder can be made at ${folder}`, {
    hint: 'Name a folder on a disk.',
    cause: error,
  });
}

function existsError(file: string): KrmhubError {
  return new KrmhubError('conflict', `${file} is there already, with other content`, {
    hint: 'Remove it, name another place, or say --overwrite where the command has it.',
  });
}
