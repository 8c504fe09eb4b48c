/**
 * SPDX license expressions: whether they are valid, and which licenses they allow.
 *
 * @module
 */

import parseLicense, { type Expression } from 'spdx-expression-parse';
import { loadLicenseCorrection } from '../libraries/lazy-libraries.js';
import { suggest } from '../names/suggest.js';
import { licenseIdentifiers } from './spdx-identifiers.js';

/** Maximum length of an expression, because the parser is recursive. Real expressions are shorter. */
const MAX_LICENSE_LENGTH = 200;
const MIN_MISSPELLED_LENGTH = 5;
/** Texts for software without a license, which the correction would confuse with the Unlicense. */
const NO_LICENSE = /^\s*(?:unlicen[sc]ed|proprietary|commercial|none|closed|all rights reserved|see )/i;

/** Returns a hint for an invalid license. */
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

/** Reports whether an SPDX expression allows the use under this single license. */
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

/** Minimum length for a suggestion, because every short word is similar to some identifier. */
function nearestIdentifier(license: string): string | undefined {
  return license.length < MIN_MISSPELLED_LENGTH ? undefined : suggest(license, licenseIdentifiers());
}
