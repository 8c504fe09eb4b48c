import { type CodeEntry, error, warning } from '@krmhub/yaml/code-entry';

/** The codes of errors in an Access document, in addition to YAML errors. */
export const ACCESS_CODES = {
  'access/document': error(
    'The file is not one Access document of `krmhub.dev/v1alpha1`.',
    'Begin it with `apiVersion: krmhub.dev/v1alpha1` and `kind: Access`, and use one document.',
  ),
  'access/missing-field': error('A required field is missing.', 'Add the field.'),
  'access/unknown-field': error(
    'The field does not exist in an Access document.',
    'Correct the spelling, or remove the field.',
  ),
  'access/wrong-type': error('The value has the wrong type.', 'Use a value of the type in the message.'),
  'access/limit': error('A text or a list exceeds its limit.', 'Shorten it.'),
  'access/name': error(
    'A name is not a DNS label, or is used twice.',
    'Use a unique name of at most 63 lower-case letters, digits, and dashes.',
  ),
  'access/pattern': error(
    'A pattern cannot match anything, or is used twice.',
    'Use a name such as `example.com`, or a pattern such as `*.example.com`.',
  ),
  'access/unknown-team': error('The team is not in `teams`.', 'Add the team, or correct the name.'),
  'access/value': error('The value is not one of the known ones.', 'Use a value that the message names.'),
  'access/wider': error(
    'A function has a wider visibility than its group.',
    'Make the group wider, and narrow its other functions.',
  ),
  'access/one-of': error(
    'A grant must be to one team, on one group, catalog, or repository.',
    'Set one of the fields, and write a grant for each other one.',
  ),
  'access/role': error(
    'A grant of `admin` or `audit` is not in the group `*`.',
    'Write `in: {group: "*"}`: the role is for the whole registry.',
  ),
  'access/member': warning(
    'A member of a team matches no user: it has no issuer.',
    'Write `user: "ISSUER SUBJECT"`, as `krmhub whoami` shows both to the user.',
  ),
} as const satisfies Record<`access/${string}`, CodeEntry>;

export type AccessCode = keyof typeof ACCESS_CODES;
