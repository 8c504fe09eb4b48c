import { isSpace } from '../text/unicode.js';
import { runeAt, runeWidth, widthBefore } from '../text/utf8.js';
import type { MethodBody } from '../values/builtin.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { List } from '../values/list.js';
import { indexOfPart, lastIndexOfPart } from '../values/search.js';
import { normalizeString } from '../values/string.js';
import type { Thread } from '../values/thread.js';
import { Tuple } from '../values/tuple.js';
import { checkPositional, wantBool, wantString } from '../values/unpack-arguments.js';
import { type Kwargs, typeName, type Value } from '../values/value.js';
import { wantInt, wantIterable } from './arguments.js';
import { allocateString, fromByteString, readString, toByteString } from './byte-string.js';
import { occurrences } from './string-search.js';

type Method = readonly [string, MethodBody<string>];

/** Bytes that a short string takes in a list. */
const PART_BYTES = 48;

/** Methods that take strings apart and join them. */
export const SPLIT_METHODS: readonly Method[] = [
  ['join', join],
  ['lstrip', stripper('lstrip', true, false)],
  ['partition', partition],
  ['rpartition', rpartition],
  ['rsplit', splitter('rsplit', splitSpaceFromEnd, splitFromEnd)],
  ['rstrip', stripper('rstrip', false, true)],
  ['split', splitter('split', splitSpace, splitFromStart)],
  ['splitlines', splitlines],
  ['strip', stripper('strip', true, true)],
];

function join(thread: Thread, text: string, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('join', args, kwargs, 1, 1);
  const elements = wantIterable('join', 1, args[0] as Value, thread);
  let size = 0;
  for (const element of elements) {
    if (typeof element !== 'string') {
      throw new EvaluationError(`join: in list, want string, got ${typeName(element)}`);
    }
    size += element.length;
  }
  allocateString(thread, size + text.length * Math.max(elements.length - 1, 0));
  return normalizeString(elements.join(text));
}

function stripper(name: string, atStart: boolean, atEnd: boolean): MethodBody<string> {
  return (thread, text, args, kwargs) => {
    checkPositional(name, args, kwargs, 0, 1);
    const characters = args.length === 0 ? '' : wantString(name, 1, args[0] as Value);
    readString(thread, text);
    const bytes = toByteString(text);
    const isStripped = characters === '' ? isSpace : characterTest(characters, thread);
    let start = 0;
    let end = bytes.length;
    if (atStart) {
      while (start < end && isStripped(runeAt(bytes, start))) start += runeWidth(bytes, start);
    }
    if (atEnd) {
      while (end > start) {
        const width = widthBefore(bytes, end);
        if (!isStripped(runeAt(bytes, end - width))) break;
        end -= width;
      }
    }
    return start === 0 && end === bytes.length ? text : fromByteString(bytes.slice(start, end));
  };
}

function characterTest(characters: string, thread: Thread): (rune: number) => boolean {
  thread.step(characters.length);
  const bytes = toByteString(characters);
  const runes = new Set<number>();
  for (let index = 0; index < bytes.length; index += runeWidth(bytes, index)) runes.add(runeAt(bytes, index));
  return (rune) => runes.has(rune);
}

function partition(thread: Thread, text: string, args: readonly Value[], kwargs: Kwargs): Value {
  const [bytes, separator] = separated('partition', thread, text, args, kwargs);
  const index = indexOfPart(bytes, separator, 0, thread);
  return index < 0 ? new Tuple([text, '', '']) : around(bytes, index, separator);
}

function rpartition(thread: Thread, text: string, args: readonly Value[], kwargs: Kwargs): Value {
  const [bytes, separator] = separated('rpartition', thread, text, args, kwargs);
  const index = lastIndexOfPart(bytes, separator, thread);
  return index < 0 ? new Tuple(['', '', text]) : around(bytes, index, separator);
}

function separated(
  name: string,
  thread: Thread,
  text: string,
  args: readonly Value[],
  kwargs: Kwargs,
): [bytes: string, separator: string] {
  checkPositional(name, args, kwargs, 1, 1);
  const separator = wantString(name, 1, args[0] as Value);
  if (separator === '') throw new EvaluationError(`${name}: empty separator`);
  readString(thread, text);
  return [toByteString(text), toByteString(separator)];
}

function around(bytes: string, index: number, separator: string): Tuple {
  const parts = [bytes.slice(0, index), separator, bytes.slice(index + separator.length)];
  return new Tuple(parts.map(fromByteString));
}

