import path from 'node:path';
import type { Environment, WorkingFolder } from '@krmhub/consume/ports';
import { runInPlace } from '@krmhub/functions/executables/run-in-place';
import type { RunLimits } from '@krmhub/functions/limits';
import { splitCommandLine } from '@krmhub/functions/plan';
import { findProgram } from '@krmhub/functions/process/find-program';
import { KrmhubError } from '@krmhub/schema/error';
import { childEnvironment } from '../io/child-environment.js';
import { MissingPermission } from '../run/permissions.js';
import type { Runnable } from './runnable.js';
import type { FnSettings } from './settings.js';

/** An executable that the user or a package names. */
export interface ExecFunction {
  /** Program and arguments. */
  words: readonly [string, ...string[]];
  /** As it is printed. */
  name: string;
  /** Working directory; a path of the program is relative to it. */
  folder: string;
}

/** Returns the executable of a command line, as kpt runs it: in the current folder. */
export function commandLineFunction(io: WorkingFolder, line: string): ExecFunction {
  return { words: splitCommandLine(line), name: line, folder: io.cwd };
}

/** Returns a function that is an executable of this machine. It gets the environment of the user, as in kpt. */
export function execFunction(
  io: Environment,
  { words: [program, ...args], name, folder }: ExecFunction,
  limits: RunLimits,
): Runnable {
  return {
    name,
    recorded: { exec: name },
    run: async (input, { signal }) => {
      const file = await findExecutable(io, program, folder);
      return runInPlace({ file, args, cwd: folder, env: childEnvironment(io) }, input, limits, signal);
    },
  };
}

/**
 * Throws `untrusted` unless the user allows programs that a package names. kpt has one option, `--allow-exec`, which
 * here allows the executables of catalogs, and those run in a sandbox.
 */
export function requirePackageExec(
  { allowPackageExec, permissions: { allowExec } }: Pick<FnSettings, 'allowPackageExec' | 'permissions'>,
  name: string,
): void {
  if (allowPackageExec) return;
  const other = allowExec ? ' --allow-exec is for executables of catalogs.' : '';
  throw new MissingPermission(
    `must run with \`--allow-package-exec\` option to allow running programs of the package: ${name}`,
    {
      options: ['--allow-package-exec'],
      hint: `A program of the package runs with your permissions.${other} If you trust the package, add --allow-package-exec.`,
    },
  );
}

async function findExecutable({ env }: Environment, name: string, folder: string): Promise<string> {
  if (name.includes('/')) return path.resolve(folder, name);
  const found = await findProgram(name, env);
  if (found !== undefined) return found;
  throw new KrmhubError('not-found', `exec: "${name}": executable file not found in $PATH`, {
    hint: `For a file in ${folder}, use a path with a slash: ./${name}`,
  });
}
