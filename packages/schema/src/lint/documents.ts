import type { Path } from '../diagnostics/diagnostic.js';
import { quote } from '../diagnostics/quote.js';
import type { JsonValue } from '../documents/definition.js';
import { listField, listVersions, textField } from '../json/access.js';
import { isLicenseExpression, licenseHint } from '../licenses/expressions.js';
import { checkLink, checkPossibleLink } from './link.js';
import type { Report, Rule } from './rule.js';

/** Checks links to documents, the publisher, the maintainers, and the license. */
export const documents: Rule = (draft, report) => {
  const { spec } = draft;
  checkTextAt(textField(spec, 'home'), ['home'], checkLink, report);
  checkTextAt(textField(spec, 'publisher'), ['publisher'], checkPossibleLink, report);
  checkEach(listField(spec, 'maintainers'), ['maintainers'], checkPossibleLink, report);
  for (const { version, path } of listVersions(spec)) {
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
    report('license/not-in-kep-enum', path, 'the schema of KEP-2906 allows only the exact text `Apache 2.0`');
    return;
  }
  report('license/unknown', path, `${quote(license)} is not an SPDX license expression`, {
    hint: licenseHint(license),
  });
}
