import type { WorkingFolder } from '@krmhub/consume/ports';
import { splitCommandLine } from '@krmhub/functions/plan';
import { MissingPermission } from '../run/permissions.js';
import type { NamedProgram } from '../run/runner.js';
import type { FnSettings } from './settings.js';

/** An executable that the user or a package names. */
export interface ExecFunction extends NamedProgram {
  /** As it is printed. */
  name: string;
}

/** Returns the executable of a command line, as kpt runs it: in the current folder. */
export function commandLineFunction({ cwd }: WorkingFolder, line: string): ExecFunction {
  return execFunction(splitCommandLine(line), line, cwd);
}

/** Returns an executable with the message of kpt for one that is missing. */
export function execFunction(words: NamedProgram['words'], name: string, folder: string): ExecFunction {
  const [program] = words;
  const message = `exec: "${program}": executable file not found in $PATH`;
  const hint = `For a file in ${folder}, use a path with a slash: ./${program}`;
  return { words, name, folder, missing: { message, hint } };
}

/**
 * Throws `untrusted` unless the user allows programs that a package names. kpt has one option, `--allow-exec`, which
 * here allows the executables of catalogs, and those run in a sandbox.
 */
export function requirePackageExec(
  { allowPackageExec, permissions: { allowExec } }: FnSettings,
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
