import type { Severity } from '../diagnostics/diagnostic.js';

/** What a diagnostic code means; the source of its entry in docs/lint-rules.md. */
export interface CodeEntry {
  severity: Severity;
  summary: string;
  /** What the author does about it, in one sentence. */
  fix: string;
}

/** Everything that the YAML gateway refuses or warns of. */
export const YAML_CODES = {
  'yaml/encoding': {
    severity: 'error',
    summary: 'The file is not UTF-8 text.',
    fix: 'Save the file as UTF-8.',
  },
  'yaml/control-character': {
    severity: 'error',
    summary: 'The text has a control character, or a line break that readers interpret differently.',
    fix: 'Remove the character, or write it as an escape in a double-quoted string.',
  },
  'yaml/empty': {
    severity: 'error',
    summary: 'The file contains no document.',
    fix: 'Write a document, or leave the file out.',
  },
  'yaml/too-large': {
    severity: 'error',
    summary: 'The file is larger than the limit.',
    fix: 'Split the file.',
  },
  'yaml/too-deep': {
    severity: 'error',
    summary: 'Lists and mappings are nested deeper than the limit.',
    fix: 'Nest less deeply.',
  },
  'yaml/too-many-keys': {
    severity: 'error',
    summary: 'A mapping has more keys than the limit.',
    fix: 'Split the mapping.',
  },
  'yaml/too-many-aliases': {
    severity: 'error',
    summary: 'The aliases of a document expand to more nodes than the limit.',
    fix: 'Write out the values instead of using aliases.',
  },
  'yaml/too-many-documents': {
    severity: 'error',
    summary: 'The file contains more documents than the limit.',
    fix: 'Split the file.',
  },
  'yaml/too-many-problems': {
    severity: 'error',
    summary: 'The file has more problems than are listed.',
    fix: 'Fix the problems above and try again.',
  },
  'yaml/syntax': {
    severity: 'error',
    summary: 'The text is not YAML.',
    fix: 'Check the indentation, the quotes and the brackets near this position.',
  },
  'yaml/duplicate-key': {
    severity: 'error',
    summary: 'A mapping has the same key twice.',
    fix: 'Remove or rename one of the two keys.',
  },
  'yaml/non-string-key': {
    severity: 'error',
    summary: 'A key is a number, a boolean, null or a collection instead of a string.',
    fix: 'Put the key in quotes.',
  },
  'yaml/merge-key': {
    severity: 'error',
    summary: 'A mapping uses the merge key <<, which YAML 1.2 does not have.',
    fix: 'Write the merged fields out.',
  },
  'yaml/tag': {
    severity: 'error',
    summary: 'A value has a tag other than the seven of the YAML core schema.',
    fix: 'Remove the tag.',
  },
  'yaml/directive': {
    severity: 'error',
    summary: 'The file has a % directive, which changes how some readers understand it.',
    fix: 'Remove the line.',
  },
  'yaml/ambiguous-scalar': {
    severity: 'error',
    summary: 'YAML readers, including Go readers, disagree about this unquoted value.',
    fix: 'Put it in quotes if it is text; otherwise write true, false or a plain decimal number.',
  },
  'yaml/legacy-scalar': {
    severity: 'warning',
    summary: 'Some YAML 1.1 readers interpret this unquoted value differently.',
    fix: 'Put it in quotes if it is text.',
  },
  'yaml/integer-precision': {
    severity: 'error',
    summary: 'An integer is beyond ±9007199254740991, which JSON readers cannot represent exactly.',
    fix: 'Put it in quotes if it is text, such as a digest; otherwise use a smaller number.',
  },
  'yaml/not-finite': {
    severity: 'error',
    summary: 'A number is infinite or not a number, which JSON cannot represent.',
    fix: 'Put it in quotes if it is text; otherwise use a finite number.',
  },
  'yaml/prototype-key': {
    severity: 'error',
    summary: 'A key is named __proto__.',
    fix: 'Rename the key.',
  },
  'yaml/alias': {
    severity: 'error',
    summary: 'An alias names no anchor before it, or is inside its own anchor.',
    fix: 'Write the value out instead of using an alias.',
  },
} as const satisfies Record<string, CodeEntry>;

export type YamlCode = keyof typeof YAML_CODES;
