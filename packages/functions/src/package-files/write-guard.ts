import { spawn } from 'node:child_process';
import { builtEntry } from '../process/built-entry.js';

/** Ends the process that watches over a write. */
export interface WriteGuard {
  release(): void;
}

/** Waits for the end of this process, and runs the rest only if it did not say that the write is done. */
const SCRIPT = 'read -r line; [ "$line" = done ] || exec "$@"';

/**
 * Starts a process that completes a write, or removes what was prepared, as soon as this process is killed in the middle of it. It is a
 * shell that waits, in a session of its own so that an interrupt of the terminal does not reach it. Without one, the next
 * command for the package does the same.
 */
export function startGuard(folder: string): WriteGuard {
  if (process.platform === 'win32') return { release: () => undefined };
  const entry = builtEntry('recover-process');
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'sh', process.execPath, entry, folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: {},
    cwd: '/',
  });
  child.on('error', () => undefined);
  child.stdin.on('error', () => undefined);
  child.unref();
  return { release: () => void child.stdin.end('done\n') };
}
