import { spawn } from 'node:child_process';
import type { Environment } from '@krmhub/consume/ports';
import { findProgram } from '@krmhub/functions/process/find-program';
import { printable } from '@krmhub/schema/network-reason';
import { childEnvironment } from './child-environment.js';

/** Timeout of a helper, which can prompt the user. */
const HELPER_MILLISECONDS = 60_000;
const MAX_OUTPUT_LENGTH = 65_536;

/** How a helper ended, or why it could not run. */
export type HelperResult = { code: number | null; output: string } | { problem: string };

/**
 * Runs a small program of another tool that returns a secret on stdout. It gets the environment of the user without the
 * secrets of krmhub.
 */
export async function runHelper(
  io: Environment,
  program: string,
  args: readonly string[],
  input = '',
): Promise<HelperResult> {
  const found = await findProgram(program, io.env);
  if (found === undefined) return { problem: 'not installed' };
  return start(io, found, args, input).catch((error: NodeJS.ErrnoException) => ({
    problem:
      error.name === 'AbortError'
        ? `no response within ${HELPER_MILLISECONDS / 1_000} seconds`
        : printable(error.message),
  }));
}

function start(
  io: Environment,
  program: string,
  args: readonly string[],
  input: string,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: childEnvironment(io),
      stdio: ['pipe', 'pipe', 'inherit'],
      // The option `timeout` would keep this process alive if the helper cannot be started.
      signal: AbortSignal.timeout(HELPER_MILLISECONDS),
    });
    let output = '';
    child.on('error', reject);
    child.stdin.on('error', () => undefined);
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (output.length < MAX_OUTPUT_LENGTH) output += text;
    });
    child.on('close', (code) => resolve({ code, output }));
    child.stdin.end(input);
  });
}
