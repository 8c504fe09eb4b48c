/**
 * Where `krmhub fn` differs from kpt on purpose. The harness runs these cases all the same, and counts those that fail as
 * skipped, with the reason.
 */
export const DOCUMENTED_DIFFERENCES: ReadonlyMap<string, string> = new Map([]);

/**
 * kpt has the exit code 1 for every failure. krmhub tells apart failed functions and invalid packages (1), wrong arguments
 * (2), what is missing (3), what is not trusted (4), disk, network, or engine (5), and what is not allowed (6).
 */
export function isExitCode(program: 'kpt' | 'krmhub', expected: number, actual: number | null): boolean {
  if (program === 'krmhub' && expected === 1) return actual !== null && actual >= 1 && actual <= 6;
  return actual === expected;
}
