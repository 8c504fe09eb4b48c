/**
 * The settings of a package: which releases of the functions of catalogs it accepts.
 *
 * @module
 */

import { matchesGlob } from '@krmhub/schema/names/glob';

/** Name of the file, beside the kustomization, Composition, or Kptfile of the package. */
export const SETTINGS_FILE = 'krmhub.yaml';
export const SETTINGS_API_VERSION = 'krmhub.dev/v1alpha1';
export const SETTINGS_KIND = 'PackageSettings';

/** Annotation of a functionConfig with the range of its releases. It takes precedence over the settings. */
export const RELEASE_ANNOTATION = 'krmhub.dev/release';

/** Limits on settings: the unit and the reason for each. */
export const SETTINGS_LIMITS = {
  /** Size of the file. A function takes about 50 bytes. */
  maxSettingsBytes: 262_144,
  /** Functions with a range. Large packages use dozens. */
  maxRanges: 1_000,
  /** Groups without a minimum age. */
  maxExempt: 100,
  /** Length of a text, in UTF-16 code units. */
  maxSettingLength: 500,
} as const;

/** The releases of a function that a package accepts. */
export interface AcceptedReleases {
  /** Absent for every group. */
  group?: string;
  kind: string;
  /** As written, for example `~1.2`. */
  range: string;
}

/** How long a release must be published before it is used. */
export interface MinAge {
  seconds: number;
  /** As written, for example `72h`. */
  text: string;
}

export interface PackageSettings {
  functions: AcceptedReleases[];
  minAge?: MinAge;
  /** Globs of the groups for which `minAge` does not count. */
  exempt: string[];
}

/** What a release of one function must satisfy. */
export interface ReleaseRule {
  /** As written. */
  range?: string;
  minAge?: MinAge;
}

/**
 * Returns what a release of a function must satisfy; undefined for nothing. `written` is the range in the annotation of
 * a functionConfig, which takes precedence. An entry with the group takes precedence over one without.
 */
export function releaseRule(
  settings: PackageSettings | undefined,
  { group, kind }: { group: string; kind: string },
  written?: string,
): ReleaseRule | undefined {
  const { functions = [], exempt = [], minAge } = settings ?? {};
  const named = functions.filter((one) => one.kind === kind);
  const range =
    written ??
    (named.find((one) => one.group === group) ?? named.find((one) => one.group === undefined))?.range;
  const isExempt = exempt.some((glob) => matchesGlob(glob, group));
  const rule: ReleaseRule = {};
  if (range !== undefined) rule.range = range;
  if (minAge !== undefined && !isExempt) rule.minAge = minAge;
  return rule.range === undefined && rule.minAge === undefined ? undefined : rule;
}
