import parseLicense, { type Expression } from 'spdx-expression-parse';
import { loadLicenseCorrection } from '../libraries/lazy-libraries.js';
import { suggest } from '../names/suggest.js';
import { licenseIdentifiers } from './spdx-identifiers.js';

/** The parser is recursive and the correction compares with every license; no real expression is longer. */
const MAX_LICENSE_LENGTH = 200;
const MIN_MISSPELLED_LENGTH = 5;
/** Said of software without a license, which the correction takes for the Unlicense. */
const NO_LICENSE = /^\s*(?:unlicen[sc]ed|proprietary|commercial|none|closed|all rights reserved|see )/i;

/** The way out for a license that is no expression. */
export function licenseHint(license: string): string {
  const suggestion = suggestLicense(license);
  return suggestion === undefined
    ? 'Use an identifier from spdx.org/licenses, or `LicenseRef-…` for your own license.'
    : `Did you mean \`${suggestion}\`?`;
}

export function isLicenseExpression(text: string): boolean {
  if (text.length > MAX_LICENSE_LENGTH) return false;
  try {
    parseLicense(text);
    return true;
  } catch {
    return false;
  }
}

/** Reports whether an SPDX expression lets its reader take this one license alone. */
export function permitsLicense(text: string, license: string): boolean {
  if (!isLicenseExpression(text)) return false;
  const offers = (expression: Expression): boolean => {
    if ('license' in expression) return expression.license === license && expression.exception === undefined;
    const { left, conjunction, right } = expression;
    return conjunction === 'or' ? offers(left) || offers(right) : offers(left) && offers(right);
  };
  return offers(parseLicense(text));
}

function suggestLicense(license: string): string | undefined {
  if (license.length > MAX_LICENSE_LENGTH || NO_LICENSE.test(license)) return undefined;
  try {
    return loadLicenseCorrection()(license) ?? nearestIdentifier(license);
  } catch {
    return undefined;
  }
}

/** Every short word is near to some identifier. */
function nearestIdentifier(license: string): string | undefined {
  return license.length < MIN_MISSPELLED_LENGTH ? undefined : suggest(license, licenseIdentifiers());
}
