// Importing all of semver would load 40 files at every start of the command line.
import type { SemVer } from 'semver';
import compare from 'semver/functions/compare.js';
import parse from 'semver/functions/parse.js';

/**
 * Constraints on versions in the syntax of Masterminds/semver, which kpt reads: comparisons with `=`, `!=`, `>`, `<`,
 * `>=`, `<=`, `~`, `^`, ranges (`1.2 - 2.3`), wildcards (`1.x`, `*`), "and" as a space or comma, "or" as `||`.
 */
export interface VersionConstraint {
  /** Reports whether a version matches. Prereleases match only where the constraint names one. */
  matches(version: string): boolean;
}

type Operator = '=' | '!=' | '>' | '<' | '>=' | '<=' | '~' | '^';

interface Comparison {
  operator: Operator;
  version: SemVer;
  /** The first part that is a wildcard or missing. */
  open: 'major' | 'minor' | 'patch' | undefined;
}

const OPERATORS: Readonly<Record<string, Operator>> = {
  '': '=',
  '=': '=',
  '!=': '!=',
  '>': '>',
  '<': '<',
  '>=': '>=',
  '=>': '>=',
  '<=': '<=',
  '=<': '<=',
  '~': '~',
  '~>': '~',
  '^': '^',
};
const VERSION = String.raw`v?(?:\d+|[xX*])(?:\.(?:\d+|[xX*])){0,2}(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?`;
const RANGE = new RegExp(String.raw`(${VERSION})\s+-\s+(${VERSION})`, 'g');
const COMPARISON = new RegExp(String.raw`(=>|=<|~>|!=|>=|<=|[=><~^])?\s*(${VERSION})`, 'y');
const PARTS = /^v?(\d+|[xX*])(?:\.(\d+|[xX*]))?(?:\.(\d+|[xX*]))?(-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;
const MAX_LENGTH = 256;

/** Parses a version with or without `v`, whose minor and patch may be missing; undefined for other text. */
export function parseVersion(text: string): SemVer | undefined {
  const [, major, minor = '0', patch = '0', suffix = ''] =
    /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?((?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)$/.exec(text) ?? [];
  return (major === undefined ? undefined : parse(`${major}.${minor}.${patch}${suffix}`)) ?? undefined;
}

/** Parses a constraint; undefined for text that is none. */
export function parseConstraint(text: string): VersionConstraint | undefined {
  if (text.length > MAX_LENGTH || text.trim() === '') return undefined;
  const groups = text.replace(RANGE, '>=$1 <=$2').split('||').map(parseGroup);
  if (groups.includes(undefined)) return undefined;
  return {
    matches(version) {
      const parsed = parseVersion(version);
      return parsed !== undefined && groups.some((group) => isInGroup(parsed, group!));
    },
  };
}

/** Returns the newest tag that a constraint allows; undefined if none is. */
export function newestTag(tags: readonly string[], constraint: string): string | undefined {
  const parsed = parseConstraint(constraint);
  let newest: string | undefined;
  for (const tag of tags) {
    // As kpt: tags of builds and of digests are not versions, even where they look like one.
    if (tag.includes('-git-') || parsed?.matches(tag) !== true) continue;
    if (newest === undefined || compare(parseVersion(tag)!, parseVersion(newest)!) > 0) newest = tag;
  }
  return newest;
}

function parseGroup(text: string): Comparison[] | undefined {
  const comparisons: Comparison[] = [];
  const trimmed = text.trim();
  for (let at = 0; at < trimmed.length; ) {
    COMPARISON.lastIndex = at;
    const [all = '', operator = '', version = ''] = COMPARISON.exec(trimmed) ?? [];
    const comparison = all === '' ? undefined : parseComparison(OPERATORS[operator]!, version);
    if (comparison === undefined) return undefined;
    comparisons.push(comparison);
    at += all.length;
    const [separator = ''] = /^(?:\s*,\s*|\s+)/.exec(trimmed.slice(at)) ?? [];
    if (separator === '' && at < trimmed.length) return undefined;
    at += separator.length;
  }
  return comparisons.length === 0 ? undefined : comparisons;
}

function parseComparison(operator: Operator, text: string): Comparison | undefined {
  const [, major, minor, patch, pre = ''] = PARTS.exec(text) ?? [];
  const isOpen = (part: string | undefined) => part === undefined || /[xX*]/.test(part);
  const open = isOpen(major) ? 'major' : isOpen(minor) ? 'minor' : isOpen(patch) ? 'patch' : undefined;
  const numbers = {
    major: ['0', '0', '0'],
    minor: [major, '0', '0'],
    patch: [major, minor, '0'],
    none: [major, minor, patch],
  }[open ?? 'none'];
  const version = parse(`${numbers.join('.')}${pre}`);
  return version === null ? undefined : { operator, version, open };
}

function isInGroup(version: SemVer, group: readonly Comparison[]): boolean {
  const allowsPrerelease = group.some((one) => one.version.prerelease.length > 0);
  if (version.prerelease.length > 0 && !allowsPrerelease) return false;
  return group.every((comparison) => isMatch(version, comparison));
}

function isMatch(version: SemVer, { operator, version: bound, open }: Comparison): boolean {
  const order = compare(version, bound);
  switch (operator) {
    case '=':
      return isWithin(version, bound, open);
    case '!=':
      return !isWithin(version, bound, open);
    case '>':
      return order > 0 && (open === 'major' || !isWithin(version, bound, open));
    case '<':
      return order < 0;
    case '>=':
      return order >= 0;
    case '<=':
      return order <= 0 || isWithin(version, bound, open);
    case '~':
      return order >= 0 && isWithin(version, bound, open ?? 'patch');
    case '^':
      return order >= 0 && isWithin(version, bound, caretEnd(bound, open));
  }
}

/** The first part that may differ below `^`: the one right of the first that is not 0. */
function caretEnd({ major, minor }: SemVer, open: Comparison['open']): Comparison['open'] {
  if (open === 'major') return 'major';
  if (open === 'minor' || major > 0) return 'minor';
  return open === 'patch' || minor > 0 ? 'patch' : undefined;
}

/** Reports whether a version has the parts of another one that are left of `open`; without it, is the same. */
function isWithin(version: SemVer, bound: SemVer, open: Comparison['open']): boolean {
  if (open === undefined) return compare(version, bound) === 0;
  if (open === 'major') return true;
  return version.major === bound.major && (open === 'minor' || version.minor === bound.minor);
}
