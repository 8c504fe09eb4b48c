import type { CelFunc, CelMap } from '@bufbuild/cel';
import { loadCel } from '../../libraries/lazy-libraries.js';
import { tagged, untagged } from './tagged.js';

const VERSION =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-z-][\da-z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-z-][\da-z-]*))*))?(?:\+[\da-z-]+(?:\.[\da-z-]+)*)?$/i;

/**
 * The functions of Kubernetes for semantic versions. `compareTo`, `isLessThan`, and `isGreaterThan` are with those of
 * quantities.
 * https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-semver-library
 */
export function semverFunctions(): CelFunc[] {
  const { CelScalar, celFunc, celMethod, mapType } = loadCel();
  const { BOOL, DYN, INT, STRING } = CelScalar;
  const MAP = mapType(DYN, DYN);
  const read = (text: string) => {
    const version = parseVersion(text);
    if (version === undefined) throw new Error(`${JSON.stringify(text)} is not a semantic version`);
    return tagged('semver', version);
  };
  const given = (text: string, isLoose: boolean) => (isLoose ? normalized(text) : text);
  return [
    celFunc('isSemver', [STRING], BOOL, (text) => parseVersion(text) !== undefined),
    celFunc(
      'isSemver',
      [STRING, BOOL],
      BOOL,
      (text, loose) => parseVersion(given(text, loose)) !== undefined,
    ),
    celFunc('semver', [STRING], DYN, read),
    celFunc('semver', [STRING, BOOL], DYN, (text, loose) => read(given(text, loose))),
    ...['major', 'minor', 'patch'].map((name, index) =>
      celMethod(name, MAP, [], INT, function () {
        const version = readVersion(this);
        if (version === undefined) throw new Error('the value is not a semantic version');
        return BigInt(version.split(/[.-]/)[index]!);
      }),
    ),
  ];
}

/** Returns the version without its build, which has no order. */
export function readVersion(value: CelMap): string | undefined {
  return untagged('semver', value) as string | undefined;
}

function parseVersion(text: string): string | undefined {
  return VERSION.test(text) ? text.replace(/\+.*/, '') : undefined;
}

/** Removes `v` and leading zeros, and adds the numbers that are missing. */
function normalized(text: string): string {
  const [, numbers = '', rest = ''] = /^v?([^-+]*)(.*)$/s.exec(text) ?? [];
  const parts = numbers.split('.');
  if (parts.length > 3) return text;
  const padded = [...parts, '0', '0'].slice(0, 3);
  return padded.map((part) => part.replace(/^0+(?=\d)/, '')).join('.') + rest;
}
