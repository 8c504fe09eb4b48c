import parseLicense, { type Expression } from 'spdx-expression-parse';
import { isLicenseExpression } from './expressions.js';

/**
 * Reports whether a list of licenses allows an expression: one license of `A OR B`, and both of `A AND B`. A license
 * with an exception must be in the list literally. An invalid expression is not allowed.
 */
export function allowsLicense(allowed: readonly string[], expression: string): boolean {
  if (allowed.includes(expression)) return true;
  if (!isLicenseExpression(expression)) return false;
  return isAllowed(parseLicense(expression), allowed);
}

function isAllowed(parsed: Expression, allowed: readonly string[]): boolean {
  if ('conjunction' in parsed) {
    const { left, right, conjunction } = parsed;
    return conjunction === 'or'
      ? isAllowed(left, allowed) || isAllowed(right, allowed)
      : isAllowed(left, allowed) && isAllowed(right, allowed);
  }
  const { license, plus, exception } = parsed;
  const name = `${license}${plus === true ? '+' : ''}${exception === undefined ? '' : ` WITH ${exception}`}`;
  return allowed.includes(name);
}
