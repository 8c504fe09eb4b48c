import parseLicense, { type Expression } from 'spdx-expression-parse';
import type { JsonValue } from '../definition.js';
import type { Path } from '../diagnostic.js';
import { licenseIdentifiers } from '../dialects/license.js';
import { listField, textField, versionsOf } from './json-access.js';
import { loadLicenseCorrection } from './libraries.js';
import { checkLink, checkPossibleLink } from './link.js';
import type { Report, Rule } from './rule.js';
import { quote } from './rule.js';
import { suggest } from './suggest.js';

/** The parser is recursive and the correction compares with every licence; no real expression is longer. */
const MAX_LICENSE_LENGTH = 200;
const MIN_MISSPELLED_LENGTH = 5;
/** Said of software without a licence, which the correction takes for the Unlicense. */
const NO_LICENSE = /^\s*(?:unlicen[sc]ed|proprietary|commercial|none|closed|all rights reserved|see )/i;

/** Links to documents, who publishes and maintains, and the licence. */
export const documents: Rule = (draft, report) => {
  const { spec } = draft;
  checkTextAt(textField(spec, 'home'), ['home'], checkLink, report);
  checkTextAt(textField(spec, 'publisher'), ['publisher'], checkPossibleLink, report);
  checkEach(listField(spec, 'maintainers'), ['maintainers'], checkPossibleLink, report);
  for (const { version, path } of versionsOf(spec)) {
    checkTextAt(textField(version, 'usage'), [...path, 'usage'], checkLink, report);
    checkEach(listField(version, 'examples'), [...path, 'examples'], checkLink, report);
    checkEach(listField(version, 'maintainers'), [...path, 'maintainers'], checkPossibleLink, report);
    checkTextAt(textField(version, 'license'), [...path, 'license'], checkLicense, report);
  }
};

type Check = (text: string, path: Path, report: Report) => void;

function checkTextAt(text: string | undefined, path: Path, check: Check, report: Report): void {
  if (text !== undefined) check(text, path, report);
}

function checkEach(texts: readonly JsonValue[], path: Path, check: Check, report: Report): void {
  texts.forEach((text, index) => {
    if (typeof text === 'string') check(text, [...path, index], report);
  });
}

function checkLicense(license: string, path: Path, report: Report): void {
  if (license.trim() === '') return;
  if (isLicenseExpression(license)) {
    report('license/not-in-kep-enum', path, "the KEP's schema allows only `Apache 2.0`, written so");
    return;
  }
  report('license/unknown', path, `${quote(license)} is no SPDX licence expression`, {
    hint: licenseHint(license),
  });
}

/** The way out for a licence that is no expression. */
export function licenseHint(license: string): string {
  const suggestion = suggestLicense(license);
  return suggestion === undefined
    ? 'Use an identifier of spdx.org/licenses, or `LicenseRef-…` for a licence of your own.'
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

/** Whether an SPDX expression lets its reader take this one licence alone. */
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
