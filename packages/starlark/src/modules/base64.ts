import { allocateString, fromByteString, readString, toByteString } from '../builtins/byte-string.js';
import { Builtin } from '../values/builtin.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { Module } from '../values/module.js';
import type { Thread } from '../values/thread.js';
import { unpackArguments, wantString } from '../values/unpack-arguments.js';
import type { Kwargs, Value } from '../values/value.js';

interface Encoding {
  padded: boolean;
  name: 'base64' | 'base64url';
}

/** The encodings of RFC 4648, sections 4 and 5; `raw` has no padding. */
const ENCODINGS: ReadonlyMap<string, Encoding> = new Map<string, Encoding>([
  ['standard', { name: 'base64', padded: true }],
  ['standard_raw', { name: 'base64', padded: false }],
  ['url', { name: 'base64url', padded: true }],
  ['url_raw', { name: 'base64url', padded: false }],
]);

/** The module `base64`: `encode(data, encoding="standard")` and `decode`. */
export const BASE64_MODULE = new Module('base64', [
  ['decode', new Builtin('decode', decode)],
  ['encode', new Builtin('encode', encode)],
]);

function encode(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  const { data, encoding } = readArguments('encode', thread, args, kwargs);
  allocateString(thread, Math.ceil(data.length / 3) * 4);
  const text = Buffer.from(data, 'latin1').toString(encoding.name).replace(/=+$/, '');
  return encoding.padded ? text.padEnd(Math.ceil(text.length / 4) * 4, '=') : text;
}

function decode(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  const { data, encoding } = readArguments('decode', thread, args, kwargs);
  allocateString(thread, data.length);
  const wrong = illegalOffset(data, encoding);
  if (wrong !== undefined) throw new EvaluationError(`illegal base64 data at input byte ${wrong}`);
  return fromByteString(Buffer.from(data, encoding.name).toString('latin1'));
}

function readArguments(
  name: string,
  thread: Thread,
  args: readonly Value[],
  kwargs: Kwargs,
): { data: string; encoding: Encoding } {
  const [data = '', given = ''] = unpackArguments(name, args, kwargs, ['data', 'encoding?']);
  const text = wantString(name, 'data', data);
  const encodingName = wantString(name, 'encoding', given);
  const encoding = ENCODINGS.get(encodingName || 'standard');
  if (encoding === undefined) throw new EvaluationError(`unsupported encoding format: "${encodingName}"`);
  readString(thread, text);
  return { data: toByteString(text), encoding };
}

/** Returns the offset of the first byte that is wrong, or undefined. Line ends may be anywhere. */
function illegalOffset(data: string, { name, padded }: Encoding): number | undefined {
  const alphabet = name === 'base64' ? /[A-Za-z0-9+/]/ : /[A-Za-z0-9_-]/;
  let digits = 0;
  let padding = 0;
  for (let index = 0; index < data.length; index++) {
    const char = data[index] as string;
    if (char === '\n' || char === '\r') continue;
    if (char === '=' && padded && digits % 4 >= 2 && (digits + padding) % 4 !== 0) {
      padding++;
    } else if (padding === 0 && alphabet.test(char)) {
      digits++;
    } else {
      return index;
    }
  }
  const complete = padded ? (digits + padding) % 4 === 0 : digits % 4 !== 1;
  return complete ? undefined : data.length;
}
