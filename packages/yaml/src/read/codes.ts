import { type CodeEntry, error, warning } from '../code-entry.js';

export type { CodeEntry };

/** The codes of YAML errors and warnings. */
export const YAML_CODES = {
  'yaml/encoding': error('The file is not UTF-8 text.', 'Save the file as UTF-8.'),
  'yaml/control-character': error(
    'The text has a control character, or a line break that parsers read differently.',
    'Remove the character, or use its escape in a double-quoted string.',
  ),
  'yaml/empty': error(
    'The file contains no document.',
    'Add a document, or remove the file from the command.',
  ),
  'yaml/too-large': error('The file is larger than the limit.', 'Split the file.'),
  'yaml/too-deep': error('Lists and mappings exceed the nesting limit.', 'Reduce the nesting.'),
  'yaml/too-many-keys': error('A mapping has more keys than the limit.', 'Split the mapping.'),
  'yaml/too-many-aliases': error(
    'The aliases of a document expand to more nodes than the limit.',
    'Replace the aliases with their values.',
  ),
  'yaml/too-many-documents': error('The file contains more documents than the limit.', 'Split the file.'),
  'yaml/too-many-problems': error(
    'Some problems of the file are not listed.',
    'Fix the listed problems, and run `krmhub lint` again.',
  ),
  'yaml/syntax': error(
    'The text is not valid YAML.',
    'Check the indentation, quotes, and brackets near this position.',
  ),
  'yaml/duplicate-key': error('A mapping has the same key twice.', 'Remove or rename one of the two keys.'),
  'yaml/non-string-key': error(
    'A key is a number, a boolean, null, or a collection instead of a string.',
    'Put the key in quotes.',
  ),
  'yaml/merge-key': error(
    'A mapping uses the merge key <<, which does not exist in YAML 1.2.',
    'Copy the merged fields into the mapping.',
  ),
  'yaml/tag': error('A value has a tag that is not in the YAML core schema.', 'Remove the tag.'),
  'yaml/directive': error(
    'The file has a % directive, which some parsers interpret differently.',
    'Remove the line.',
  ),
  'yaml/ambiguous-scalar': error(
    'YAML parsers interpret this unquoted value differently, for example parsers in Go.',
    'Add quotes if it is text. Otherwise, use true, false, or a decimal number.',
  ),
  'yaml/legacy-scalar': warning(
    'Some YAML 1.1 parsers interpret this unquoted value differently.',
    'Add quotes if it is text.',
  ),
  'yaml/integer-precision': error(
    'An integer is outside ±9007199254740991, the range that JSON parsers represent exactly.',
    'Add quotes if it is text, such as a digest. Otherwise, use a smaller number.',
  ),
  'yaml/not-finite': error(
    'A number is infinite or not a number, which JSON cannot represent.',
    'Add quotes if it is text. Otherwise, use a finite number.',
  ),
  'yaml/prototype-key': error('A key has the name __proto__.', 'Rename the key.'),
  'yaml/alias': error(
    'An alias has no anchor before it, or is inside its own anchor.',
    'Replace the alias with the value.',
  ),
} as const satisfies Record<string, CodeEntry>;

export type YamlCode = keyof typeof YAML_CODES;

/**
 * Problems that concern only the value that they are at: parsers read it differently, or not at all. What another tool
 * wrote for itself may have them.
 */
export const VALUE_CODES: ReadonlySet<string> = new Set<YamlCode>([
  'yaml/ambiguous-scalar',
  'yaml/duplicate-key',
  'yaml/integer-precision',
  'yaml/merge-key',
  'yaml/non-string-key',
  'yaml/not-finite',
  'yaml/tag',
]);
