import { allocateString, fromByteString, readString, toByteString } from '../builtins/byte-string.js';
import type { Match } from '../regexp/matcher.js';
import { Pattern, PatternError } from '../regexp/pattern.js';
import { BoundMethod, Builtin, type MethodBody, methodTable } from '../values/builtin.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { List } from '../values/list.js';
import { Module } from '../values/module.js';
import type { Thread } from '../values/thread.js';
import { EMPTY_TUPLE, Tuple } from '../values/tuple.js';
import { unpackArguments, wantSmallInt, wantString } from '../values/unpack-arguments.js';
import { HeapValue, type Key, type Kwargs, type ReprWriter, type Value } from '../values/value.js';

/** Bytes that a part of a match takes. */
const PART_BYTES = 48;

/** A function of the module: its parameters after the pattern, and what it does. */
interface Operation {
  parameters: readonly string[];
  run(thread: Thread, pattern: Pattern, args: readonly (Value | undefined)[]): Value;
}

const OPERATIONS: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  ['findall', { parameters: ['string', 'flags?'], run: findall }],
  ['match', { parameters: ['string', 'flags?'], run: match }],
  ['search', { parameters: ['string', 'flags?'], run: search }],
  ['split', { parameters: ['string', 'maxsplit?', 'flags?'], run: split }],
  ['sub', { parameters: ['repl', 'string', 'count?', 'flags?'], run: sub }],
]);

/** A compiled pattern, the result of `re.compile`. */
class CompiledPattern extends HeapValue {
  constructor(readonly pattern: Pattern) {
    super();
  }

  override get typeName(): string {
    return 'regexp';
  }

  override truth(): boolean {
    return this.pattern.source !== '';
  }

  override writeRepr(writer: ReprWriter): void {
    writer.write(fromByteString(this.pattern.source));
  }

  override hashKey(): Key {
    return this;
  }

  override attribute(name: string): Value | undefined {
    const body = PATTERN_METHODS.get(name);
    return body === undefined ? undefined : new BoundMethod(name, this, body);
  }

  override attributeNames(): readonly string[] {
    return [...OPERATIONS.keys()];
  }
}

const PATTERN_METHODS = methodTable<CompiledPattern>([...OPERATIONS].map(patternMethod));

function patternMethod([name, { parameters, run }]: readonly [string, Operation]): readonly [
  string,
  MethodBody<CompiledPattern>,
] {
  return [
    name,
    (thread, { pattern }, args, kwargs) =>
      run(thread, pattern, unpackArguments(name, args, kwargs, parameters)),
  ];
}

/**
 * The module `re`, in RE2 syntax and linear time: `compile`, `search`, `match`, `findall`, `split`, `sub`. `flags` is
 * accepted and has no effect: write flags in the pattern, for example `(?i)`.
 */
export const RE_MODULE = new Module('re', [
  ['compile', new Builtin('compile', compile)],
  ...[...OPERATIONS].map(moduleFunction),
]);

function moduleFunction([name, { parameters, run }]: readonly [string, Operation]): [string, Builtin] {
  const builtin = new Builtin(name, (thread, args, kwargs) => {
    const [pattern, ...rest] = unpackArguments(name, args, kwargs, ['pattern', ...parameters]);
    return run(thread, compilePattern(name, thread, pattern as Value), rest);
  });
  return [name, builtin];
}

function compile(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  const [pattern] = unpackArguments('compile', args, kwargs, ['pattern', 'flags?']);
  return new CompiledPattern(compilePattern('compile', thread, pattern as Value));
}

/** Compiled patterns that a thread remembers: a call such as `re.match(PATTERN, text)` in a loop compiles once. */
const MAX_REMEMBERED = 100;
const compiled = new WeakMap<Thread, Map<string, Pattern>>();

function compilePattern(name: string, thread: Thread, value: Value): Pattern {
  const source = wantString(name, 'pattern', value);
  thread.step(source.length);
  let known = compiled.get(thread);
  if (known === undefined) {
    known = new Map();
    compiled.set(thread, known);
  }
  const found = known.get(source);
  if (found !== undefined) return found;
  const pattern = compileNew(thread, source);
  if (known.size >= MAX_REMEMBERED) known.clear();
  known.set(source, pattern);
  return pattern;
}

