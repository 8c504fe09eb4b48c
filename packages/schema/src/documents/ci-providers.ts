/**
 * Providers that sign a token about the run of a workflow. The API and the command line have these names; what their
 * tokens say is in packages/catalog/src/access/trusted-publishers/.
 */
export const CI_PROVIDERS = [
  'github',
  'gitlab',
  'buildkite',
  'circleci',
  'kubernetes',
  'google',
  'custom',
] as const;

export type CiProvider = (typeof CI_PROVIDERS)[number];
