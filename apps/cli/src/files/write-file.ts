import { randomUUID } from 'node:crypto';
import { type FileHandle, link, open, readFile, rename, rm } from 'node:fs/promises';
import { platform } from 'node:os';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import { makeFolder } from './make-folder.js';
import { diskError } from './read-file.js';

export interface WriteOptions {
  /** Whether a file with other bytes may be replaced. */
  overwrite: boolean;
  /** Permissions of the file and, where it has to be made, of its folder. */
  mode?: number;
  folderMode?: number;
}

/**
 * Writes a file whole or not at all: temporary file, fsync, rename, fsync of the folder. A file with the same
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
  const temporary = path.join(folder, `.${path.basename(file)}.${randomUUID()}`);
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
    const handle = await open(temporary, 'wx', options.mode ?? 0o666);
    try {
      await content.write(handle);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (options.overwrite) await rename(temporary, file);
    else await link(temporary, file);
    await syncFolder(folder);
    return 'written';
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') throw existsError(file);
    throw error instanceof KrmhubError ? error : diskError(error, `cannot write ${file}`);
  } finally {
    // What is left over must not hide why the file could not be written.
    await rm(temporary, { force: true }).catch(() => undefined);
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

async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open folders.
  if (platform() === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
