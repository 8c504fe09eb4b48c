import { realpath } from 'node:fs/promises';
import path from 'node:path';

/** Resolves links. A path that does not exist stays as it is. */
export async function realPath(file: string): Promise<string> {
  return realpath(file).catch(() => path.resolve(file));
}
