import { methodTable } from '../values/builtin.js';
import type { Dict } from '../values/dict.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { List } from '../values/list.js';
import type { Thread } from '../values/thread.js';
import { Tuple } from '../values/tuple.js';
import { checkPositional } from '../values/unpack-arguments.js';
import type { Kwargs, Value } from '../values/value.js';
import { named } from './arguments.js';
import { ENTRY_BYTES, updateDict } from './collections.js';

export const DICT_METHODS = methodTable<Dict>([
  ['clear', clear],
  ['get', get],
  ['items', items],
  ['keys', keys],
  ['pop', pop],
  ['popitem', popitem],
  ['setdefault', setdefault],
  ['update', update],
  ['values', values],
]);

function clear(_thread: Thread, dict: Dict, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('clear', args, kwargs, 0, 0);
  dict.checkMutable('clear');
  dict.clear();
  return null;
}

function get(thread: Thread, dict: Dict, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('get', args, kwargs, 1, 2);
  const key = args[0] as Value;
  const found = typeof key === 'object' ? named('get', () => dict.get(key, thread)) : dict.get(key, thread);
  return found ?? args[1] ?? null;
}

function items(thread: Thread, dict: Dict, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('items', args, kwargs, 0, 0);
  count(thread, dict, 4);
  const pairs: Value[] = [];
  dict.forEach((key, value) => {
    pairs.push(new Tuple([key, value]));
  });
  return new List(pairs);
}

function keys(thread: Thread, dict: Dict, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('keys', args, kwargs, 0, 0);
  count(thread, dict, 1);
  return new List(dict.keys());
}

function values(thread: Thread, dict: Dict, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('values', args, kwargs, 0, 0);
  count(thread, dict, 1);
  return new List(dict.values());
}

function pop(thread: Thread, dict: Dict, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('pop', args, kwargs, 1, 2);
  const found = named('pop', () => {
    dict.checkMutable('delete from');
    return dict.delete(args[0] as Value, thread);
  });
  const result = found === undefined ? args[1] : found;
  if (result === undefined) throw new EvaluationError('pop: missing key');
  return result;
}

function popitem(_thread: Thread, dict: Dict, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('popitem', args, kwargs, 0, 0);
  const key = dict.firstKey();
  if (key === undefined) throw new EvaluationError('popitem: empty dict');
  named('popitem', () => dict.checkMutable('delete from'));
  return new Tuple([key, dict.delete(key) as Value]);
}

function setdefault(thread: Thread, dict: Dict, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('setdefault', args, kwargs, 1, 2);
  const key = args[0] as Value;
  return named('setdefault', () => {
    const found = dict.get(key, thread);
    if (found !== undefined) return found;
    dict.checkMutable('insert into');
    thread.allocate(ENTRY_BYTES);
    const value = args[1] ?? null;
    dict.set(key, value, thread);
    return value;
  });
}

function update(thread: Thread, dict: Dict, args: readonly Value[], kwargs: Kwargs): Value {
  if (args.length > 1) throw new EvaluationError(`update: got ${args.length} arguments, want at most 1`);
  named('update', () => updateDict(dict, thread, args, kwargs));
  return null;
}

/** Counts the work and memory for a list of the entries. */
function count(thread: Thread, dict: Dict, words: number): void {
  thread.step(dict.size);
  thread.allocate(dict.size * words * 16);
}
