import { type NestingLimits, RESOURCE_LIMITS } from '../limits.js';

/** What the parser counts while it reads. */
export interface ParseLimits extends NestingLimits {
  maxAliases: number;
}

/**
 * Receives what the strict reader reports and others do not. With it, the parser refuses what YAML 1.2 does not allow and
 * go-yaml reads, and what both read in different ways. It also reads JSON escapes, and keys of several lines in braces.
 * Its nodes have no comments.
 */
export interface StrictReading {
  comment(start: number, end: number): void;
  directive(start: number, end: number): void;
}

export interface ParseOptions {
  limits: ParseLimits;
  /** Undefined: the language of go-yaml 3. */
  strict: StrictReading | undefined;
  /** The offset of the first document. */
  start: number;
}

export const GO_YAML: ParseOptions = { limits: RESOURCE_LIMITS, strict: undefined, start: 0 };
