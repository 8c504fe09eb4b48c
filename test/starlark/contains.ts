import { compile, parse, run, type Thread, type Value } from '@krmhub/starlark';

const PROGRAM = compile(parse('result = y in x\n', { file: 'contains.star' }), { predeclared: ['x', 'y'] });

/** Returns the value of `y in x`. */
export function contains(x: Value, y: Value, thread: Thread): boolean {
  const predeclared = new Map([
    ['x', x],
    ['y', y],
  ]);
  return run(PROGRAM, { predeclared, thread }).globals.get('result') === true;
}
