import { allocateString, fromByteString, readString, toByteString } from '../builtins/byte-string.js';
import { Builtin } from '../values/builtin.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { Module } from '../values/module.js';
import type { Thread } from '../values/thread.js';
import { checkPositional, unpackArguments, wantString } from '../values/unpack-arguments.js';
import type { Kwargs, Value } from '../values/value.js';
import { decodeJson, JsonSyntaxError } from './json-decode.js';
import { encodeJson } from './json-encode.js';
import { validateJson } from './json-validate.js';

/** The module `json`: `encode`, `encode_indent`, `decode`, `indent`. */
export const JSON_MODULE = new Module('json', [
  ['decode', new Builtin('json.decode', decode)],
  ['encode', new Builtin('json.encode', encode)],
  ['encode_indent', new Builtin('json.encode_indent', encodeIndent)],
  ['indent', new Builtin('json.indent', indent)],
]);

function encode(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('json.encode', args, kwargs, 1, 1);
  return encodeJson('json.encode', args[0] as Value, thread);
}

function encodeIndent(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  const [prefix, unit] = indentation('json.encode_indent', kwargs);
  checkPositional('json.encode_indent', args, [], 1, 1);
  const text = encodeJson('json.encode_indent', args[0] as Value, thread);
  return indented('json.encode_indent', text, prefix, unit, thread);
}

function indent(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  const [prefix, unit] = indentation('json.indent', kwargs);
  checkPositional('json.indent', args, [], 1, 1);
  const text = wantString('json.indent', 1, args[0] as Value);
  return indented('json.indent', text, prefix, unit, thread);
}

function indentation(name: string, kwargs: Kwargs): [prefix: string, unit: string] {
  const [prefix = '', unit = '\t'] = unpackArguments(name, [], kwargs, ['prefix?', 'indent?']);
  return [wantString(name, 'prefix', prefix), wantString(name, 'indent', unit)];
}

function indented(name: string, text: string, prefix: string, unit: string, thread: Thread): string {
  // Each character is handled by itself, which takes longer than reading.
  thread.step(text.length / 4);
  return fromByteString(
    indentJson(name, toByteString(text), toByteString(prefix), toByteString(unit), (bytes) =>
      allocateString(thread, bytes),
    ),
  );
}

function decode(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  const [x, fallback] = unpackArguments('json.decode', args, kwargs, ['x', 'default?']);
  const text = wantString('json.decode', 'x', x as Value);
  if (args.length < 1) throw new EvaluationError('json.decode: unexpected keyword argument x');
  readString(thread, text);
  try {
    return decodeJson(toByteString(text), thread);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    if (fallback !== undefined) return fallback;
    throw new EvaluationError(`json.decode: at offset ${error.offset}, ${error.message}`);
  }
}

/** Bytes that indentation can add for each byte of JSON; hostile units and depths are counted before they are made. */
type Allocate = (bytes: number) => void;

/**
 * Returns JSON, a byte string, with each element on a line that starts with a prefix and a unit for each level. Throws
 * an error for text that is not JSON.
 */
function indentJson(name: string, json: string, prefix: string, unit: string, allocate: Allocate): string {
  validateJson(name, json);
  const parts: string[] = [];
  let depth = 0;
  let opened = false;
  const add = (text: string) => {
    allocate(text.length);
    parts.push(text);
  };
  const newLine = () => {
    allocate(1 + prefix.length + unit.length * depth);
    parts.push(`\n${prefix}${unit.repeat(depth)}`);
  };
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^ \t\r\n[\]{},:"]+/gs)) {
    const closes = token === '}' || token === ']';
    if (closes) depth--;
    if (opened !== closes && (opened || closes)) newLine();
    opened = token === '{' || token === '[';
    if (opened) depth++;
    add(token === ':' ? ': ' : token);
    if (token === ',') newLine();
  }
  return parts.join('');
}
