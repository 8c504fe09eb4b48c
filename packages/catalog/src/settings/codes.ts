import { type CodeEntry, error } from '@krmhub/yaml/code-entry';

/** What is refused of the settings of a package beside what the YAML reader refuses. */
export const SETTINGS_CODES = {
  'settings/document': error(
    'The file does not contain exactly one PackageSettings of `krmhub.dev/v1alpha1`.',
    'Write one document with `apiVersion: krmhub.dev/v1alpha1` and `kind: PackageSettings`.',
  ),
  'settings/missing-field': error('A required field is missing.', 'Add the field.'),
  'settings/unknown-field': error('The field does not exist.', 'Correct or remove the field.'),
  'settings/wrong-type': error('The value has the wrong type.', 'Correct the value.'),
  'settings/limit': error('The file, a text, or a list exceeds its limit.', 'Remove what is not needed.'),
  'settings/name': error(
    'A group or a kind is not valid.',
    'Use a group such as `example.com` or `*.example.com`, and a kind such as `SetLabels`.',
  ),
  'settings/range': error('A range of releases is not valid.', 'Use an npm SemVer range such as `~1.2`.'),
  'settings/age': error(
    'The minimum age is not a duration.',
    'Use an integer with `s`, `m`, `h`, or `d`, such as `72h` or `3d`.',
  ),
  'settings/duplicate': error('A function appears twice.', 'Remove one of the two.'),
} as const satisfies Record<`settings/${string}`, CodeEntry>;

export type SettingsCode = keyof typeof SETTINGS_CODES;
