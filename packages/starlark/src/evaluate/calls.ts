import { getAttribute, typeMethods } from '../builtins/method-tables.js';
import { failedIn, type MethodBody } from '../values/builtin.js';
import { Dict } from '../values/dict.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { StarlarkFunction } from '../values/function.js';
import type { Thread } from '../values/thread.js';
import { call, isIterable, type Kwargs, NO_KWARGS, typeName, type Value } from '../values/value.js';

/*
 * Calls of generated code. Those with few positional arguments of functions whose parameters fit exactly pass them
 * without an array; all others bind them.
 */

export function call0(thread: Thread, callee: Value): Value {
  if (callee instanceof StarlarkFunction && callee.arity === 0) {
    const { code } = callee;
    if (--thread.fuel < 0) thread.refuel();
    if (thread.depth >= thread.limits.maxDepth) thread.overflow();
    if (!code.recursion) {
      if (code.active) thread.recursion(code.name);
      code.active = true;
    }
    thread.depth++;
    const result = callee.body(thread);
    thread.depth--;
    code.active = false;
    return result;
  }
  return call(thread, callee, []);
}

export function call1(thread: Thread, callee: Value, a: Value): Value {
  if (callee instanceof StarlarkFunction && callee.arity === 1) {
    const { code } = callee;
    if (--thread.fuel < 0) thread.refuel();
    if (thread.depth >= thread.limits.maxDepth) thread.overflow();
    if (!code.recursion) {
      if (code.active) thread.recursion(code.name);
      code.active = true;
    }
    thread.depth++;
    const result = callee.body(thread, a);
    thread.depth--;
    code.active = false;
    return result;
  }
  return call(thread, callee, [a]);
}

export function call2(thread: Thread, callee: Value, a: Value, b: Value): Value {
  if (callee instanceof StarlarkFunction && callee.arity === 2) {
    const { code } = callee;
    if (--thread.fuel < 0) thread.refuel();
    if (thread.depth >= thread.limits.maxDepth) thread.overflow();
    if (!code.recursion) {
      if (code.active) thread.recursion(code.name);
      code.active = true;
    }
    thread.depth++;
    const result = callee.body(thread, a, b);
    thread.depth--;
    code.active = false;
    return result;
  }
  return call(thread, callee, [a, b]);
}

/** A method's code if `object.name` is a built-in method, else the attribute's value. */
export type Callee = MethodBody | Value;

/** Finds `object.name` for a call, without making a bound method. */
export function findMethod(object: Value, name: string): Callee {
  return typeMethods(object)?.get(name) ?? getAttribute(object, name);
}

/** Calls what `findMethod` returned. */
export function callMethod(
  thread: Thread,
  callee: Callee,
  object: Value,
  name: string,
  args: readonly Value[],
  kwargs: Kwargs = NO_KWARGS,
): Value {
  if (typeof callee !== 'function') return call(thread, callee, args, kwargs);
  if (--thread.fuel < 0) thread.refuel();
  try {
    return callee(thread, object, args, kwargs);
  } catch (error) {
    throw failedIn(name, error);
  }
}

/** Returns positional arguments with those of `*args`. */
export function spreadArguments(thread: Thread, args: readonly Value[], rest: Value): Value[] {
  if (!isIterable(rest)) {
    throw new EvaluationError(`argument after * must be iterable, not ${typeName(rest)}`);
  }
  const elements = rest.elements(thread) ?? [];
  thread.step(elements.length);
  // An array of the arguments, then the tuple or the parameters.
  thread.allocate(elements.length * 16);
  return [...args, ...elements];
}

/** Returns keyword arguments with those of `**kwargs`. */
export function spreadKeywords(thread: Thread, kwargs: Kwargs, rest: Value): Kwargs {
  if (!(rest instanceof Dict)) {
    throw new EvaluationError(`argument after ** must be a mapping, not ${typeName(rest)}`);
  }
  thread.step(rest.size);
  thread.allocate(rest.size * 64);
  const all = [...kwargs];
  rest.forEach((key, value) => {
    if (typeof key !== 'string') {
      throw new EvaluationError(`keywords must be strings, not ${typeName(key)}`);
    }
    all.push([key, value]);
  });
  return all;
}
