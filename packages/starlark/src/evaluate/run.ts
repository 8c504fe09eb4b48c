import { UNIVERSE } from '../builtins/universe.js';
import { EvaluationError } from '../values/evaluation-error.js';
import type { FunctionCode } from '../values/function-code.js';
import { formatPosition, type Position } from '../values/position.js';
import { suggest } from '../values/spelling.js';
import { Thread, type ThreadOptions } from '../values/thread.js';
import { freeze, type Value } from '../values/value.js';
import type { Program, RunLinks } from './program.js';

/** The names that a module gives to those that load it. */
export type LoadedModule = ReadonlyMap<string, Value>;

export interface RunOptions extends ThreadOptions {
  /** The values of the names that `compile` was told of. */
  predeclared?: ReadonlyMap<string, Value>;
  /** Returns the module that a `load` statement names. Without it, `load` fails. */
  load?: (module: string, thread: Thread) => LoadedModule;
  /** Continues a thread, so that a loaded module counts against the same limits. */
  thread?: Thread;
}

export interface RunResult {
  /** The globals that the program defined, frozen. */
  globals: Map<string, Value>;
  thread: Thread;
}

/** Runs a program. Throws `EvaluationError` with the call stack when it fails or exceeds a limit. */
export function run(program: Program, options: RunOptions = {}): RunResult {
  const thread = options.thread ?? new Thread(options);
  const externals = program.external.map(({ name, kind }) => {
    const value = kind === 'universal' ? UNIVERSE.get(name) : options.predeclared?.get(name);
    if (value === undefined) throw new TypeError(`no value for the predeclared name ${name}`);
    return value;
  });
  const { source } = program.tree;
  const links: RunLinks = {
    load: (current, module) => loadModule(options, current, module),
    loadName: (loaded, name, module) => loadName(loaded as LoadedModule, name, module),
    unwind: (error, current, code, offset) => {
      const position = source.positionAt(offset);
      return unwind(error, current, code, position, source.line(position.line));
    },
  };
  const topLevel = program.instantiate(externals, links);
  if (thread.depth >= thread.limits.maxDepth) thread.overflow();
  thread.depth++;
  const values = topLevel(thread);
  thread.depth--;
  const globals = new Map<string, Value>();
  for (const [i, name] of program.globals.entries()) {
    const value = values[i];
    if (value === undefined) continue;
    freeze(value);
    globals.set(name, value);
  }
  return { globals, thread };
}

function loadModule({ load }: RunOptions, thread: Thread, module: string): LoadedModule {
  if (load === undefined) throw new EvaluationError('load not implemented by this application');
  try {
    return load(module, thread);
  } catch (error) {
    const { message } = error as Error;
    const where = error instanceof EvaluationError ? error.position : undefined;
    const place = where === undefined ? '' : `${formatPosition(where)}: `;
    throw new EvaluationError(`cannot load ${module}: ${place}${message}`, {
      cause: error,
      limit: error instanceof EvaluationError ? error.limit : undefined,
    });
  }
}

function loadName(loaded: LoadedModule, name: string, module: string): Value {
  const value = loaded.get(name);
  if (value !== undefined) return value;
  throw new EvaluationError(
    `load: name ${name} not found in module ${module}${suggest(name, loaded.keys())}`,
  );
}

/** Returns the error with which a function of the program ends, after adding its stack frame. */
export function unwind(
  error: unknown,
  thread: Thread,
  code: FunctionCode,
  position: Position,
  sourceLine: string | undefined,
): EvaluationError {
  thread.depth--;
  code.active = false;
  const failure = error instanceof EvaluationError ? error : fromJavaScript(error);
  failure.stackFrames.unshift({ name: code.name, position, sourceLine });
  return failure;
}

/** Returns the Starlark error for an error of the JavaScript engine. */
function fromJavaScript(error: unknown): EvaluationError {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof RangeError) {
    return message.includes('call stack')
      ? new EvaluationError('Starlark stack overflow: too many nested calls', { limit: 'depth' })
      : new EvaluationError(`too much memory: ${message}`, { limit: 'memory' });
  }
  return new EvaluationError(`internal error: ${message}`, { cause: error });
}
