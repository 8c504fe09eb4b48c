import {
  type Diagnostic,
  DOCUMENT_LIMITS,
  formatPath,
  type Path,
  type Range,
  type Severity,
} from '@krmhub/schema';

/** Limits on what is published beside those on documents: each with its unit. */
export const PUBLISH_LIMITS = {
  /** Size of one README. */
  maxReadmeBytes: 262_144,
  /** Length of a canonical release: it is also an OCI tag. */
  maxReleaseLength: 128,
  /** Length of a catalog entry, in UTF-16 code units. Deep nesting makes block YAML much longer than flow YAML. */
  maxEntryLength: 4 * DOCUMENT_LIMITS.maxDefinitionBytes,
} as const;

/** What publishing refuses beside what lint does. */
export const PUBLISH_CODES = {
  'publish/release': {
    severity: 'error',
    summary: 'The release is not a SemVer version without build metadata.',
    fix: 'Name the release like `1.2.3`, `v1.2` or `1.3.0-rc.1`.',
  },
  'publish/size': {
    severity: 'error',
    summary: 'The definition is larger than the limit.',
    fix: 'Shorten descriptions and examples in the schema, or link to them.',
  },
  'publish/media-type': {
    severity: 'error',
    summary: 'The media type is JSON, but the bytes are not valid JSON.',
    fix: 'Send the definition as `application/yaml`, or as valid JSON.',
  },
  'publish/one-definition': {
    severity: 'error',
    summary: 'The file does not contain exactly one KRMFunctionDefinition.',
    fix: 'Publish one definition per release; `krmhub publish` splits a catalog into its definitions.',
  },
  'publish/name-mismatch': {
    severity: 'error',
    summary: 'The group or kind of the definition differs from the one you publish to.',
    fix: 'Publish under the group and kind that the definition names, or correct the definition.',
  },
  'publish/kind-case': {
    severity: 'error',
    summary: 'The group has a function whose kind differs only by case.',
    fix: 'Use the spelling of the existing function, or choose another kind.',
  },
  'publish/entry-size': {
    severity: 'error',
    summary: 'The catalog entry of the definition would be larger than the limit.',
    fix: 'Nest the schema less deeply, and shorten long lists in it.',
  },
  'publish/readme-size': {
    severity: 'error',
    summary: 'The README is larger than the limit.',
    fix: 'Shorten the README, or link to what it includes.',
  },
  'publish/readme-encoding': {
    severity: 'error',
    summary: 'The README is not UTF-8.',
    fix: 'Save the README as UTF-8 text.',
  },
  'publish/breaking': {
    severity: 'error',
    summary:
      'Files written for the previous release are rejected or change their meaning. A warning in an alpha API version, or if you allow breaking changes.',
    fix: 'Make the change in a new API version and keep this one, or allow it with `--allow-breaking`.',
  },
  'publish/review': {
    severity: 'warning',
    summary:
      'Since the previous release, the permissions of the function or the meaning of files may have changed.',
    fix: 'Check that the change is intended, and announce it to users.',
  },
} as const satisfies Record<`publish/${string}`, { severity: Severity; summary: string; fix: string }>;

export type PublishCode = keyof typeof PUBLISH_CODES;

export function publishDiagnostic(
  code: PublishCode,
  file: string,
  message: string,
  path: Path = [],
  range?: Range,
  severity: Severity = PUBLISH_CODES[code].severity,
): Diagnostic {
  const { fix } = PUBLISH_CODES[code];
  return {
    code,
    severity,
    message,
    file,
    path: formatPath(path),
    ...(range === undefined ? {} : { range }),
    hint: fix,
  };
}
