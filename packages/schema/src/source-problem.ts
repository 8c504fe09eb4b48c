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
