import type { BinaryExpression, Expression, UnaryExpression } from '../syntax/tree.js';
import { normalizeInt } from '../values/integer.js';
import type { CodeWriter } from './code-writer.js';

/** The runtime functions of the operators without a shorter form. */
const FUNCTIONS: Readonly<Record<string, string>> = {
  '+': 'add',
  '-': 'subtract',
  '*': 'multiply',
  '/': 'divide',
  '//': 'floorDivide',
  '%': 'modulo',
};
const COMPARISONS: Readonly<Record<string, string>> = {
  '<': 'isLess',
  '<=': 'isLessOrEqual',
  '>': 'isGreater',
  '>=': 'isGreaterOrEqual',
};
const MAX_SAFE = String(Number.MAX_SAFE_INTEGER);

/** Returns JavaScript that is true if both atoms are small ints, or an empty string if that is certain. */
function bothNumbers(x: string, y: string): string {
  return [x, y]
    .filter((atom) => !/^\d/.test(atom))
    .map((atom) => `typeof ${atom}==='number'`)
    .join('&&');
}

/** Writes `x op y` for an arithmetic operator and returns the result. */
export function arithmetic(
  writer: CodeWriter,
  operator: string,
  x: string,
  y: string,
  offset: number,
): string {
  const name = FUNCTIONS[operator];
  if (name === undefined) {
    const isShift = operator === '<<' || operator === '>>';
    return writer.compute(offset, `${isShift ? 'shift' : 'bitwise'}(thread,'${operator}',${x},${y})`);
  }
  const general = `${name}(thread,${x},${y})`;
  const test = bothNumbers(x, y);
  if (test === '' || operator === '/') return writer.compute(offset, general);
  const result = writer.temporary();
  if (operator === '+' || operator === '-' || operator === '*') {
    // Adding 0 makes 0 of -0.
    const fast = operator === '*' ? `${x}*${y}+0` : `${x}${operator}${y}`;
    const fits = `(${result}=${fast})<=${MAX_SAFE}&&${result}>=-${MAX_SAFE}`;
    writer.at(offset, `if(!(${test}&&${fits}))${result}=${general};`);
  } else if (operator === '%') {
    const fast = `(${result}=${x}%${y})<0?${result}+${y}:${result}`;
    writer.at(offset, `${result}=${test}&&${y}>0?(${fast})+0:${general};`);
  } else {
    writer.at(offset, `${result}=${general};`);
  }
  return result;
}

/** Writes `x op y` for an augmented assignment and returns the result. */
export function augmented(
  writer: CodeWriter,
  operator: string,
  x: string,
  y: string,
  offset: number,
): string {
  if (operator === '|') return writer.compute(offset, `orInPlace(thread,${x},${y})`);
  if (operator !== '+') return arithmetic(writer, operator, x, y, offset);
  const result = writer.temporary();
  const test = bothNumbers(x, y);
  const fits = `(${result}=${x}+${y})<=${MAX_SAFE}&&${result}>=-${MAX_SAFE}`;
  const general = `${result}=addInPlace(thread,${x},${y});`;
  writer.at(offset, test === '' ? general : `if(!(${test}&&${fits}))${general}`);
  return result;
}

/** Returns JavaScript for a comparison that gives a JavaScript boolean. */
function comparison(operator: string, x: string, y: string): string {
  const test = bothNumbers(x, y);
  switch (operator) {
    case '==':
    case '!=': {
      const general = `${operator === '!=' ? '!' : ''}isEqual(thread,${x},${y})`;
      return test === '' ? general : `(${test}?${x}${operator}=${y}:${general})`;
    }
    case 'in':
      return `isIn(thread,${x},${y})`;
    case 'not in':
      return `!isIn(thread,${x},${y})`;
    default: {
      const general = `${COMPARISONS[operator]}(thread,${x},${y})`;
      return test === '' ? general : `(${test}?${x}${operator}${y}:${general})`;
    }
  }
}

const isComparisonOperator = (operator: string) =>
  operator in COMPARISONS || ['==', '!=', 'in', 'not in'].includes(operator);

/** Writes a chain of binary operators. It is as deep as it is long, so this is a loop. */
export function generateBinary(writer: CodeWriter, root: BinaryExpression): string {
  const chain: BinaryExpression[] = [];
  let expression: Expression = root;
  while (expression.kind === 'binary') {
    chain.push(expression);
    expression = expression.left;
  }
  let result = writer.expression(expression);
  for (const { operator, operatorStart, right } of chain.reverse()) {
    if (operator === 'and' || operator === 'or') {
      const chosen = writer.temporary();
      const truth = operator === 'and' ? `isTrue(${result})` : `!isTrue(${result})`;
      writer.write(`${chosen}=${result};if(${truth}){`);
      writer.maybe(() => writer.write(`${chosen}=${writer.expression(right)};`));
      writer.write('}');
      result = chosen;
      continue;
    }
    const y = writer.expression(right);
    result = isComparisonOperator(operator)
      ? writer.compute(operatorStart, comparison(operator, result, y))
      : arithmetic(writer, operator, result, y, operatorStart);
  }
  return result;
}

/** Writes an expression whose value only decides, and returns JavaScript for it, to be used once. */
export function generateCondition(writer: CodeWriter, expression: Expression): string {
  if (expression.kind === 'binary' && isComparisonOperator(expression.operator)) {
    const x = writer.expression(expression.left);
    const y = writer.expression(expression.right);
    writer.write(`p=${expression.operatorStart};`);
    return comparison(expression.operator, x, y);
  }
  if (expression.kind === 'unary' && expression.operator === 'not') {
    return `!${generateCondition(writer, expression.operand)}`;
  }
  const atom = writer.expression(expression);
  return `(${atom}===true||${atom}!==false&&isTrue(${atom}))`;
}

/** Writes `-x`, `+x`, `~x` or `not x`. */
export function generateUnary(writer: CodeWriter, { operator, operand, start }: UnaryExpression): string {
  if (operator === 'not') {
    const condition = generateCondition(writer, operand);
    return writer.compute(start, `!${condition}`);
  }
  if (operator === '-' && operand.kind === 'int' && operand.value !== 0) {
    const { value } = operand;
    return writer.program.constant(typeof value === 'number' ? -value : normalizeInt(-value));
  }
  const atom = writer.expression(operand);
  return writer.compute(start, `unary(thread,'${operator}',${atom})`);
}
