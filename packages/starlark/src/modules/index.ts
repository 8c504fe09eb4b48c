/**
 * Modules for programs: base64, hash, json, math, re, struct, and time.
 *
 * @module
 */

import type { Value } from '../values/value.js';
import { BASE64_MODULE } from './base64.js';
import { HASH_MODULE } from './hash.js';
import { JSON_MODULE } from './json.js';
import { MATH_MODULE } from './math.js';
import { RE_MODULE } from './re.js';
import { STRUCT } from './struct.js';
import { TIME_MODULE } from './time/module.js';

/** The values that `load` gives, by name. */
export type LoadableModule = ReadonlyMap<string, Value>;

/** The modules by the names under which scripts of KRM functions load them. */
export const STANDARD_MODULES: ReadonlyMap<string, LoadableModule> = new Map([
  ['encoding/base64.star', new Map<string, Value>([['base64', BASE64_MODULE]])],
  ['encoding/json.star', new Map<string, Value>([['json', JSON_MODULE]])],
  ['hash.star', new Map<string, Value>([['hash', HASH_MODULE]])],
  ['json.star', new Map<string, Value>([['json', JSON_MODULE]])],
  ['math.star', new Map<string, Value>([['math', MATH_MODULE]])],
  ['re.star', new Map<string, Value>([['re', RE_MODULE]])],
  ['struct.star', new Map<string, Value>([['struct', STRUCT]])],
  ['time.star', new Map<string, Value>([['time', TIME_MODULE]])],
]);

/** The modules that starlark-go's command predeclares, and `struct`. */
export const PREDECLARED_MODULES: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['json', JSON_MODULE],
  ['math', MATH_MODULE],
  ['struct', STRUCT],
  ['time', TIME_MODULE],
]);
