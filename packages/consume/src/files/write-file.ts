import { type FileHandle, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import { writeDurably } from '@krmhub/sources/durable-file';
import { makeFolder } from '@krmhub/sources/make-folder';
import { diskError } from './read-file.js';

export interface WriteOptions {
  /** Replace a file with other bytes. */
  overwrite: boolean;
  /** Permissions of the file. Default: those of the one that is replaced. */
  mode?: number;
  /** Permissions of a new folder. */
  folderMode?: number;
}

/**
 * Writes a file atomically (`writeDurably`). Leaves a file with the same bytes unchanged.
 * Throws `conflict` for a file with other bytes, unless `overwrite` is set.
 */
export async function writeFileAtomically(
  file: string,
  bytes: Uint8Array | string,
  options: WriteOptions,
): Promise<'written' | 'unchanged'> {
  const wanted = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
  return replaceFile(file, options, {
    same: async () => (await readFile(file)).equals(wanted),
    write: (handle) => handle.writeFile(wanted),
  });
}

/** Writes chunks atomically. `same` reports whether the existing file has the same bytes. */
export function writeChunksAtomically(
  file: string,
  source: { same: () => Promise<boolean>; chunks: () => AsyncIterable<Uint8Array> },
  options: WriteOptions,
): Promise<'written' | 'unchanged'> {
  return replaceFile(file, options, {
    same: source.same,
    write: async (handle) => {
      for await (const chunk of source.chunks()) await handle.writeFile(chunk);
    },
  });
}

async function replaceFile(
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
    const { overwrite, mode = await modeOf(file) } = options;
    await writeDurably(file, { write: content.write, mode, overwrite });
    return 'written';
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') throw existsError(file);
    throw error instanceof KrmhubError ? error : diskError(error, `cannot write ${file}`);
  }
}

/** What others cannot read, such as a file with a password, does not become readable because it is changed. */
async function modeOf(file: string): Promise<number> {
  const status = await stat(file).catch(() => undefined);
  return status === undefined ? 0o666 : status.mode & 0o777;
}

function folderError(error: unknown, folder: string): unknown {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) return error;
  return new KrmhubError('unavailable', `cannot create the folder ${folder}`, {
    hint: 'Choose a folder on a writable disk.',
    cause: error,
  });
}

function existsError(file: string): KrmhubError {
  return new KrmhubError('conflict', `${file} already exists and differs`, {
    hint: `Use another file, use --overwrite if the command supports it, or run: rm ${file}`,
  });
}
