import { closeSync, constants, fsyncSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { platform } from 'node:os';

/** Files that are synced at the same time. */
const SYNCS = 32;

/** Waits until a file, or the names in a folder, are on the disk. */
export function syncPath(file: string): void {
  // Windows cannot open folders.
  if (platform() === 'win32') return;
  const descriptor = openSync(file, constants.O_RDONLY);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Waits until files are on the disk. */
export async function syncFiles(paths: readonly string[]): Promise<void> {
  let next = 0;
  const work = async () => {
    for (let file = paths[next++]; file !== undefined; file = paths[next++]) {
      const handle = await open(file, 'r');
      try {
        await handle.sync();
      } finally {
        await handle.close();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(SYNCS, paths.length) }, work));
}
