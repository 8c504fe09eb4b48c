import { Builtin } from '../values/builtin.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { Struct } from '../values/struct.js';

/** Bytes that a field takes. */
const FIELD_BYTES = 64;

/** The function `struct(a = 1)`, which makes a struct of its keyword arguments. */
export const STRUCT = new Builtin('struct', (thread, args, kwargs) => {
  if (args.length > 0) throw new EvaluationError('struct: unexpected positional arguments');
  thread.allocate(kwargs.length * FIELD_BYTES);
  return new Struct('struct', kwargs);
});
