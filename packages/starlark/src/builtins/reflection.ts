import { Bytes } from '../values/bytes.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { List } from '../values/list.js';
import { repr as reprOf } from '../values/repr.js';
import { stringToJs } from '../values/string.js';
import type { Thread } from '../values/thread.js';
import { checkPositional, unpackArguments, wantString } from '../values/unpack-arguments.js';
import { type Kwargs, typeName, type Value } from '../values/value.js';
import { soleArgument } from './arguments.js';
import { allocateString } from './byte-string.js';
import { attributeNames, findAttribute } from './method-tables.js';
import { bytesToText, displayed } from './strings.js';

export function dir(_thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  return new List([...attributeNames(soleArgument('dir', args, kwargs, '1'))]);
}

export function getattr(_thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('getattr', args, kwargs, 2, 3);
  const [object = null, , fallback] = args;
  const name = wantString('getattr', 2, args[1] as Value);
  const found = findAttribute(object, name) ?? fallback;
  if (found !== undefined) return found;
  throw new EvaluationError(`getattr: ${typeName(object)} has no .${name} field or method`);
}

export function hasattr(_thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('hasattr', args, kwargs, 2, 2);
  return findAttribute(args[0] as Value, wantString('hasattr', 2, args[1] as Value)) !== undefined;
}

/** Ends the run with a message. */
export function fail(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  throw new EvaluationError(`fail: ${joined('fail', thread, args, kwargs, displayed)}`);
}

export function print(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  const show = (value: Value) =>
    value instanceof Bytes ? bytesToText(value, thread) : displayed(value, thread);
  thread.print(stringToJs(joined('print', thread, args, kwargs, show)));
  return null;
}

function joined(
  name: string,
  thread: Thread,
  args: readonly Value[],
  kwargs: Kwargs,
  show: (value: Value, thread: Thread) => string,
): string {
  const [separator = ' '] = unpackArguments(name, [], kwargs, ['sep?']);
  const between = wantString(name, 'sep', separator);
  const parts = args.map((value) => show(value, thread));
  allocateString(
    thread,
    parts.reduce((sum, part) => sum + part.length + between.length, 0),
  );
  return parts.join(between);
}

export function repr(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('repr', args, kwargs, 1, 1);
  return reprOf(args[0] as Value, thread);
}

export function type(_thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  return typeName(soleArgument('type', args, kwargs, 'exactly 1'));
}
