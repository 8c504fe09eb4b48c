import { Bytes } from '../values/bytes.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { type Int, isInt } from '../values/integer.js';
import { List } from '../values/list.js';
import { normalizeString, stringLength } from '../values/string.js';
import type { Thread } from '../values/thread.js';
import { Tuple } from '../values/tuple.js';
import type { Value } from '../values/value.js';

const MAX_ELEMENTS = 2 ** 28;
const MAX_COUNT = 0x7fff_ffff;

/** Returns a sequence times an int, in either order; `undefined` for other operands. */
export function repeat(thread: Thread, x: Value, y: Value): Value | undefined {
  if (isInt(y)) return repeatSequence(thread, x, y);
  return isInt(x) ? repeatSequence(thread, y, x) : undefined;
}

function repeatSequence(thread: Thread, sequence: Value, count: Int): Value | undefined {
  if (typeof sequence === 'string') {
    const times = checkCount(thread, stringLength(sequence), 1, count);
    return times === 0 ? '' : normalizeString(sequence.repeat(times));
  }
  if (sequence instanceof Bytes) {
    const { value } = sequence;
    const times = checkCount(thread, value.length, 1, count);
    const bytes = new Uint8Array(value.length * times);
    for (let i = 0; i < times; i++) bytes.set(value, i * value.length);
    return new Bytes(bytes);
  }
  if (sequence instanceof List || sequence instanceof Tuple) {
    const { items } = sequence;
    const times = checkCount(thread, items.length, 8, count);
    const repeated: Value[] = [];
    for (let i = 0; i < times; i++) for (const item of items) repeated.push(item);
    return sequence instanceof List ? new List(repeated) : new Tuple(repeated);
  }
  return undefined;
}

/** Returns how often to repeat, and counts the memory of the result. */
function checkCount(thread: Thread, length: number, elementBytes: number, count: Int): number {
  if (length === 0) return 0;
  if (typeof count !== 'number' || Math.abs(count) > MAX_COUNT) {
    throw new EvaluationError(`repeat count ${count} too large`);
  }
  if (count < 1) return 0;
  if (length * count >= MAX_ELEMENTS) {
    throw new EvaluationError(`excessive repeat (${length} * ${count} elements)`);
  }
  thread.allocate(length * count * elementBytes);
  thread.step((length * count) >> 6);
  return count;
}
