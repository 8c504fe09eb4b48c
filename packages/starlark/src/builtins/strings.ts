import { countRunes, encodeRune, REPLACEMENT, runeAt, runeWidth } from '../text/utf8.js';
import { Bytes } from '../values/bytes.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { isInt } from '../values/integer.js';
import { repr } from '../values/repr.js';
import { stringByteAt, stringFromJs, stringLength } from '../values/string.js';
import type { Thread } from '../values/thread.js';
import { checkPositional } from '../values/unpack-arguments.js';
import { HeapValue, type Kwargs, typeName, type Value } from '../values/value.js';
import { elementsOrUndefined, soleArgument } from './arguments.js';
import { allocateString, fromByteString, readString, toByteString, toLatin1 } from './byte-string.js';
import { codePointArgument } from './numbers.js';

export function str(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  const x = soleArgument('str', args, kwargs, 'exactly 1');
  return x instanceof Bytes ? bytesToText(x, thread) : displayed(x, thread);
}

/** Returns a string as it is, and `repr` of other values. */
export function displayed(value: Value, thread: Thread): string {
  return typeof value === 'string' ? value : repr(value, thread);
}

/** Decodes bytes as UTF-8; each byte that is not part of valid UTF-8 gives U+FFFD. */
export function bytesToText(bytes: Bytes, thread: Thread): string {
  allocateString(thread, bytes.value.length * 3);
  return stringFromJs(fromByteString(toLatin1(bytes.value)));
}

export function bytes(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  const x = soleArgument('bytes', args, kwargs, 'exactly 1');
  if (x instanceof Bytes) return x;
  if (typeof x === 'string') {
    allocateString(thread, x.length * 3);
    return new Bytes(Buffer.from(stringFromJs(x), 'utf8'));
  }
  const elements = elementsOrUndefined(x, thread);
  if (elements === undefined) {
    throw new EvaluationError(`bytes: got ${typeName(x)}, want string, bytes, or iterable of ints`);
  }
  allocateString(thread, elements.length);
  return new Bytes(Uint8Array.from(elements, (element, index) => toByte(element, index)));
}

function toByte(element: Value, index: number): number {
  if (!isInt(element))
    throw new EvaluationError(`bytes: at index ${index}, got ${typeName(element)}, want int`);
  if (typeof element === 'number' && element >= 0 && element <= 255) return element;
  const problem = 'out of range (want value in unsigned 8-bit range)';
  throw new EvaluationError(`bytes: at index ${index}, ${element} ${problem}`);
}

export function chr(_thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  return fromByteString(encodeRune(codePointArgument(soleArgument('chr', args, kwargs, '1'))));
}

export function ord(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  const x = soleArgument('ord', args, kwargs, '1');
  if (x instanceof Bytes) {
    if (x.value.length !== 1) throw new EvaluationError(`ord: bytes has length ${x.value.length}, want 1`);
    return x.value[0] as number;
  }
  if (typeof x !== 'string') throw new EvaluationError(`ord: got ${typeName(x)}, want string or bytes`);
  readString(thread, x);
  const text = toByteString(x);
  if (text !== '' && runeWidth(text, 0) === text.length) return runeAt(text, 0);
  throw new EvaluationError(`ord: string encodes ${countRunes(text)} Unicode code points, want 1`);
}

/** The same numbers in each run: Java's hash of the code points of a string, and FNV-1a of bytes. */
export function hash(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('hash', args, kwargs, 1, 1);
  const x = args[0] as Value;
  if (typeof x === 'string') {
    readString(thread, x);
    const text = toByteString(x);
    let result = 0;
    for (let index = 0; index < text.length; index += runeWidth(text, index)) {
      result = (Math.imul(result, 31) + runeAt(text, index)) | 0;
    }
    return result;
  }
  if (!(x instanceof Bytes)) throw new EvaluationError(`hash: got ${typeName(x)}, want string or bytes`);
  thread.step(x.value.length / 16);
  let result = 2166136261;
  for (const byte of x.value) result = Math.imul(result ^ byte, 16777619);
  return result >>> 0;
}

/** What iterating over the bytes or code points of a string or bytes gives: strings, or ints with `ords`. */
export class Elements extends HeapValue {
  /** `method` is the method that made it, for example `elems`. */
  constructor(
    private readonly source: string | Bytes,
    private readonly method: 'elems' | 'elem_ords' | 'codepoints' | 'codepoint_ords',
  ) {
    super();
  }

  override get typeName(): string {
    if (this.source instanceof Bytes) return 'bytes.elems';
    return this.method.startsWith('elem') ? 'string.elems' : 'string.codepoints';
  }

  override writeRepr(writer: Parameters<HeapValue['writeRepr']>[0]): void {
    writer.writeValue(this.source);
    writer.write(`.${this.method}()`);
  }

  override hashKey(): never {
    throw new EvaluationError(`unhashable: ${this.typeName}`);
  }

  override length(): number | undefined {
    const { source } = this;
    return typeof source === 'string' && this.method.startsWith('elem') ? stringLength(source) : undefined;
  }

  override at(index: number): Value | undefined {
    const { source } = this;
    if (typeof source !== 'string' || !this.method.startsWith('elem')) return undefined;
    const byte = stringByteAt(source, index);
    return this.method === 'elems' ? byte : toByteString(byte).charCodeAt(0);
  }

  override elements(thread: Thread | undefined): readonly Value[] {
    const { source } = this;
    if (source instanceof Bytes) {
      thread?.allocate(source.value.length * 8);
      return [...source.value];
    }
    thread?.allocate(source.length * 32);
    const bytes = toByteString(source);
    const ords = this.method.endsWith('_ords');
    const byByte = this.method.startsWith('elem');
    const parts: Value[] = [];
    for (let index = 0; index < bytes.length; ) {
      const width = byByte ? 1 : runeWidth(bytes, index);
      const part = bytes.slice(index, index + width);
      if (ords) parts.push(byByte ? part.charCodeAt(0) : runeAt(part, 0));
      else if (!byByte && runeAt(part, 0) === REPLACEMENT) parts.push('\ufffd');
      else parts.push(fromByteString(part));
      index += width;
    }
    return parts;
  }
}
