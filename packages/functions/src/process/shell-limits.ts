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
 * Lets the shell that becomes the command set limits: no core dumps, no file that fills the disk, and processor time
 * for processes that escape the timeout. Limits that the system does not support are skipped.
 */
export function limited<Limited extends Command>(
  command: Limited,
  { timeout }: RunLimits,
): Limited & { setup: string } {
  const limits = {
    c: 0,
    f: Math.ceil(FUNCTION_LIMITS.maxFileBytes / BLOCK_BYTES),
    t: Math.ceil(timeout / 1_000) * availableParallelism() + 1,
  };
  const set = Object.entries(limits).map(([name, value]) => `ulimit -${name} ${value} 2>/dev/null || :;`);
  return { ...command, setup: set.join(' ') };
}
