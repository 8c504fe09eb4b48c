/** Why a source could not be refreshed, or why what it gave is refused. */
export const SOURCE_PROBLEMS = [
  /** Nobody answers, the name is unknown, the connection broke. */
  'unreachable',
  /** It takes too long to connect, stands still, or takes too long altogether. */
  'too-slow',
  'too-large',
  /** An address that may not be asked: private, of the machine itself, of another protocol. */
  'forbidden-address',
  'too-many-redirects',
  'not-found',
  /** It wants credentials, or others. */
  'unauthorized',
  /** It answers something else than what was asked for. */
  'bad-answer',
  /** What it gives is no catalog, or takes too much time or memory to read. */
  'invalid-catalog',
  /** It was signed before and is not any more, or its signature does not hold. */
  'signature',
  /** A serial below the highest that was seen. */
  'rollback',
  /** What was signed says that it has expired. */
  'frozen',
  /** The serial that was seen, with another digest. */
  'equivocation',
  'internal',
] as const;
export type SourceProblem = (typeof SOURCE_PROBLEMS)[number];

/** The way out, for who administers the registry that asks; what a registry itself says of it stays in its log. */
export const SOURCE_PROBLEM_HINTS: Record<SourceProblem, string> = {
  unreachable: 'Check that the registry can reach this URL and trusts its certificate.',
  'too-slow': 'Use a mirror closer to the registry.',
  'too-large':
    'See docs/configuration.md for the limits. Ask the publisher of the catalog to reduce its size.',
  'forbidden-address':
    'Ask the operator to allow private addresses with KRMHUB_SOURCE_ADDRESSES, or files with KRMHUB_SOURCE_FOLDER.',
  'too-many-redirects': 'Use the final URL of the catalog.',
  'not-found': 'Check the url in the recipe: its path, and its branch or tag.',
  unauthorized: 'Ask the operator to configure credentials with KRMHUB_SOURCE_CREDENTIALS.',
  'bad-answer': 'Use the URL of the catalog file itself, for example the "raw" URL of a git host.',
  'invalid-catalog': 'Run `krmhub lint` on the file to see the errors.',
  signature: 'Ask the publisher of the catalog. If its key changed, add the new key to requireSignature.',
  rollback: 'Ask the publisher of the catalog: a server or proxy may serve an old copy.',
  frozen: 'Ask the publisher of the catalog: a server or proxy may serve an old copy, or signing stopped.',
  equivocation: 'Ask the publisher of the catalog: a server or proxy may serve a different catalog.',
  internal: 'See the log of the registry.',
};