function compileNew(thread: Thread, source: string): Pattern {
  thread.allocate(source.length * 64);
  try {
    const pattern = new Pattern(toByteString(source), counter(thread));
    thread.step(pattern.size);
    thread.allocate(pattern.size * 64);
    return pattern;
  } catch (error) {
    throw error instanceof PatternError ? new EvaluationError(error.message) : error;
  }
}

/** The text to search, and its matches. */
function subject(name: string, thread: Thread, value: Value | undefined): string {
  const text = wantString(name, 'string', value as Value);
  readString(thread, text);
  return toByteString(text);
}

const counter = (thread: Thread) => (steps: number) => thread.step(steps);

/** Returns start and end of the first match, in bytes, or None. */
function search(thread: Thread, pattern: Pattern, [text]: readonly (Value | undefined)[]): Value {
  const found = pattern.find(subject('search', thread, text), counter(thread));
  return found === undefined ? null : new List(found.slice(0, 2));
}

/** Returns a list with a tuple of the text and the groups of each match. */
function match(thread: Thread, pattern: Pattern, [text]: readonly (Value | undefined)[]): Value {
  const bytes = subject('match', thread, text);
  const rows: Value[] = [];
  for (const found of pattern.findAll(bytes, counter(thread))) {
    const row: Value[] = [];
    for (let group = 0; group < found.length; group += 2) row.push(groupText(thread, bytes, found, group));
    rows.push(new Tuple(row));
  }
  return new List(rows);
}

function groupText(thread: Thread, bytes: string, found: Match, group: number): string {
  const start = found[group] as number;
  const text = start < 0 ? '' : bytes.slice(start, found[group + 1]);
  thread.allocate(PART_BYTES);
  allocateString(thread, text.length);
  return fromByteString(text);
}

/** Returns a tuple of the texts of all matches. */
function findall(thread: Thread, pattern: Pattern, [text]: readonly (Value | undefined)[]): Value {
  const bytes = subject('findall', thread, text);
  const parts: Value[] = [];
  for (const found of pattern.findAll(bytes, counter(thread))) {
    parts.push(groupText(thread, bytes, found, 0));
  }
  return new Tuple(parts);
}

/** Returns a tuple of the parts between matches; with `maxsplit`, of so many parts at most. */
function split(thread: Thread, pattern: Pattern, args: readonly (Value | undefined)[]): Value {
  const bytes = subject('split', thread, args[0]);
  const most = args[1] === undefined ? 0 : wantSmallInt('split', 'maxsplit', args[1]);
  if (pattern.source !== '' && bytes === '') return new Tuple(['']);
  const parts: Value[] = [];
  const add = (part: string) => {
    thread.allocate(PART_BYTES + part.length);
    parts.push(fromByteString(part));
  };
  let from = 0;
  let start = 0;
  for (const [matchStart, matchEnd] of pattern.findAll(bytes, counter(thread))) {
    if (most > 0 && parts.length === most - 1) break;
    start = matchStart as number;
    if (matchEnd !== 0) add(bytes.slice(from, start));
    from = matchEnd as number;
  }
  if (start !== bytes.length) add(bytes.slice(from));
  return parts.length === 0 ? EMPTY_TUPLE : new Tuple(parts);
}

/** Replaces matches, at most `count` unless it is 0. `$1` and `${name}` in `repl` are groups. */
function sub(thread: Thread, pattern: Pattern, args: readonly (Value | undefined)[]): Value {
  const template = toByteString(wantString('sub', 'repl', args[0] as Value));
  const bytes = subject('sub', thread, args[1]);
  const count = args[2] === undefined ? 0 : wantSmallInt('sub', 'count', args[2]);
  const parts: string[] = [];
  let from = 0;
  let done = 0;
  for (const found of pattern.findAll(bytes, counter(thread))) {
    if (count > 0 && done++ === count) break;
    const text = template.includes('$') ? expand(thread, pattern, template, bytes, found) : template;
    thread.allocate(PART_BYTES);
    allocateString(thread, text.length);
    parts.push(bytes.slice(from, found[0]), text);
    from = found[1] as number;
  }
  parts.push(bytes.slice(from));
  return fromByteString(parts.join(''));
}

function expand(thread: Thread, pattern: Pattern, template: string, bytes: string, found: Match): string {
  // Each reference can give the whole match.
  const references = template.split('$').length - 1;
  const longest = (found[1] as number) - (found[0] as number);
  allocateString(thread, template.length + references * longest);
  return pattern.expand(template, bytes, found);
}
