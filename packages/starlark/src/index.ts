/**
 * Parses, compiles, and runs Starlark programs within limits.
 *
 * Pure: a program reaches only the values that its host gives it, and no file, network, or clock.
 *
 * @module
 */

export { UNIVERSE } from './builtins/universe.js';
export { fromJavaScript } from './convert/from-javascript.js';
export { type JavaScriptValue, toJavaScript } from './convert/to-javascript.js';
export { type CompileOptions, compile, Program } from './evaluate/program.js';
export { type LoadedModule, type RunOptions, type RunResult, run } from './evaluate/run.js';
export { type LoadableModule, PREDECLARED_MODULES, STANDARD_MODULES } from './modules/index.js';
export type { Dialect } from './resolve/dialect.js';
export { DEFAULT_DIALECT, PERMISSIVE_DIALECT } from './resolve/dialect.js';
export { findProblems, resolve } from './resolve/resolve.js';
export { parse } from './syntax/parse.js';
export type { SyntaxProblem } from './syntax/syntax-error.js';
export { StarlarkSyntaxError } from './syntax/syntax-error.js';
export type { Statement, SyntaxTree } from './syntax/tree.js';
export type { BuiltinBody, MethodBody, MethodTable } from './values/builtin.js';
export { BoundMethod, Builtin, methodTable } from './values/builtin.js';
export { Bytes } from './values/bytes.js';
export { compare } from './values/comparison.js';
export { Dict } from './values/dict.js';
export { equals } from './values/equality.js';
export type { ExceededLimit, StackFrame } from './values/evaluation-error.js';
export { EvaluationError } from './values/evaluation-error.js';
export { StarlarkFloat } from './values/float.js';
export { StarlarkFunction } from './values/function.js';
export type { Int } from './values/integer.js';
export { intFromDouble, isInt, normalizeInt } from './values/integer.js';
export { List } from './values/list.js';
export { Module } from './values/module.js';
export type { Position } from './values/position.js';
export { formatPosition } from './values/position.js';
export { Range } from './values/range.js';
export { repr, str } from './values/repr.js';
export { StarlarkSet } from './values/set.js';
export { Struct } from './values/struct.js';
export type { Limits, ThreadOptions } from './values/thread.js';
export { DEFAULT_LIMITS, Thread } from './values/thread.js';
export { EMPTY_TUPLE, Tuple } from './values/tuple.js';
export {
  checkPositional,
  unpackArguments,
  wantBool,
  wantCallable,
  wantInt,
  wantSmallInt,
  wantString,
} from './values/unpack-arguments.js';
export type { BinaryOperator, Key, Kwargs, ReprWriter, Value } from './values/value.js';
export {
  call,
  freeze,
  HeapValue,
  isIterable,
  isTrue,
  listElements,
  NO_KWARGS,
  typeName,
} from './values/value.js';
