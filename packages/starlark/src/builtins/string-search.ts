import { countRunes, runeWidth } from '../text/utf8.js';
import type { MethodBody } from '../values/builtin.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { indexOfPart, lastIndexOfPart } from '../values/search.js';
import { isAscii, stringLength } from '../values/string.js';
import type { Thread } from '../values/thread.js';
import { Tuple } from '../values/tuple.js';
import { checkPositional, wantString } from '../values/unpack-arguments.js';
import { type Kwargs, typeName, type Value } from '../values/value.js';
import { indexRange, named, wantInt } from './arguments.js';
import { allocateString, fromByteString, readString, toByteString } from './byte-string.js';

type Method = readonly [string, MethodBody<string>];

/** Methods that find and replace parts of strings. Indexes are in bytes. */
export const SEARCH_METHODS: readonly Method[] = [
  ['count', count],
  ['endswith', withAffix('endswith', (text, affix) => text.endsWith(affix))],
  ['find', finder('find', findFirst, true)],
  ['index', finder('index', findFirst, false)],
  ['removeprefix', removeprefix],
  ['removesuffix', removesuffix],
  ['replace', replace],
  ['rfind', finder('rfind', lastIndexOfPart, true)],
  ['rindex', finder('rindex', lastIndexOfPart, false)],
  ['startswith', withAffix('startswith', (text, affix) => text.startsWith(affix))],
];

/** The bytes that a method works on: the whole string, or from start to end. */
function part(
  name: string,
  thread: Thread,
  text: string,
  args: readonly Value[],
): { bytes: string; start: number } {
  readString(thread, text);
  const bytes = toByteString(text);
  if (args[1] === undefined && args[2] === undefined) return { bytes, start: 0 };
  const [start, end] = named(name, () => indexRange(args[1], args[2], bytes.length));
  return { bytes: bytes.slice(start, Math.max(start, end)), start };
}

function count(thread: Thread, text: string, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('count', args, kwargs, 1, 3);
  const sought = toByteString(wantString('count', 1, args[0] as Value));
  const { bytes } = part('count', thread, text, args);
  return occurrences(bytes, sought, thread);
}

/** Returns how often a part occurs without overlap; the empty part occurs around each code point. */
export function occurrences(bytes: string, sought: string, thread: Thread): number {
  if (sought === '') return countRunes(bytes) + 1;
  let result = 0;
  for (let from = 0; ; result++) {
    const index = indexOfPart(bytes, sought, from, thread);
    if (index < 0) break;
    from = index + sought.length;
  }
  return result;
}

function finder(
  name: string,
  find: (bytes: string, sought: string, thread: Thread) => number,
  optional: boolean,
): MethodBody<string> {
  return (thread, text, args, kwargs) => {
    checkPositional(name, args, kwargs, 1, 3);
    const sought = toByteString(wantString(name, 1, args[0] as Value));
    const { bytes, start } = part(name, thread, text, args);
    const index = find(bytes, sought, thread);
    if (index >= 0) return start + index;
    if (!optional) throw new EvaluationError(`${name}: substring not found`);
    return -1;
  };
}

function findFirst(bytes: string, sought: string, thread: Thread): number {
  return indexOfPart(bytes, sought, 0, thread);
}

function withAffix(name: string, test: (bytes: string, affix: string) => boolean): MethodBody<string> {
  return (thread, text, args, kwargs) => {
    checkPositional(name, args, kwargs, 1, 3);
    const affix = args[0] as Value;
    const { bytes } = part(name, thread, text, args);
    if (typeof affix === 'string') return test(bytes, toByteString(affix));
    if (!(affix instanceof Tuple)) {
      throw new EvaluationError(`${name}: got ${typeName(affix)}, want string or tuple of string`);
    }
    thread.step(affix.items.length);
    for (const [index, item] of affix.items.entries()) {
      if (typeof item !== 'string') {
        throw new EvaluationError(`${name}: want string, got ${typeName(item)}, for element ${index}`);
      }
      if (test(bytes, toByteString(item))) return true;
    }
    return false;
  };
}

function removeprefix(thread: Thread, text: string, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('removeprefix', args, kwargs, 1, 1);
  const prefix = toByteString(wantString('removeprefix', 1, args[0] as Value));
  readString(thread, text);
  const bytes = toByteString(text);
  return bytes.startsWith(prefix) ? fromByteString(bytes.slice(prefix.length)) : text;
}

function removesuffix(thread: Thread, text: string, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('removesuffix', args, kwargs, 1, 1);
  const suffix = toByteString(wantString('removesuffix', 1, args[0] as Value));
  readString(thread, text);
  const bytes = toByteString(text);
  return bytes.endsWith(suffix) ? fromByteString(bytes.slice(0, bytes.length - suffix.length)) : text;
}

function replace(thread: Thread, text: string, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('replace', args, kwargs, 2, 3);
  const old = wantString('replace', 1, args[0] as Value);
  const substitute = wantString('replace', 2, args[1] as Value);
  const limit = args[2] === undefined ? -1 : wantInt('replace', 3, args[2]);
  readString(thread, text);
  const bytes = toByteString(text);
  const sought = toByteString(old);
  const found = occurrences(bytes, sought, thread);
  const times = limit < 0 ? found : Math.min(limit, found);
  if (times === 0) return text;
  thread.step(times);
  // The parts between, and the array of them.
  thread.allocate(times * 16);
  allocateString(thread, bytes.length + times * (stringLength(substitute) - sought.length));
  const short = sought !== '' && sought.length <= 250;
  if (short && times === found && isAscii(text)) return text.split(old).join(substitute);
  return fromByteString(replaced(bytes, sought, toByteString(substitute), times, thread));
}

function replaced(bytes: string, sought: string, substitute: string, times: number, thread: Thread): string {
  const parts: string[] = [];
  let from = 0;
  for (let done = 0; done < times; done++) {
    // The empty part occurs before each code point, and at the end.
    const skipped = sought === '' && done > 0 ? runeWidth(bytes, from) : 0;
    const index = sought === '' ? from + skipped : indexOfPart(bytes, sought, from, thread);
    parts.push(bytes.slice(from, index), substitute);
    from = index + sought.length;
  }
  parts.push(bytes.slice(from));
  return parts.join('');
}
