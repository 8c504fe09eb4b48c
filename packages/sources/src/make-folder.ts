import { mkdir, stat } from 'node:fs/promises';
import path from 'node:path';

/**
 * Creates a folder and its parents. The recursive mkdir of Node never ends on a file system such as /proc, which
 * reports a missing folder inside an existing one.
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
      // Another process may have created it.
      if (!(again instanceof Error && 'code' in again && again.code === 'EEXIST')) throw again;
    });
  }
}
