import { readFileSync } from 'node:fs';
import path from 'node:path';
import {
  compile,
  type Dialect,
  EvaluationError,
  type Position,
  parse,
  run,
  STANDARD_MODULES,
  StarlarkSyntaxError,
  type Value,
} from '@krmhub/starlark';
import { ASSERT_MODULE, AssertionFailure, BARE_ASSERTIONS } from './assertions.js';
import { type Chunk, type ChunkFile, type Expectation, readChunks } from './chunks.js';
import { TEST_VALUES } from './test-values.js';

const MAX_MESSAGE = 500;
/** The tests of the parser and the resolver of starlark-go have only static errors, and are not meant to run. */
const STATIC_SUITES = new Set(['errors.star', 'resolve.star', 'scan.star']);

/** A chunk that does not do what it says. */
export interface ChunkFailure {
  /** Where the expectation or the error is, from 1. */
  line: number;
  message: string;
}

export interface SuiteResult {
  passed: number;
  failures: { file: string; failure: ChunkFailure }[];
}

/** What a chunk did: its errors, each with its line. */
interface ChunkError {
  line: number;
  message: string;
  /** With the name of the built-in function that failed, which the suite of bazelbuild/starlark compares. */
  text: string;
  isAssertion: boolean;
}

/** Runs all chunks of a file. A chunk may fail in several ways; it counts once. */
export function runFile(file: string, text: string): SuiteResult {
  const suite = readChunks(file, text);
  const result: SuiteResult = { passed: 0, failures: [] };
  const runs = !STATIC_SUITES.has(path.basename(file)) || /^\s*load\(['"]assert\.star['"]/m.test(text);
  for (const chunk of suite.chunks) {
    const failure = checkChunk(chunk, suite.format, executeChunk(chunk, suite.format, runs));
    if (failure === undefined) result.passed++;
    else result.failures.push({ file, failure });
  }
  return result;
}

function checkChunk(
  { expected, line }: Chunk,
  format: ChunkFile['format'],
  errors: readonly ChunkError[],
): ChunkFailure | undefined {
  const left = new Set<Expectation>(expected);
  for (const error of errors) {
    const found = error.isAssertion
      ? undefined
      : [...left].find(
          (one) =>
            (!one.isOnLine || one.line === error.line) &&
            one.pattern.test(format === 'bare' ? error.text : error.message),
        );
    if (found === undefined) return { line: error.line, message: error.message.slice(0, MAX_MESSAGE) };
    left.delete(found);
  }
  const [missing] = left;
  if (missing === undefined) return undefined;
  return { line: missing.line ?? line, message: `expected an error: ${missing.text}` };
}

function executeChunk(chunk: Chunk, format: ChunkFile['format'], runs: boolean): ChunkError[] {
  const { file, source, options } = chunk;
  const predeclared = format === 'bare' ? BARE_ASSERTIONS : TEST_VALUES;
  const dialect: Dialect = {
    set: format === 'bare' || options.has('set'),
    while: options.has('while'),
    recursion: options.has('recursion'),
    globalReassign: options.has('globalreassign'),
    topLevelControl: options.has('toplevelcontrol'),
    loadBindsGlobally: options.has('loadbindsglobally'),
  };
  try {
    const tree = parse(source, { file });
    // The tests of the parser have names that are not defined.
    if (!runs && chunk.expected.length === 0) return [];
    const program = compile(tree, { predeclared: runs ? predeclared.keys() : ['M', 'U'], dialect });
    if (runs) run(program, { predeclared, load: (module) => loadFile(file, module) });
    return [];
  } catch (error) {
    if (error instanceof StarlarkSyntaxError) {
      return error.problems.map(({ message, position: { line } }) => {
        return { line, message, text: message, isAssertion: false };
      });
    }
    if (!(error instanceof EvaluationError)) {
      const message = `not an error of the script: ${error instanceof Error ? error.stack : String(error)}`;
      return [{ line: chunk.line, message, text: message, isAssertion: true }];
    }
    // Without the line of the source, which has the expectation in it.
    const text = `Error${error.builtin === undefined ? '' : ` in ${error.builtin}`}: ${error.message}`;
    const place = lineIn(file, error) ?? chunk.line;
    const isAssertion =
      error instanceof AssertionFailure && !chunk.expected.some((one) => one.line === place);
    return [{ line: place, message: error.message, text, isAssertion }];
  }
}

/** Returns the line of the innermost frame that is in the file. */
function lineIn(file: string, { stackFrames }: EvaluationError): number | undefined {
  const positions = stackFrames.map(({ position }) => position as Position | undefined);
  return positions.findLast((position) => position?.file === file)?.line;
}

/** Modules of the tests, and files beside them. */
function loadFile(file: string, module: string): ReadonlyMap<string, Value> {
  if (module === 'assert.star') return ASSERT_MODULE;
  const standard = STANDARD_MODULES.get(module);
  if (standard !== undefined) return standard;
  if (path.basename(module) === path.basename(file))
    throw new EvaluationError(`cycle in load graph: ${module}`);
  const beside = path.join(path.dirname(file), path.basename(module));
  let text: string;
  try {
    text = readFileSync(beside, 'utf8');
  } catch {
    throw new EvaluationError(`no file ${module}`);
  }
  const program = compile(parse(text, { file: beside }), { predeclared: TEST_VALUES.keys() });
  return run(program, { predeclared: TEST_VALUES, load: (other) => loadFile(beside, other) }).globals;
}
