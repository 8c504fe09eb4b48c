import type { CallExpression, Expression } from '../syntax/tree.js';
import type { CodeWriter } from './code-writer.js';

/** Writes a call. The function is evaluated before the arguments. */
export function generateCall(writer: CodeWriter, call: CallExpression): string {
  const { callee, args, paren } = call;
  let target: string;
  /** The object and the name of a method. */
  let object: string | undefined;
  if (callee.kind === 'dot') {
    const name = writer.program.constant(callee.name);
    const value = writer.expression(callee.object);
    object = `${value},${name}`;
    target = writer.compute(callee.dot, `findMethod(${object})`);
  } else {
    target = writer.expression(callee);
  }
  const positional: string[] = [];
  const named: string[] = [];
  let star: string | undefined;
  let doubleStar: string | undefined;
  for (const { kind, name, value } of args) {
    const atom = writer.expression(value);
    if (kind === 'positional') positional.push(atom);
    else if (kind === 'named') named.push(`[${writer.program.constant(name!)},${atom}]`);
    else if (kind === '*') star = atom;
    else doubleStar = atom;
  }
  if (named.length === 0 && star === undefined && doubleStar === undefined) {
    if (object === undefined && positional.length <= 2) {
      const list = ['thread', target, ...positional].join(',');
      return writer.compute(paren, `call${positional.length}(${list})`);
    }
    return writer.compute(paren, callText(target, object, `[${positional}]`));
  }
  let array = `[${positional}]`;
  if (star !== undefined) array = writer.compute(paren, `spreadArguments(thread,${array},${star})`);
  let pairs = `[${named}]`;
  if (doubleStar !== undefined) {
    pairs = writer.compute(paren, `spreadKeywords(thread,${pairs},${doubleStar})`);
  }
  return writer.compute(paren, callText(target, object, array, pairs));
}

function callText(target: string, object: string | undefined, array: string, pairs?: string): string {
  const rest = pairs === undefined ? array : `${array},${pairs}`;
  return object === undefined
    ? `call(thread,${target},${rest})`
    : `callMethod(thread,${target},${object},${rest})`;
}

/** Writes an expression that may be missing: None. */
export function optionalExpression(writer: CodeWriter, expression: Expression | undefined): string {
  return expression === undefined ? 'null' : writer.expression(expression);
}
