/**
 * Finds what each name of a program refers to, and checks what the grammar does not.
 *
 * @module
 */

import type { SyntaxProblem } from '../syntax/syntax-error.js';
import { StarlarkSyntaxError } from '../syntax/syntax-error.js';
import type { SyntaxTree } from '../syntax/tree.js';
import type { Dialect } from './dialect.js';
import type { Resolution } from './names.js';
import { Resolver } from './resolver.js';

export interface ResolveOptions {
  dialect: Dialect;
  /** Whether the host defines the name for this program. */
  isPredeclared: (name: string) => boolean;
  /** Whether the name is part of the language. */
  isUniversal: (name: string) => boolean;
  /** Names to suggest for a misspelled one. */
  knownNames?: Iterable<string>;
}

/** Finds what each name refers to. Throws `StarlarkSyntaxError` with all problems in the order of the source. */
export function resolve(tree: SyntaxTree, options: ResolveOptions): Resolution {
  const { resolution, problems } = findProblems(tree, options);
  const [first, ...rest] = problems;
  if (first !== undefined) throw new StarlarkSyntaxError([first, ...rest]);
  return resolution;
}

/** Like `resolve`, but returns the problems: the first 100 found, and how many more there are. */
export function findProblems(
  tree: SyntaxTree,
  options: ResolveOptions,
): { resolution: Resolution; problems: SyntaxProblem[] } {
  const resolver = new Resolver(tree.source, options);
  resolver.resolveFile(tree);
  const { omitted } = resolver.names;
  const problems = resolver.names.problems.sort((x, y) => x.offset - y.offset);
  if (omitted > 0) {
    const message = `${omitted} more problem${omitted === 1 ? '' : 's'}`;
    problems.push({ message, offset: problems.at(-1)!.offset });
  }
  return {
    resolution: resolver.names.resolution,
    problems: problems.map(({ message, offset }) => ({
      message,
      position: tree.source.positionAt(offset),
    })),
  };
}
