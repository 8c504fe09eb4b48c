/**
 * Limits on fetching what functions run: the unit and the reason for each. Those of running are in packages/functions.
 */
export const FETCH_LIMITS = {
  /** Time to fetch an executable: 512 MiB over 10 Mbit/s. */
  fetchMilliseconds: 600_000,
  /** Size of an executable from a git repository, which git prints as a whole. */
  maxGitExecutableBytes: 134_217_728,
} as const;
