import type { CallExpression } from '../syntax/tree.js';

const MAX_ARGUMENTS = 255;

/** Checks the order of the arguments of a call, and that no name occurs twice. */
export function checkArguments(
  call: CallExpression,
  report: (offset: number, message: string) => void,
): void {
  const names = new Set<string>();
  let varargs = false;
  let kwargs = false;
  let positional = 0;
  const after = (offset: number, what: string) => {
    if (kwargs) report(offset, `${what} may not follow **kwargs`);
    else if (varargs) report(offset, `${what} may not follow *args`);
  };
  for (const { kind, name, start } of call.args) {
    if (kind === '**') {
      if (kwargs) report(start, 'multiple **kwargs not allowed');
      kwargs = true;
    } else if (kind === '*') {
      if (kwargs) report(start, '*args may not follow **kwargs');
      else if (varargs) report(start, 'multiple *args not allowed');
      varargs = true;
    } else if (kind === 'named') {
      after(start, 'keyword argument');
      if (names.has(name!)) report(start, `keyword argument "${name}" is repeated`);
      names.add(name!);
    } else {
      positional++;
      if (varargs || kwargs) after(start, 'positional argument');
      else if (names.size > 0) report(start, 'positional argument may not follow named');
    }
  }
  if (positional > MAX_ARGUMENTS) {
    report(call.start, `${positional} positional arguments in call, limit is ${MAX_ARGUMENTS}`);
  }
  if (names.size > MAX_ARGUMENTS) {
    report(call.start, `${names.size} keyword arguments in call, limit is ${MAX_ARGUMENTS}`);
  }
}
