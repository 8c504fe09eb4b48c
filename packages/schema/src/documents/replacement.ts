/** What to use instead of a deprecated release. */
export interface Replacement {
  group: string;
  kind: string;
  /** Range of releases (npm semver). Absent for any release. */
  releases?: string;
}

/** Formats a replacement, for example `example.com/SetAll@^2.0.0`. */
export function formatReplacement({ group, kind, releases }: Replacement): string {
  return `${group}/${kind}${releases === undefined ? '' : `@${releases}`}`;
}

/** Returns the reason of a deprecation for which nobody gave one, for example `use example.com/SetAll@^2.0.0`. */
export function replacementReason(replacement: Replacement): string {
  return `use ${formatReplacement(replacement)}`;
}
