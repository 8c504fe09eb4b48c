import {
  type Diagnostic,
  DOCUMENT_LIMITS,
  formatPath,
  type Path,
  type Range,
  type Severity,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { type CodeEntry, error, warning } from '@krmhub/yaml/code-entry';

/** Limits on publishing, with their units. */
export const PUBLISH_LIMITS = {
  /** Size of the notes of a release, in bytes: pages and feeds show those of many releases. */
  maxNotesBytes: 65_536,
  /** Size of one README. */
  maxReadmeBytes: 262_144,
  /** Length of a canonical release, which is also an OCI tag. */
  maxReleaseLength: 128,
  /** Length of a catalog entry, in UTF-16 code units. Deep nesting makes block YAML much longer than flow YAML. */
  maxEntryLength: 4 * DOCUMENT_LIMITS.maxDefinitionBytes,
} as const;

/** The codes of publish errors, in addition to lint. */
export const PUBLISH_CODES = {
  'publish/release': error(
    'The release is not a SemVer version without build metadata.',
    'Use a release such as `1.2.3`, `v1.2`, or `1.3.0-rc.1`.',
  ),
  'publish/size': error(
    'The definition is larger than the limit.',
    'Shorten the descriptions and examples in the schema, or move them to the `usage` document.',
  ),
  'publish/media-type': error(
    'The media type is JSON, but the bytes are not valid JSON.',
    'Send the definition as `application/yaml`, or as valid JSON.',
  ),
  'publish/one-definition': error(
    'The file does not contain exactly one KRMFunctionDefinition.',
    'Publish one definition per release. `krmhub publish` splits a catalog into its definitions.',
  ),
  'publish/name-mismatch': error(
    'The group or kind of the definition differs from the group or kind in the request.',
    'Publish to the group and kind of the definition, or correct the definition.',
  ),
  'publish/kind-case': error(
    'The group has a function with a kind that differs only in case.',
    'Use the case of the existing kind, or another kind.',
  ),
  'publish/entry-size': error(
    'The catalog entry of the definition would be larger than the limit.',
    'Reduce the nesting of the schema, and shorten long lists in it.',
  ),
  'publish/readme-size': error(
    'The README is larger than the limit.',
    'Shorten the README. Link to long sections instead.',
  ),
  'publish/readme-encoding': error('The README is not UTF-8.', 'Save the README as UTF-8 text.'),
  'publish/readme-placeholder': warning(
    'The README still has the sentence from `krmhub init` in place of a description.',
    'Describe the function. A published release does not change, so publish the README with the next one.',
  ),
  'publish/breaking': error(
    'Files for the previous release are rejected, or their meaning changes. This is a warning in an alpha API version, or if you allow breaking changes.',
    'Keep this API version and add a new one with the change, or publish with `--allow-breaking`.',
  ),
  'publish/review': warning(
    'The permissions of the function or the meaning of files may differ from the previous release.',
    'Check that you want the change, and announce it to users.',
  ),
  'publish/similar-kind': warning(
    'A new kind differs from another kind of its group in one character.',
    'Check the spelling. To publish a release of the other function, use its kind.',
  ),
} as const satisfies Record<`publish/${string}`, CodeEntry>;

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
    ...defined({ range }),
    hint: fix,
  };
}
