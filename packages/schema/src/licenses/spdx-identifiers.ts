import { createRequire } from 'node:module';

/** Unambiguous spellings of licenses, in lower case with single spaces. */
const SPELLINGS: Readonly<Record<string, string>> = {
  'apache 2': 'Apache-2.0',
  'apache 2.0': 'Apache-2.0',
  'apache-2': 'Apache-2.0',
  apache2: 'Apache-2.0',
  'apache2.0': 'Apache-2.0',
  'apache v2': 'Apache-2.0',
  'apache v2.0': 'Apache-2.0',
  'apache license 2.0': 'Apache-2.0',
  'apache license v2.0': 'Apache-2.0',
  'apache license version 2.0': 'Apache-2.0',
  'apache license, version 2.0': 'Apache-2.0',
  'asl 2.0': 'Apache-2.0',
  'bsd 2-clause': 'BSD-2-Clause',
  '2-clause bsd': 'BSD-2-Clause',
  'bsd 3-clause': 'BSD-3-Clause',
  '3-clause bsd': 'BSD-3-Clause',
  'isc license': 'ISC',
  'mit license': 'MIT',
  'the mit license': 'MIT',
  'mozilla public license 2.0': 'MPL-2.0',
  'mpl 2.0': 'MPL-2.0',
};

let identifiers: Map<string, string> | undefined;

/** SPDX identifiers by their lower-case form. */
function identifiersByLowerCase(): ReadonlyMap<string, string> {
  if (identifiers === undefined) {
    const list: readonly string[] = createRequire(import.meta.url)('spdx-license-ids');
    identifiers = new Map(list.map((identifier) => [identifier.toLowerCase(), identifier]));
  }
  return identifiers;
}

export function licenseIdentifiers(): string[] {
  return [...identifiersByLowerCase().values()];
}

/**
 * Returns the SPDX identifier of a license in another spelling. Undefined if the spelling is correct or ambiguous: then
 * lint suggests one.
 */
export function normalizeLicense(license: string): string | undefined {
  if (license.length > 100) return undefined;
  const lower = license.trim().toLowerCase().replace(/\s+/g, ' ');
  const known = Object.hasOwn(SPELLINGS, lower) ? SPELLINGS[lower] : identifiersByLowerCase().get(lower);
  return known === license ? undefined : known;
}
