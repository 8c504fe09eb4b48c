import { getAttribute } from '../builtins/method-tables.js';
import { Dict } from '../values/dict.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { StarlarkFunction } from '../values/function.js';
import { List } from '../values/list.js';
import { EMPTY_TUPLE, Tuple } from '../values/tuple.js';
import { call, isTrue } from '../values/value.js';
import * as binary from './binary-operators.js';
import * as calls from './calls.js';
import * as comparisons from './comparison-operators.js';
import * as elements from './elements.js';
import * as loops from './loops.js';

function unassigned(scope: 'global' | 'local', name: string): never {
  throw new EvaluationError(`${scope} variable ${name} referenced before assignment`);
}

const nothingReachable = () => [];

/** All that generated code calls, by the name under which it does. */
export const RUNTIME: Readonly<Record<string, unknown>> = {
  ...binary,
  ...calls,
  ...comparisons,
  ...elements,
  ...loops,
  call,
  Dict,
  EMPTY_TUPLE,
  getAttribute,
  isTrue,
  List,
  nothingReachable,
  StarlarkFunction,
  Tuple,
  unassigned,
};
