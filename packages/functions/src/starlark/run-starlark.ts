import type { RunLimits } from '../limits.js';
import type { RunResult } from '../output/run-result.js';
import { type StarlarkRun, StarlarkSession } from './starlark-session.js';

export type { StarlarkRun } from './starlark-session.js';

/** Runs one Starlark script, as a StarlarkSession does, in a process of its own. */
export async function runStarlark(
  run: StarlarkRun,
  input: Uint8Array,
  limits: RunLimits,
  signal?: AbortSignal,
): Promise<RunResult> {
  const session = new StarlarkSession();
  try {
    return await session.run(run, input, limits, signal);
  } finally {
    session.close();
  }
}
