import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { writeDurably } from '@krmhub/sources/durable-file';
import { makeFolder } from '@krmhub/sources/make-folder';
import { FILE_MODE, FOLDER_MODE, writeCacheFile } from './write.js';

/**
 * Returns a new key in hexadecimal digits, and stores it unless another process stored one first, which is the one to
 * use then. `read` returns a stored key that is not damaged.
 */
export async function makeRecordKey(file: string, read: () => Promise<string | undefined>): Promise<string> {
  const key = randomBytes(32).toString('hex');
  const bytes = Buffer.from(`${key}\n`);
  const folder = path.dirname(file);
  try {
    await makeFolder(folder, FOLDER_MODE);
    await writeDurably(file, {
      write: (handle) => handle.writeFile(bytes),
      mode: FILE_MODE,
      overwrite: false,
    });
  } catch {
    const first = await read();
    if (first !== undefined) return first;
    // It is damaged, or the file system has no links. Without a folder for it, the key is that of this process: its
    // records are of no use to others.
    await writeCacheFile(file, bytes, folder).catch(() => undefined);
  }
  return (await read()) ?? key;
}
