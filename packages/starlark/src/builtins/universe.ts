/**
 * Built-in functions, and the methods of strings, bytes, lists, dicts, and sets.
 *
 * @module
 */

import { Builtin, type BuiltinBody } from '../values/builtin.js';
import type { Value } from '../values/value.js';
import { dict, set } from './collections.js';
import { abs, bool, float, int } from './numbers.js';
import { dir, fail, getattr, hasattr, print, repr, type } from './reflection.js';
import {
  all,
  any,
  enumerate,
  len,
  list,
  max,
  min,
  range,
  reversed,
  sorted,
  tuple,
  zip,
} from './sequences.js';
import { bytes, chr, hash, ord, str } from './strings.js';

const FUNCTIONS: Readonly<Record<string, BuiltinBody>> = {
  abs,
  all,
  any,
  bool,
  bytes,
  chr,
  dict,
  dir,
  enumerate,
  fail,
  float,
  getattr,
  hasattr,
  hash,
  int,
  len,
  list,
  max,
  min,
  ord,
  print,
  range,
  repr,
  reversed,
  set,
  sorted,
  str,
  tuple,
  type,
  zip,
};

/** The names that each program knows without defining them. */
export const UNIVERSE: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['None', null],
  ['True', true],
  ['False', false],
  ...Object.entries(FUNCTIONS).map(([name, body]) => [name, new Builtin(name, body)] as const),
]);
