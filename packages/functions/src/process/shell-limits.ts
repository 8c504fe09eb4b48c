import { availableParallelism } from 'node:os';
import { FUNCTION_LIMITS, type RunLimits } from '../limits.js';

export interface Command {
  program: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
}

/** Unit of `ulimit -f` (POSIX). */
const BLOCK_BYTES = 512;

/**
 * Lets the shell that becomes the command set limits for each process: no core dumps, no file that fills the disk,
 * memory that it can write, and processor time, also if it escapes the timeout. Limits that the system does not support
 * are skipped.
 */
export function limited<Limited extends Command>(
  command: Limited,
  { timeout }: RunLimits,
): Limited & { setup: string } {
  const limits = {
    c: 0,
    // In kibibytes. The whole address space (`ulimit -v`) is no measure: runtimes reserve much more than they use.
    d: FUNCTION_LIMITS.maxMemoryBytes / 1_024,
    f: Math.ceil(FUNCTION_LIMITS.maxFileBytes / BLOCK_BYTES),
    t: Math.ceil(timeout / 1_000) * availableParallelism() + 1,
  };
  const set = Object.entries(limits).map(([name, value]) => `ulimit -${name} ${value} 2>/dev/null || :;`);
  return { ...command, setup: set.join(' ') };
}
