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
  unreachable:
    'Does it answer from where the registry runs, at that address and with a certificate that is trusted there?',
  'too-slow': 'A copy of the catalog that is nearer to the registry helps.',
  'too-large': 'docs/configuration.md has the limits; ask whoever publishes it for less.',
  'forbidden-address':
    'The operator of the registry allows private addresses with KRMHUB_SOURCE_ADDRESSES, and files with KRMHUB_SOURCE_FOLDER.',
  'too-many-redirects': 'Write the address where the catalog is in the end.',
  'not-found': 'Is the url in the recipe right, with its path and its branch or tag?',
  unauthorized: 'The operator of the registry gives credentials with KRMHUB_SOURCE_CREDENTIALS.',
  'bad-answer': 'The url has to be that of the catalog itself: the "raw" file of a forge and not its page.',
  'invalid-catalog': '`krmhub lint` says of a file what is wrong with it.',
  signature: 'Ask whoever publishes it. Where another key is right, name it in requireSignature.',
  rollback: 'Ask whoever publishes it: somebody may hand out old copies.',
  frozen: 'Ask whoever publishes it: somebody may hand out old copies, or nobody signs it any more.',
  equivocation: 'Ask whoever publishes it: somebody may hand out another catalog.',
  internal: 'The log of the registry says more.',
};
