import { md5, sha1 } from '@noble/hashes/legacy.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { Builtin } from '../values/builtin.js';
import { Bytes } from '../values/bytes.js';
import { Module } from '../values/module.js';
import { encodeString } from '../values/string.js';
import { checkPositional, wantString } from '../values/unpack-arguments.js';
import type { Value } from '../values/value.js';

const ALGORITHMS = { md5, sha1, sha256 };

/**
 * The module `hash`: `md5`, `sha1`, and `sha256` of a string or bytes, in hexadecimal digits. The library works in
 * browsers too.
 */
export const HASH_MODULE = new Module('hash', (['md5', 'sha1', 'sha256'] as const).map(hashFunction));

function hashFunction(algorithm: keyof typeof ALGORITHMS): [string, Builtin] {
  const name = `hash.${algorithm}`;
  const builtin = new Builtin(name, (thread, args, kwargs) => {
    checkPositional(name, args, kwargs, 1, 1);
    const x = args[0] as Value;
    const bytes = x instanceof Bytes ? x.value : encodeString(wantString(name, 1, x));
    thread.step(bytes.length / 16);
    return bytesToHex(ALGORITHMS[algorithm](bytes));
  });
  return [algorithm, builtin];
}
