import { methodTable } from '../values/builtin.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { StarlarkSet } from '../values/set.js';
import type { Thread } from '../values/thread.js';
import { checkPositional } from '../values/unpack-arguments.js';
import { type Kwargs, typeName, type Value } from '../values/value.js';
import { elementsOrUndefined, named, wantIterable } from './arguments.js';
import { ENTRY_BYTES } from './collections.js';

export const SET_METHODS = methodTable<StarlarkSet>([
  ['add', add],
  ['clear', clear],
  ['difference', withOther('difference', difference)],
  ['discard', discard],
  ['intersection', withOther('intersection', intersection)],
  ['issubset', withOther('issubset', (set, other) => set.isSubsetOf(other))],
  ['issuperset', withOther('issuperset', (set, other) => other.isSubsetOf(set))],
  ['pop', pop],
  ['remove', remove],
  ['symmetric_difference', withOther('symmetric_difference', symmetricDifference)],
  ['union', union],
  ['update', update],
]);

function add(thread: Thread, set: StarlarkSet, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('add', args, kwargs, 1, 1);
  thread.allocate(ENTRY_BYTES);
  named('add', () => {
    set.checkMutable('insert into');
    set.add(args[0] as Value, thread);
  });
  return null;
}

function clear(_thread: Thread, set: StarlarkSet, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('clear', args, kwargs, 0, 0);
  if (set.size > 0) named('clear', () => set.checkMutable('clear'));
  set.clear();
  return null;
}

function discard(thread: Thread, set: StarlarkSet, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('discard', args, kwargs, 1, 1);
  named('discard', () => {
    set.checkMutable('delete from');
    set.delete(args[0] as Value, thread);
  });
  return null;
}

function pop(_thread: Thread, set: StarlarkSet, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('pop', args, kwargs, 0, 0);
  const first = set.first();
  if (first === undefined) throw new EvaluationError('pop: empty set');
  named('pop', () => set.checkMutable('delete from'));
  set.delete(first);
  return first;
}

function remove(thread: Thread, set: StarlarkSet, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('remove', args, kwargs, 1, 1);
  const found = named('remove', () => {
    set.checkMutable('delete from');
    return set.delete(args[0] as Value, thread);
  });
  if (!found) throw new EvaluationError('remove: missing key');
  return null;
}

function union(thread: Thread, set: StarlarkSet, args: readonly Value[], kwargs: Kwargs): Value {
  thread.step(set.size);
  thread.allocate(set.size * ENTRY_BYTES);
  const result = StarlarkSet.of(set.elements(), thread);
  addAll('union', thread, result, args, kwargs);
  return result;
}

function update(thread: Thread, set: StarlarkSet, args: readonly Value[], kwargs: Kwargs): Value {
  addAll('update', thread, set, args, kwargs);
  return null;
}

function addAll(
  name: string,
  thread: Thread,
  set: StarlarkSet,
  args: readonly Value[],
  kwargs: Kwargs,
): void {
  if (kwargs.length > 0) throw new EvaluationError(`${name}: does not accept keyword arguments`);
  for (const [index, source] of args.entries()) {
    const elements = elementsOrUndefined(source, thread);
    if (elements === undefined) {
      throw new EvaluationError(`${name}: argument #${index + 1} is not iterable: ${typeName(source)}`);
    }
    thread.allocate(elements.length * ENTRY_BYTES);
    named(name, () => {
      for (const element of elements) {
        set.checkMutable('insert into');
        set.add(element, thread);
      }
    });
  }
}

/** A method that takes another set, or an iterable that it makes a set of. */
function withOther(name: string, apply: (set: StarlarkSet, other: StarlarkSet, thread: Thread) => Value) {
  return (thread: Thread, set: StarlarkSet, args: readonly Value[], kwargs: Kwargs): Value => {
    checkPositional(name, args, kwargs, 0, 1);
    if (args.length === 0) return apply(set, new StarlarkSet(), thread);
    const source = args[0] as Value;
    const elements = wantIterable(name, 1, source, thread);
    thread.step(set.size);
    thread.allocate((set.size + elements.length) * ENTRY_BYTES);
    return named(name, () => {
      const other = source instanceof StarlarkSet ? source : StarlarkSet.of(elements, thread);
      return apply(set, other, thread);
    });
  };
}

function difference(set: StarlarkSet, other: StarlarkSet, thread: Thread): StarlarkSet {
  return StarlarkSet.of(
    set.elements().filter((element) => !other.has(element, thread)),
    thread,
  );
}

function intersection(set: StarlarkSet, other: StarlarkSet, thread: Thread): StarlarkSet {
  return StarlarkSet.of(
    other.elements().filter((element) => set.has(element, thread)),
    thread,
  );
}

function symmetricDifference(set: StarlarkSet, other: StarlarkSet, thread: Thread): StarlarkSet {
  const added = other.elements().filter((element) => !set.has(element, thread));
  return StarlarkSet.of([...difference(set, other, thread).elements(), ...added], thread);
}
