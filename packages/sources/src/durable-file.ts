import { randomUUID } from 'node:crypto';
import { closeSync, fsync, openSync } from 'node:fs';
import { type FileHandle, link, open, rename, rm } from 'node:fs/promises';
import { platform } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

export interface DurableWrite {
  /** Writes the content, and may set the owner. */
  write: (handle: FileHandle) => Promise<void>;
  mode: number;
  /** Whether a file of that name is replaced; else the write rejects with `EEXIST`. */
  overwrite: boolean;
  /** Beside the file; a hidden name that no other write has by default. */
  temporary?: string;
}

/**
 * Writes a file whole or not at all, in a folder that exists: temporary file, fsync, rename, fsync of the folder. The
 * file is durable when this resolves. Rejects with the errors of the file system, and leaves no temporary file behind.
 *
 * write-file-atomic does less: it syncs no folder, always replaces, and takes content from memory only.
 */
export async function writeDurably(
  file: string,
  { write, mode, overwrite, ...options }: DurableWrite,
): Promise<void> {
  const folder = path.dirname(file);
  const { temporary = path.join(folder, `.${path.basename(file)}.${randomUUID()}`) } = options;
  try {
    const handle = await open(temporary, 'wx', mode);
    try {
      await write(handle);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (overwrite) await rename(temporary, file);
    else await link(temporary, file);
    await syncFolder(folder);
  } finally {
    // What is left over must not hide why the file could not be written.
    await rm(temporary, { force: true }).catch(() => undefined);
  }
}

/**
 * Makes durable which files a folder has. Only the sync waits for the disk: the folder was changed just before, so
 * that opening it costs less here than handing the call to another thread.
 */
export async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open folders.
  if (platform() === 'win32') return;
  const descriptor = openSync(folder, 'r');
  try {
    await syncDescriptor(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

const syncDescriptor = promisify(fsync);
