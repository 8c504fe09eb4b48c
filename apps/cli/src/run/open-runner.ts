import type { Io } from '../io/io.js';
import type { Runner, RunnerOptions, RunPermissions } from './runner.js';

/** Opens a runner. Engines, sandboxes and executables are looked for when the first function needs them. */
export async function openRunner(
  io: Io,
  permissions: RunPermissions,
  options: RunnerOptions = {},
): Promise<Runner> {
  const { LocalRunner } = await import('./local-runner.js');
  return new LocalRunner(io, permissions, options);
}
