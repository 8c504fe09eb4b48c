import { Dict } from '../values/dict.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { quoteString } from '../values/repr.js';
import { StarlarkSet } from '../values/set.js';
import type { Thread } from '../values/thread.js';
import { checkPositional } from '../values/unpack-arguments.js';
import { type Kwargs, typeName, type Value } from '../values/value.js';
import { elementsOrUndefined, named, valueLength, wantIterable } from './arguments.js';

/** Bytes that an entry takes in a dict or set. */
export const ENTRY_BYTES = 64;

export function dict(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  if (args.length > 1) throw new EvaluationError(`dict: got ${args.length} arguments, want at most 1`);
  const result = new Dict();
  named('dict', () => updateDict(result, thread, args, kwargs));
  return result;
}

export function set(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('set', args, kwargs, 0, 1);
  const result = new StarlarkSet();
  if (args.length === 0) return result;
  const elements = wantIterable('set', 1, args[0] as Value, thread);
  thread.allocate(elements.length * ENTRY_BYTES);
  named('set', () => {
    for (const element of elements) result.add(element, thread);
  });
  return result;
}

/** Adds the entries of a dict or of a sequence of pairs, then the keyword arguments. */
export function updateDict(target: Dict, thread: Thread, args: readonly Value[], kwargs: Kwargs): void {
  const source = args[0];
  if (args.length > 0) addEntries(target, thread, source as Value);
  thread.allocate(kwargs.length * ENTRY_BYTES);
  const names = new Set<string>();
  for (const [name, value] of kwargs) {
    target.checkMutable('insert into');
    if (names.has(name)) throw new EvaluationError(`duplicate keyword arg: ${quoteString(name)}`);
    names.add(name);
    target.set(name, value, thread);
  }
}

function addEntries(target: Dict, thread: Thread, source: Value): void {
  if (source instanceof Dict) {
    thread.step(source.size);
    thread.allocate(source.size * ENTRY_BYTES);
    const keys = source.keys();
    const values = source.values();
    if (keys.length > 0) target.checkMutable('insert into');
    for (const [index, key] of keys.entries()) target.set(key, values[index] as Value, thread);
    return;
  }
  const elements = elementsOrUndefined(source, thread);
  if (elements === undefined) throw new EvaluationError(`got ${typeName(source)}, want iterable`);
  thread.allocate(elements.length * ENTRY_BYTES);
  for (const [index, pair] of elements.entries()) {
    const parts = elementsOrUndefined(pair, thread);
    const subject = `dictionary update sequence element #${index}`;
    if (parts === undefined) throw new EvaluationError(`${subject} is not iterable (${typeName(pair)})`);
    const length = valueLength(pair);
    if (length === undefined) throw new EvaluationError(`${subject} has unknown length (${typeName(pair)})`);
    if (length !== 2) throw new EvaluationError(`${subject} has length ${length}, want 2`);
    target.checkMutable('insert into');
    target.set(parts[0] as Value, parts[1] as Value, thread);
  }
}
