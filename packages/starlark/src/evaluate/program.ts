/**
 * Compiles programs to JavaScript, and runs them.
 *
 * @module
 */

import { UNIVERSE } from '../builtins/universe.js';
import { DEFAULT_DIALECT, type Dialect } from '../resolve/dialect.js';
import { resolve } from '../resolve/resolve.js';
import type { Binding } from '../resolve/scope.js';
import type { SyntaxTree } from '../syntax/tree.js';
import { EvaluationError } from '../values/evaluation-error.js';
import type { FunctionCode } from '../values/function-code.js';
import type { Thread } from '../values/thread.js';
import type { Value } from '../values/value.js';
import { variableName } from './code-writer.js';
import { FunctionWriter } from './function-writer.js';
import { ProgramBuilder } from './program-builder.js';
import { RUNTIME } from './runtime.js';

export interface CompileOptions {
  /** Names that the host defines when the program runs. */
  predeclared?: Iterable<string>;
  dialect?: Partial<Dialect>;
}

/** Runs the top level and returns the values of the globals. */
export type TopLevel = (thread: Thread) => (Value | undefined)[];

/** What generated code gets from a run. */
export interface RunLinks {
  load: (thread: Thread, module: string) => unknown;
  loadName: (loaded: unknown, name: string, module: string) => Value;
  unwind: (error: unknown, thread: Thread, code: FunctionCode, offset: number) => Error;
}

/** A program that is ready to run, any number of times. */
export class Program {
  constructor(
    readonly tree: SyntaxTree,
    /** The generated JavaScript. It has no text of the program in it: names and strings are passed as values. */
    readonly code: string,
    /** The names of the globals, in the order of `TopLevel`'s result. */
    readonly globals: readonly string[],
    /** The names that the host defines, and those of the language. */
    readonly external: readonly Binding[],
    readonly fileCode: FunctionCode,
    readonly constants: readonly Value[],
    readonly codes: readonly FunctionCode[],
  ) {}

  /** Prepares one run: `externals` are the values of `external`. */
  instantiate(externals: readonly Value[], links: RunLinks): TopLevel {
    try {
      const create = new Function('R', 'K', 'C', 'X', this.code);
      return create({ ...RUNTIME, ...links }, this.constants, this.codes, externals);
    } catch (error) {
      throw tooLarge(error);
    }
  }
}

/** Returns the error for a program that is too large or too deep for the JavaScript engine. */
function tooLarge(error: unknown): EvaluationError {
  const cause = error instanceof Error ? error.message : String(error);
  return new EvaluationError(`program too large: ${cause}`, { limit: 'memory', cause: error });
}

const LINK_NAMES: readonly (keyof RunLinks)[] = ['load', 'loadName', 'unwind'];

/**
 * Resolves the names of a program and generates its code. Throws `StarlarkSyntaxError`, and `EvaluationError` if it is
 * too large.
 */
export function compile(tree: SyntaxTree, options: CompileOptions = {}): Program {
  const dialect: Dialect = { ...DEFAULT_DIALECT, ...options.dialect };
  const predeclared = new Set(options.predeclared);
  const resolution = resolve(tree, {
    dialect,
    isPredeclared: (name) => predeclared.has(name),
    isUniversal: (name) => UNIVERSE.has(name),
    knownNames: [...predeclared, ...UNIVERSE.keys()],
  });
  const builder = new ProgramBuilder(tree.source, resolution, dialect.recursion);
  const fileCode: FunctionCode = {
    name: '<toplevel>',
    position: tree.source.positionAt(0),
    parameters: [],
    keywordOnly: 0,
    hasVarargs: false,
    hasKwargs: false,
    doc: undefined,
    recursion: true,
    active: false,
  };
  const fileName = builder.code(fileCode);
  const writer = new FunctionWriter(builder, undefined);
  try {
    writer.file(tree.statements);
  } catch (error) {
    throw error instanceof RangeError ? tooLarge(error) : error;
  }
  const { globals, fileLocals, external } = resolution;
  writer.write(`return [${globals.map(variableName)}];`);
  const code = [
    "'use strict';",
    `const {${[...Object.keys(RUNTIME), ...LINK_NAMES]}}=R;`,
    ...builder.constants.map((_, i) => `const k${i}=K[${i}];`),
    ...builder.codes.map((_, i) => `const c${i}=C[${i}];`),
    ...external.map((binding, i) => `const ${variableName(binding)}=X[${i}];`),
    ...[...globals, ...fileLocals].map((binding) => `let ${variableName(binding)};`),
    `return function(thread){${writer.wrapped(fileName)}};`,
  ].join('\n');
  return new Program(
    tree,
    code,
    globals.map(({ name }) => name),
    external,
    fileCode,
    builder.constants,
    builder.codes,
  );
}
