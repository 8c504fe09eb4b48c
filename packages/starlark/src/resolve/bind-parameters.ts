import type { Identifier, Parameter } from '../syntax/tree.js';
import type { Names } from './names.js';
import type { Binding, FunctionScope } from './scope.js';

/** Binds the parameters of a function and checks their order. `*args` and `**kwargs` are bound last. */
export function bindParameters(names: Names, scope: FunctionScope): void {
  let optional = false;
  let star: Parameter | undefined;
  let doubleStar: Parameter | undefined;
  const report = (offset: number, message: string) => names.problem(offset, message);
  for (const parameter of scope.node.parameters) {
    const { kind, start } = parameter;
    if (kind === '*') {
      if (doubleStar) report(start, `* parameter may not follow **${doubleStar.name!.name}`);
      else if (star) report(start, 'multiple * parameters not allowed');
      else star = parameter;
      continue;
    }
    if (kind === '**') {
      if (doubleStar) report(start, 'multiple ** parameters not allowed');
      doubleStar = parameter;
      continue;
    }
    if (doubleStar) report(start, `${kind} parameter may not follow **${doubleStar.name!.name}`);
    else if (star) scope.keywordOnly++;
    else if (optional && kind === 'required') report(start, 'required parameter may not follow optional');
    if (kind === 'optional') optional = true;
    const binding = bind(names, scope, parameter.name!);
    scope.parameters.push({ binding, default: parameter.default });
  }
  if (star !== undefined) {
    if (star.name !== undefined) scope.varargs = bind(names, scope, star.name);
    else if (scope.keywordOnly === 0) {
      report(star.start, 'bare * must be followed by keyword-only parameters');
    }
  }
  if (doubleStar !== undefined) scope.kwargs = bind(names, scope, doubleStar.name!);
}

function bind(names: Names, scope: FunctionScope, identifier: Identifier): Binding {
  const { binding, isNew } = names.bindLocal(identifier);
  if (!isNew) names.problem(identifier.start, `duplicate parameter: ${identifier.name}`);
  else scope.locals.pop();
  binding.isParameter = true;
  return binding;
}