function splitter(
  name: string,
  atSpace: (bytes: string, most: number) => string[],
  atSeparator: (bytes: string, separator: string, most: number, thread: Thread) => string[],
): MethodBody<string> {
  return (thread, text, args, kwargs) => {
    checkPositional(name, args, kwargs, 0, 2);
    const [separator = null] = args;
    const given = args[1] === undefined ? -1 : wantInt(name, 2, args[1]);
    const most = given < 0 ? Infinity : given;
    if (separator !== null && typeof separator !== 'string') {
      throw new EvaluationError(`split: got ${typeName(separator)} for separator, want string`);
    }
    if (separator === '') throw new EvaluationError('split: empty separator');
    readString(thread, text);
    const bytes = toByteString(text);
    if (separator === null) {
      thread.step(bytes.length / 4);
      allocateParts(Math.min(countWords(bytes), most + 1), thread);
      return toList(atSpace(bytes, most), thread);
    }
    const sought = toByteString(separator);
    allocateParts(Math.min(occurrences(bytes, sought, thread), most) + 1, thread);
    return toList(atSeparator(bytes, sought, most, thread), thread);
  };
}

/** Counts the memory of parts before they are made. */
function allocateParts(count: number, thread: Thread): void {
  thread.allocate(count * PART_BYTES);
}

function toList(parts: readonly string[], thread: Thread): List {
  thread.step(parts.length);
  return new List(parts.map(fromByteString));
}

function splitFromStart(bytes: string, separator: string, most: number, thread: Thread): string[] {
  const parts: string[] = [];
  let from = 0;
  while (parts.length < most) {
    const index = indexOfPart(bytes, separator, from, thread);
    if (index < 0) break;
    parts.push(bytes.slice(from, index));
    from = index + separator.length;
  }
  parts.push(bytes.slice(from));
  return parts;
}

/** Separators are found from the start also here, so overlapping ones split as in `split`. */
function splitFromEnd(bytes: string, separator: string, most: number, thread: Thread): string[] {
  if (most === 0) return [bytes];
  const excess = occurrences(bytes, separator, thread) - most;
  let head = 0;
  let from = 0;
  for (let skipped = 0; skipped <= excess; skipped++) {
    head = indexOfPart(bytes, separator, from, thread);
    from = head + separator.length;
  }
  const rest = splitFromStart(bytes.slice(from), separator, Infinity, thread);
  return excess < 0 ? rest : [bytes.slice(0, head), ...rest];
}

/** Returns the number of parts between spaces. */
function countWords(bytes: string): number {
  let words = 0;
  let inside = false;
  for (let index = 0; index < bytes.length; index += runeWidth(bytes, index)) {
    const space = isSpace(runeAt(bytes, index));
    if (!space && !inside) words++;
    inside = !space;
  }
  return words;
}

function splitSpace(bytes: string, most: number): string[] {
  const parts: string[] = [];
  let start = -1;
  for (let index = 0; index < bytes.length; index += runeWidth(bytes, index)) {
    if (!isSpace(runeAt(bytes, index))) {
      if (start < 0) start = index;
    } else if (start >= 0) {
      if (parts.length === most) break;
      parts.push(bytes.slice(start, index));
      start = -1;
    }
  }
  if (start >= 0) parts.push(bytes.slice(start));
  return parts;
}

function splitSpaceFromEnd(bytes: string, most: number): string[] {
  const parts: string[] = [];
  let end = -1;
  for (let index = bytes.length; index > 0; ) {
    const width = widthBefore(bytes, index);
    if (!isSpace(runeAt(bytes, index - width))) {
      if (end < 0) end = index;
    } else if (end >= 0) {
      if (parts.length === most) break;
      parts.push(bytes.slice(index, end));
      end = -1;
    }
    index -= width;
  }
  if (end >= 0) parts.push(bytes.slice(0, end));
  return parts.reverse();
}

function splitlines(thread: Thread, text: string, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('splitlines', args, kwargs, 0, 1);
  const keepEnds = args.length > 0 && wantBool('splitlines', 1, args[0] as Value);
  readString(thread, text);
  const bytes = toByteString(text);
  allocateParts(occurrences(bytes, '\n', thread) + 1, thread);
  const lines = bytes.split('\n');
  const last = lines.pop() as string;
  const ended = keepEnds ? lines.map((line) => `${line}\n`) : lines;
  return toList(last === '' ? ended : [...ended, last], thread);
}
