import { methodTable } from '../values/builtin.js';
import { equals } from '../values/equality.js';
import { EvaluationError } from '../values/evaluation-error.js';
import type { List } from '../values/list.js';
import type { Thread } from '../values/thread.js';
import { checkPositional } from '../values/unpack-arguments.js';
import type { Kwargs, Value } from '../values/value.js';
import { indexRange, named, wantInt, wantIterable } from './arguments.js';

const ELEMENT_BYTES = 16;

export const LIST_METHODS = methodTable<List>([
  ['append', append],
  ['clear', clear],
  ['extend', extend],
  ['index', index],
  ['insert', insert],
  ['pop', pop],
  ['remove', remove],
]);

function append(thread: Thread, list: List, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('append', args, kwargs, 1, 1);
  checkMutable('append', list, 'append to');
  thread.allocate(ELEMENT_BYTES);
  list.items.push(args[0] as Value);
  return null;
}

function clear(_thread: Thread, list: List, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('clear', args, kwargs, 0, 0);
  checkMutable('clear', list, 'clear');
  list.items.length = 0;
  return null;
}

function extend(thread: Thread, list: List, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('extend', args, kwargs, 1, 1);
  const elements = wantIterable('extend', 1, args[0] as Value, thread);
  checkMutable('extend', list, 'extend');
  appendAll(list, elements, thread);
  return null;
}

/** Appends elements, which may be those of the list itself. Used by `extend` and `+=`. */
export function appendAll(list: List, elements: readonly Value[], thread: Thread): void {
  thread.allocate(elements.length * ELEMENT_BYTES);
  const count = elements.length;
  for (let position = 0; position < count; position++) list.items.push(elements[position] as Value);
}

function index(thread: Thread, list: List, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('index', args, kwargs, 1, 3);
  const [start, end] = named('index', () => indexRange(args[1], args[2], list.items.length));
  const found = named('index', () => find(thread, list, args[0] as Value, start, end));
  if (found < 0) throw new EvaluationError('index: value not in list');
  return found;
}

function insert(thread: Thread, list: List, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('insert', args, kwargs, 2, 2);
  const at = wantInt('insert', 1, args[0] as Value);
  checkMutable('insert', list, 'insert into');
  thread.allocate(ELEMENT_BYTES);
  thread.step(list.items.length / 64);
  // Negative indexes count from the end, and those out of range mean the nearest end.
  list.items.splice(at < 0 ? Math.max(at + list.items.length, 0) : at, 0, args[1] as Value);
  return null;
}

function pop(thread: Thread, list: List, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('pop', args, kwargs, 0, 1);
  const size = list.items.length;
  const given = args.length > 0 ? wantInt('pop', 1, args[0] as Value) : size - 1;
  const at = given < 0 ? given + size : given;
  if (at < 0 || at >= size) {
    const problem =
      size === 0
        ? `index ${given} out of range: empty list`
        : `list index ${given} out of range [${-size}:${size - 1}]`;
    throw new EvaluationError(`pop: ${problem}`);
  }
  checkMutable('pop', list, 'pop from');
  if (at === size - 1) return list.items.pop() as Value;
  thread.step((size - at) / 64);
  return list.items.splice(at, 1)[0] as Value;
}

function remove(thread: Thread, list: List, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('remove', args, kwargs, 1, 1);
  checkMutable('remove', list, 'remove from');
  const found = named('remove', () => find(thread, list, args[0] as Value, 0, list.items.length));
  if (found < 0) throw new EvaluationError('remove: element not found');
  list.items.splice(found, 1);
  return null;
}

function find(thread: Thread, list: List, value: Value, start: number, end: number): number {
  for (let position = start; position < end; position++) {
    thread.step(1);
    if (equals(list.items[position] as Value, value, thread)) return position;
  }
  return -1;
}

function checkMutable(name: string, list: List, verb: string): void {
  if (list.frozen || list.iterators > 0) named(name, () => list.checkMutable(verb));
}
