import {
  Builtin,
  type BuiltinBody,
  call,
  compare,
  EvaluationError,
  equals,
  freeze,
  isInt,
  isTrue,
  Module,
  repr,
  STANDARD_MODULES,
  StarlarkFloat,
  Struct,
  str,
  type Thread,
  unpackArguments,
  type Value,
} from '@krmhub/starlark';
import { contains } from './contains.js';

/** An assertion of a test that does not hold. No expectation of an error takes it for one. */
export class AssertionFailure extends EvaluationError {}

const builtin = (name: string, body: BuiltinBody) => [name, new Builtin(name, body)] as const;

function assertion(
  name: string,
  parameters: readonly string[],
  check: (values: readonly (Value | undefined)[], thread: Thread) => string | undefined,
): readonly [string, Builtin] {
  return builtin(name, (thread, args, kwargs) => {
    const failure = check(unpackArguments(name, args, kwargs, parameters), thread);
    if (failure !== undefined) throw new AssertionFailure(failure);
    return null;
  });
}

const equal = assertion('eq', ['x', 'y'], ([x, y], thread) =>
  equals(x!, y!, thread) || isNear(x!, y!) ? undefined : `${repr(x!)} != ${repr(y!)}`,
);
const unequal = assertion('ne', ['x', 'y'], ([x, y], thread) =>
  equals(x!, y!, thread) ? `${repr(x!)} == ${repr(y!)}` : undefined,
);
const holds = assertion('true', ['cond', 'msg?'], ([condition, message]) =>
  isTrue(condition!) ? undefined : message === undefined ? 'assertion failed' : str(message),
);
const fails = assertion('fails', ['f', 'pattern'], ([f, pattern], thread) => {
  const message = failureOf(thread, f!);
  if (message === null) return `evaluation succeeded unexpectedly (want error matching ${repr(pattern!)})`;
  if (expression(pattern!).test(message)) return undefined;
  return `regular expression (${str(pattern!)}) did not match error (${message})`;
});

/** The functions of the tests of starlark-go, which they load from `assert.star`. */
export const ASSERT_MODULE: ReadonlyMap<string, Value> = new Map<string, Value>([
  [
    'assert',
    new Module('assert', [
      equal,
      unequal,
      holds,
      assertion('lt', ['x', 'y'], ([x, y], thread) =>
        compare(x!, y!, thread) < 0 ? undefined : `${str(x!)} is not less than ${str(y!)}`,
      ),
      assertion('contains', ['x', 'y'], ([x, y], thread) =>
        contains(x!, y!, thread) ? undefined : `${str(x!)} does not contain ${str(y!)}`,
      ),
      fails,
      assertion('fail', ['msg'], ([message]) => str(message!)),
    ]),
  ],
  builtin('freeze', (_, args) => {
    freeze(args[0]!);
    return args[0]!;
  }),
]);

/** What the tests of bazelbuild/starlark and of its Java implementation find without `load`. */
export const BARE_ASSERTIONS: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['assert_eq', equal[1]],
  ['assert_ne', unequal[1]],
  ['assert_', holds[1]],
  ['assert_fails', fails[1]],
  ['freeze', ASSERT_MODULE.get('freeze')!],
  builtin('struct', (_, __, kwargs) => new Struct('struct', kwargs)),
  ['json', STANDARD_MODULES.get('json.star')!.get('json')!],
]);

/** Returns the message of the error of a call; None if it succeeds. */
function failureOf(thread: Thread, f: Value): string | null {
  const { depth } = thread;
  try {
    call(thread, f, []);
    return null;
  } catch (error) {
    if (!(error instanceof EvaluationError) || error instanceof AssertionFailure) throw error;
    thread.depth = depth;
    return error.message;
  }
}

function expression(pattern: Value): RegExp {
  const text = str(pattern);
  const [prefix = '', flags = ''] = /^\(\?([is]+)\)/.exec(text) ?? [];
  return new RegExp(text.slice(prefix.length), flags);
}

/** Tests compare floats up to the last digit. */
function isNear(x: Value, y: Value): boolean {
  const isFloat = x instanceof StarlarkFloat || y instanceof StarlarkFloat;
  const [a, b] = [x, y].map((value) =>
    value instanceof StarlarkFloat ? value.value : isInt(value) ? Number(value) : undefined,
  );
  if (!isFloat || a === undefined || b === undefined) return false;
  return Math.abs(a - b) <= Number.EPSILON * Math.max(Math.abs(a), Math.abs(b));
}
