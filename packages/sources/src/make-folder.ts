import { mkdir, stat } from 'node:fs/promises';
import path from 'node:path';

/**
 * Makes a folder and those around it. Node's own recursive mkdir tries for ever where a file system such as
 * /proc answers that a folder is missing inside one that is there.
 */
export async function makeFolder(folder: string, mode?: number): Promise<void> {
  const options = mode === undefined ? {} : { mode };
  try {
    await mkdir(folder, options);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EEXIST' && (await stat(folder)).isDirectory()) return;
    const outer = path.dirname(folder);
    if (code !== 'ENOENT' || outer === folder) throw error;
    await makeFolder(outer, mode);
    await mkdir(folder, options).catch((again: unknown) => {
      // Another program may have made it meanwhile.
      if (!(again instanceof Error && 'code' in again && again.code === 'EEXIST')) throw again;
    });
  }
}
