import parseLicense, { type Expression } from 'spdx-expression-parse';
import { isLicenseExpression } from './expressions.js';

/**
 * Reports whether software under a license may be used by who allows these: of `A OR B` one is enough, `A AND B` needs both.
 * A license with an exception is allowed only if the list contains it literally. An invalid expression is
 * not allowed.
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
