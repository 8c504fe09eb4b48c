import type { ProgramName } from './programs.js';

const WRONG_TYPE = 'names the field, the line, and the type of a wrong value in a Kptfile';
const OWN_CONFIG = 'leaves the functionConfig of a step out of its items, as kpt 1.0';

/**
 * Where `krmhub fn` differs from kpt on purpose. The harness runs these cases all the same, and counts those that fail
 * as skipped, with the reason.
 */
export const DOCUMENTED_DIFFERENCES: ReadonlyMap<string, string> = new Map([
  ['fn-eval/all-resource-deletion/pkg', 'refuses to delete all resources without `--allow-empty`'],
  ['fn-render/fnconfig-ancestorfn-not-mutate-subpkg-config', OWN_CONFIG],
  ['fn-render/fnconfig-in-subdir', OWN_CONFIG],
  ['fn-render/fnconfig-updated-in-render', OWN_CONFIG],
  ['fn-render/invalid-configmap-fnconfig', WRONG_TYPE],
  ['fn-render/no-format-on-failure', WRONG_TYPE],
]);

/**
 * Cases that kpt 1.0.0-beta.56 does not pass itself, with the reason. They run all the same, and are skipped if they
 * fail.
 */
export const NOT_OF_KPT: ReadonlyMap<string, string> = new Map([
  ['fn-render/basicpipeline-wasm', 'needs a WebAssembly runtime, which released programs of kpt do not have'],
  ['fn-source/subpkgs-with-krmignore', 'expects no Kptfiles in the output of fn source; kpt writes them'],
]);

/** Why a case that fails does not count as failed; undefined if it does. */
export function whyAccepted(program: ProgramName, name: string): string | undefined {
  const notOfKpt = NOT_OF_KPT.get(name);
  if (notOfKpt !== undefined) return `kpt fails too: ${notOfKpt}`;
  const documented = program === 'krmhub' ? DOCUMENTED_DIFFERENCES.get(name) : undefined;
  return documented === undefined ? undefined : `documented difference: ${documented}`;
}

/** kpt before 1.0, whose outputs are compared, writes no status into a Kptfile. */
export function withoutStatus(kptfile: string): string {
  return kptfile.replace(/^status:\n(?:[ \t].*\n)*/m, '');
}

/**
 * kpt has the exit code 1 for every failure. krmhub tells apart failed functions and invalid packages (1), wrong
 * arguments (2), what is missing (3), what is not trusted (4), disk, network, or engine (5), and what is not allowed
 * (6).
 */
export function isExitCode(program: ProgramName, expected: number, actual: number | null): boolean {
  if (program === 'krmhub' && expected === 1) return actual !== null && actual >= 1 && actual <= 6;
  return actual === expected;
}
