import { builtEntry } from '../process/built-entry.js';
import { watchCleanup } from '../process/parent-watch.js';

/**
 * From now on, a process completes the write, or removes what was prepared, as soon as this process is killed in the
 * middle of it. Without one, the next command for the package does the same. Returns what ends the watch.
 */
export function guardWrite(folder: string): () => void {
  const args = [builtEntry('recover-process'), folder];
  return watchCleanup({ program: process.execPath, args, env: {}, cwd: '/' });
}
