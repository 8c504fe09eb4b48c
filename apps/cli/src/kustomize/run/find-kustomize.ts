import path from 'node:path';
import type { Environment, WorkingFolder } from '@krmhub/consume/ports';
import { findProgram } from '@krmhub/functions/process/find-program';
import { KrmhubError } from '@krmhub/schema/error';

/** The program that builds: `kustomize build` or `kubectl kustomize`. */
export interface Kustomize {
  /** Absolute path. */
  file: string;
  /** Arguments before the folder. */
  command: readonly string[];
}

/** Finds the given program, by its path or name, else kustomize or kubectl on PATH. Throws `not-found`. */
export async function findKustomize(
  { env, cwd }: Environment & WorkingFolder,
  given?: string,
): Promise<Kustomize> {
  if (given?.includes('/') === true)
    return { file: path.resolve(cwd, given), command: [buildSubcommand(given)] };
  for (const name of given === undefined ? ['kustomize', 'kubectl'] : [given]) {
    const file = await findProgram(name, env);
    if (file !== undefined) return { file, command: [buildSubcommand(name)] };
  }
  throw given === undefined
    ? new KrmhubError('not-found', 'neither kustomize nor kubectl is on PATH', {
        hint: 'Install one of them, or set its path: --kustomize PROGRAM',
      })
    : new KrmhubError('not-found', `the program ${given} is not on PATH`, {
        hint: 'Set the path of kustomize or kubectl: --kustomize PROGRAM',
      });
}

function buildSubcommand(name: string): string {
  return path.basename(name).startsWith('kubectl') ? 'kustomize' : 'build';
}
