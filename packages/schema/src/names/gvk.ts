/**
 * API groups, versions, and kinds, and how names are compared, matched, and suggested.
 *
 * @module
 */

import { compareText } from './compare-text.js';

/**
 * Kubernetes version priority (apimachinery, "Version priority"): GA before beta before alpha, higher versions first,
 * other names last.
 */
export const KUBERNETES_VERSION_PATTERN = /^v(\d+)(?:(alpha|beta)(\d+))?$/;

/** Compares API versions, most preferred first: v2, v1, v1beta2, v1beta1, v1alpha1, other names. */
export function compareApiVersions(a: string, b: string): number {
  const left = rank(a);
  const right = rank(b);
  if (left === undefined && right === undefined) return compareText(a, b);
  if (left === undefined) return 1;
  if (right === undefined) return -1;
  for (let index = 0; index < left.length; index++) {
    const difference = right[index]! - left[index]!;
    if (difference !== 0) return difference;
  }
  // `v1` and `v01` have the same rank.
  return compareText(a, b);
}

function rank(version: string): [stability: number, major: number, minor: number] | undefined {
  const match = KUBERNETES_VERSION_PATTERN.exec(version);
  if (match === null) return undefined;
  const stability = match[2] === undefined ? 2 : match[2] === 'beta' ? 1 : 0;
  return [stability, Number(match[1]), Number(match[3] ?? 0)];
}

/** Reports whether a text is a DNS-1123 subdomain with at least two labels. */
export const GROUP_PATTERN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/;
export const MAX_GROUP_LENGTH = 253;
/** Reports whether a text is a kind: in lower case, it is a DNS-1035 label. */
export const KIND_PATTERN = /^[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?$/;
/** Reports whether a text is a DNS-1035 label. */
export const VERSION_PATTERN = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;

export function isGroup(text: string): boolean {
  return text.length <= MAX_GROUP_LENGTH && GROUP_PATTERN.test(text);
}

export function isKind(text: string): boolean {
  return KIND_PATTERN.test(text);
}

/** Reports whether a kind is written as those of Kubernetes are, such as `SetLabels`. */
export function isPascalCase(kind: string): boolean {
  return /^[A-Z][A-Za-z0-9]{0,62}$/.test(kind);
}

/** Returns `SetLabels` for `set-labels`; undefined if the result is not a valid kind. */
export function pascalCase(name: string): string | undefined {
  const kind = name
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
  return isPascalCase(kind) ? kind : undefined;
}

export function isApiVersionName(text: string): boolean {
  return VERSION_PATTERN.test(text);
}
