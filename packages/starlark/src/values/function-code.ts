import type { Position } from './position.js';

/** What the evaluator knows about a `def` or `lambda` before it runs. Functions of the same code share it. */
export interface FunctionCode {
  /** `lambda` for a lambda expression. */
  readonly name: string;
  readonly position: Position;
  /** Positional parameters, then keyword-only ones, without `*args` and `**kwargs`. */
  readonly parameters: readonly string[];
  readonly keywordOnly: number;
  readonly hasVarargs: boolean;
  readonly hasKwargs: boolean;
  /** The string at the start of the body. */
  readonly doc: string | undefined;
  /** Whether the function may call itself. */
  readonly recursion: boolean;
  /** Whether a call runs now; only kept where `recursion` is not allowed. */
  active: boolean;
}
