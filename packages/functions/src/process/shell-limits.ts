import { availableParallelism, platform } from 'node:os';
import { FUNCTION_LIMITS, type RunLimits } from '../limits.js';

export interface Command {
  program: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
}

const SHELL = '/bin/sh';
/** Unit of `ulimit -f` (POSIX). */
const BLOCK_BYTES = 512;

/**
 * Lets a shell set limits and then become the command: no core dumps, no file that fills the disk, and processor time for
 * processes that escape the timeout. Limits that the system does not support are skipped.
 */
export function limited({ program, args, env }: Command, { timeout }: RunLimits): Command {
  if (platform() === 'win32') return { program, args, env };
  const limits = {
    c: 0,
    f: Math.ceil(FUNCTION_LIMITS.maxFileBytes / BLOCK_BYTES),
    t: Math.ceil(timeout / 1_000) * availableParallelism() + 1,
  };
  const set = Object.entries(limits).map(([name, value]) => `ulimit -${name} ${value} 2>/dev/null || :;`);
  return { program: SHELL, args: ['-c', `${set.join(' ')} exec "$@"`, 'sh', program, ...args], env };
}
