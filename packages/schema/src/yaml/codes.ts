import type { Severity } from '../diagnostics/diagnostic.js';

/** The meaning of a diagnostic code, as in docs/lint-rules.md. */
export interface CodeEntry {
  severity: Severity;
  summary: string;
  /** The fix, in one sentence. */
  fix: string;
}

/** The codes of YAML errors and warnings. */
export const YAML_CODES = {
  'yaml/encoding': {
    severity: 'error',
    summary: 'The file is not UTF-8 text.',
    fix: 'Save the file as UTF-8.',
  },
  'yaml/control-character': {
    severity: 'error',
    summary: 'The text has a control character, or a line break that parsers read differently.',
    fix: 'Remove the character, or use its escape in a double-quoted string.',
  },
  'yaml/empty': {
    severity: 'error',
    summary: 'The file contains no document.',
    fix: 'Add a document, or remove the file from the command.',
  },
  'yaml/too-large': {
    severity: 'error',
    summary: 'The file is larger than the limit.',
    fix: 'Split the file.',
  },
  'yaml/too-deep': {
    severity: 'error',
    summary: 'Lists and mappings exceed the nesting limit.',
    fix: 'Reduce the nesting.',
  },
  'yaml/too-many-keys': {
    severity: 'error',
    summary: 'A mapping has more keys than the limit.',
    fix: 'Split the mapping.',
  },
  'yaml/too-many-aliases': {
    severity: 'error',
    summary: 'The aliases of a document expand to more nodes than the limit.',
    fix: 'Replace the aliases with their values.',
  },
  'yaml/too-many-documents': {
    severity: 'error',
    summary: 'The file contains more documents than the limit.',
    fix: 'Split the file.',
  },
  'yaml/too-many-problems': {
    severity: 'error',
    summary: 'Some problems of the file are not listed.',
    fix: 'Fix the listed problems, and run `krmhub lint` again.',
  },
  'yaml/syntax': {
    severity: 'error',
    summary: 'The text is not valid YAML.',
    fix: 'Check the indentation, quotes, and brackets near this position.',
  },
  'yaml/duplicate-key': {
    severity: 'error',
    summary: 'A mapping has the same key twice.',
    fix: 'Remove or rename one of the two keys.',
  },
  'yaml/non-string-key': {
    severity: 'error',
    summary: 'A key is a number, a boolean, null, or a collection instead of a string.',
    fix: 'Put the key in quotes.',
  },
  'yaml/merge-key': {
    severity: 'error',
    summary: 'A mapping uses the merge key <<, which does not exist in YAML 1.2.',
    fix: 'Copy the merged fields into the mapping.',
  },
  'yaml/tag': {
    severity: 'error',
    summary: 'A value has a tag that is not in the YAML core schema.',
    fix: 'Remove the tag.',
  },
  'yaml/directive': {
    severity: 'error',
    summary: 'The file has a % directive, which some parsers interpret differently.',
    fix: 'Remove the line.',
  },
  'yaml/ambiguous-scalar': {
    severity: 'error',
    summary: 'YAML parsers interpret this unquoted value differently, for example parsers in Go.',
    fix: 'Add quotes if it is text. Otherwise, use true, false, or a decimal number.',
  },
  'yaml/legacy-scalar': {
    severity: 'warning',
    summary: 'Some YAML 1.1 parsers interpret this unquoted value differently.',
    fix: 'Add quotes if it is text.',
  },
  'yaml/integer-precision': {
    severity: 'error',
    summary: 'An integer is outside ±9007199254740991, the range that JSON parsers represent exactly.',
    fix: 'Add quotes if it is text, such as a digest. Otherwise, use a smaller number.',
  },
  'yaml/not-finite': {
    severity: 'error',
    summary: 'A number is infinite or not a number, which JSON cannot represent.',
    fix: 'Add quotes if it is text. Otherwise, use a finite number.',
  },
  'yaml/prototype-key': {
    severity: 'error',
    summary: 'A key has the name __proto__.',
    fix: 'Rename the key.',
  },
  'yaml/alias': {
    severity: 'error',
    summary: 'An alias has no anchor before it, or is inside its own anchor.',
    fix: 'Replace the alias with the value.',
  },
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
