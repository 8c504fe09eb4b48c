/** Why the sync of a source failed, or why its copy was rejected. */
export const SOURCE_PROBLEMS = [
  /** No response, an unknown host name, or a broken connection. */
  'unreachable',
  /** A connect, idle or total timeout. */
  'too-slow',
  'too-large',
  /** A forbidden address: private, loopback, or of an unsupported protocol. */
  'forbidden-address',
  'too-many-redirects',
  'not-found',
  /** Credentials are missing or wrong. */
  'unauthorized',
  /** An unexpected response. */
  'bad-answer',
  /** The content is not a catalog, or takes too much time or memory to read. */
  'invalid-catalog',
  /** The signature is missing although the last copy was signed, or it is invalid. */
  'signature',
  /** The serial is lower than the highest known serial. */
  'rollback',
  /** The signature has expired. */
  'frozen',
  /** A known serial has another digest. */
  'equivocation',
  'internal',
] as const;
export type SourceProblem = (typeof SOURCE_PROBLEMS)[number];

/** Hints for the administrator of the registry that syncs. Details stay in its log. */
export const SOURCE_PROBLEM_HINTS: Record<SourceProblem, string> = {
  unreachable: 'Check that the registry can connect to this URL and trusts its certificate.',
  'too-slow': 'Use a mirror closer to the registry.',
  'too-large':
    '`krmhub docs configuration` lists the limits. Ask the publisher of the catalog to reduce its size.',
  'forbidden-address':
    'Ask the operator to allow private addresses with KRMHUB_SOURCE_ADDRESSES, or files with KRMHUB_SOURCE_FOLDER.',
  'too-many-redirects': 'Use the final URL of the catalog.',
  'not-found': 'Check the url in the recipe: its path, and its branch or tag.',
  unauthorized: 'Ask the operator to configure credentials with KRMHUB_SOURCE_CREDENTIALS.',
  'bad-answer':
    'Use the URL of the catalog file: of a krmhub registry, add /catalog.yaml to the URL of the catalog; of a git host, use the "raw" URL.',
  'invalid-catalog': 'Run `krmhub lint` on the file to see the errors.',
  signature: 'Contact the publisher of the catalog. If its key changed, add the new key to requireSignature.',
  rollback: 'Contact the publisher of the catalog: a server or proxy may serve an old copy.',
  frozen: 'Contact the publisher of the catalog: signing stopped, or a server or proxy serves an old copy.',
  equivocation: 'Contact the publisher of the catalog: a server or proxy may serve a different catalog.',
  internal: 'See the log of the registry.',
};
