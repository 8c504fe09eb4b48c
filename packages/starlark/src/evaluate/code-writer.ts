import type { Binding, FunctionScope } from '../resolve/scope.js';
import type { DefStatement, Expression, Identifier, LambdaExpression } from '../syntax/tree.js';
import type { ProgramBuilder } from './program-builder.js';

/**
 * Writes the JavaScript of one function. Each operation is a statement that stores its result in a temporary
 * variable, so nested expressions do not nest the code, and the order of evaluation is the order of the lines.
 *
 * An atom is JavaScript that can be repeated: a variable or a constant. Names in the code are all generated: `v1` is a
 * Starlark variable, `t1` a temporary, `k1` a constant, `c1` the code of a function.
 */
export abstract class CodeWriter {
  readonly #lines: string[] = [];
  /** Variables to declare at the start of the function. */
  readonly declared: string[] = [];
  /** Values of loops that an error must end. */
  readonly loops: string[] = [];
  /** Loops around the current statement, innermost last. */
  readonly openLoops: string[] = [];
  /** Variables that certainly have a value here, and the same in the order in which they got it. */
  readonly #assigned = new Set<Binding>();
  readonly #assignments: Binding[] = [];
  #temporaries = 0;
  #declaredTemporaries = 0;
  #names = 0;

  constructor(
    readonly program: ProgramBuilder,
    /** `undefined` for the top level of the file. */
    readonly scope: FunctionScope | undefined,
  ) {}

  /** Writes the code of an expression and returns its value as an atom. */
  abstract expression(expression: Expression): string;

  /** Writes the code of an expression and returns JavaScript for its truth, to be used once. */
  abstract condition(expression: Expression): string;

  /** Writes the assignment of an atom to a target. */
  abstract assign(target: Expression, value: string, offset: number): void;

  /** Writes the creation of a function and returns it as an atom. */
  abstract functionValue(node: DefStatement | LambdaExpression): string;

  get lines(): readonly string[] {
    return this.#lines;
  }

  write(line: string): void {
    this.#lines.push(line);
  }

  /** Writes a line that may fail; errors are reported at the offset. */
  at(offset: number, line: string): void {
    this.#lines.push(`p=${offset};${line}`);
  }

  /** Returns a new temporary variable, free until the statement ends. */
  temporary(): string {
    this.#temporaries++;
    if (this.#temporaries > this.#declaredTemporaries) {
      this.#declaredTemporaries = this.#temporaries;
      this.declared.push(`t${this.#temporaries}`);
    }
    return `t${this.#temporaries}`;
  }

  /** Runs `write` for a statement, after which its temporaries are free. */
  freeTemporaries(write: () => void): void {
    const before = this.#temporaries;
    write();
    this.#temporaries = before;
  }

  /** Returns a number for variables that live longer than a statement. */
  unique(): number {
    return ++this.#names;
  }

  /** Declares a variable for the whole function. */
  declare(name: string): string {
    this.declared.push(name);
    return name;
  }

  /** Writes `temporary = code`, which may fail, and returns the temporary. */
  compute(offset: number, code: string): string {
    const result = this.temporary();
    this.at(offset, `${result}=${code};`);
    return result;
  }

  /** Returns the binding of an identifier. */
  binding(identifier: Identifier): Binding {
    return this.program.resolution.bindings.get(identifier)!;
  }

  /** Whether a variable certainly has a value here. */
  isAssigned(binding: Binding): boolean {
    return this.#assigned.has(binding);
  }

  /** Notes that a variable has a value from here on. */
  setAssigned(binding: Binding): void {
    if (this.#assigned.has(binding)) return;
    this.#assigned.add(binding);
    this.#assignments.push(binding);
  }

  /** Runs `write` where variables that it assigns may not be assigned afterwards, and returns those. */
  maybe(write: () => void): Binding[] {
    const before = this.#assignments.length;
    write();
    const assigned = this.#assignments.splice(before);
    for (const binding of assigned) this.#assigned.delete(binding);
    return assigned;
  }
}

/** Returns the JavaScript variable of a Starlark one. */
export const variableName = (binding: Binding): string => `v${binding.id}`;
