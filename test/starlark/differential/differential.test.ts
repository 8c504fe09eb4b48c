import {
  compile,
  EvaluationError,
  PERMISSIVE_DIALECT,
  PREDECLARED_MODULES,
  parse,
  run,
  StarlarkSyntaxError,
} from '@krmhub/starlark';
import { describe, expect, test } from 'vitest';
import { titleWithReason } from '../../interop/oci-tools.js';
import { comparable, reasonFor } from './disagreements.js';
import { Generator } from './generate.js';
import { type Outcome, runOracle, whyNoOracle } from './oracle.js';
import { Random } from './random.js';

/**
 * Random programs against starlark-go's command: both print the same, or fail with the same message. A disagreement is
 * a fault, or a row of the table in disagreements.ts. `KRMHUB_TEST_SEED` chooses
 * others.
 */

const seed = Number(process.env.KRMHUB_TEST_SEED ?? 1);
const COUNT = Number(process.env.KRMHUB_TEST_COUNT ?? 3000);
/** Programs that exceed them are not compared. */
const LIMITS = { maxSteps: 200_000, maxMemoryBytes: 2_000_000, maxOutputBytes: 500_000 };
const BATCH = 50;

const predeclared = new Map([...PREDECLARED_MODULES].filter(([name]) => name !== 'struct'));

/** Runs a program with our interpreter; undefined if it exceeds a limit. Other errors than its own are thrown. */
function runOurs(program: string): Outcome | undefined {
  let output = '';
  const print = (line: string) => {
    output += `${line}\n`;
  };
  try {
    const tree = parse(program, { file: 'test.star' });
    const compiled = compile(tree, { predeclared: [...predeclared.keys()], dialect: PERMISSIVE_DIALECT });
    run(compiled, { predeclared, print, limits: LIMITS });
    return { output, error: undefined };
  } catch (error) {
    if (error instanceof EvaluationError) {
      return error.limit === undefined ? { output, error: error.message } : undefined;
    }
    if (error instanceof StarlarkSyntaxError) return { output, error: error.problems[0]?.message ?? '' };
    throw error;
  }
}

/** Returns how the outcomes differ without a reason, or undefined. */
function difference(program: string, ours: Outcome, theirs: Outcome | undefined): string | undefined {
  if (theirs === undefined || comparable(ours) === comparable(theirs)) return undefined;
  if (reasonFor(ours, theirs) !== undefined) return undefined;
  return `${program}\n  ours:   ${show(ours)}\n  theirs: ${show(theirs)}`;
}

function show({ output, error }: Outcome): string {
  return `${JSON.stringify(output)}${error === undefined ? '' : ` error: ${error}`}`;
}

/** Programs that succeed are run together, since starting a process takes longer than they do. */
function compareExpressions(expressions: readonly string[]): string[] {
  const programs = expressions.map((expression) => `print(repr(${expression}))\n`);
  const outcomes = programs.map((program) => [program, runOurs(program)] as const);
  const succeeded = outcomes.filter(([, ours]) => ours !== undefined && ours.error === undefined);
  const alone = new Set(outcomes.filter(([, ours]) => ours?.error !== undefined).map(([program]) => program));
  for (let start = 0; start < succeeded.length; start += BATCH) {
    const batch = succeeded.slice(start, start + BATCH);
    const together = runOracle(batch.map(([program]) => program).join(''));
    const expected = batch.map(([, ours]) => ours?.output).join('');
    if (together?.output !== expected || together.error !== undefined) {
      for (const [program] of batch) alone.add(program);
    }
  }
  return outcomes
    .filter(([program]) => alone.has(program))
    .map(([program, ours]) => difference(program, ours as Outcome, runOracle(program)))
    .filter((found) => found !== undefined);
}

const why = whyNoOracle();

describe.skipIf(why !== undefined)(titleWithReason(`starlark-go, seed ${seed}`, why), () => {
  test(`${COUNT} expressions`, () => {
    const generator = new Generator(new Random(seed));
    const expressions = Array.from({ length: COUNT }, () => generator.expression());
    const differences = compareExpressions(expressions);
    expect(differences.join('\n'), `${differences.length} differences`).toBe('');
  });

  test(`${COUNT / 5} programs`, () => {
    const generator = new Generator(new Random(seed + 1));
    const differences: string[] = [];
    for (let count = 0; count < COUNT / 5; count++) {
      const program = generator.program();
      const ours = runOurs(program);
      const found = ours === undefined ? undefined : difference(program, ours, runOracle(program));
      if (found !== undefined) differences.push(found);
    }
    expect(differences.join('\n'), `${differences.length} differences`).toBe('');
  });
});
