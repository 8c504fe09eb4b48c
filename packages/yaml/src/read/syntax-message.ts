const BY_CODE: Record<string, string> = {
  ALIAS_PROPS: 'an alias may have neither an anchor nor a tag',
  BAD_ALIAS: 'an anchor or alias has no name',
  BAD_DQ_ESCAPE: 'this escape does not exist in double-quoted strings',
  BAD_INDENT: 'the indentation does not match the surrounding lines',
  BAD_PROP_ORDER: 'an anchor or tag is before an indicator instead of after it',
  BAD_SCALAR_START: 'unquoted text may not begin with this character',
  BLOCK_AS_IMPLICIT_KEY: 'a mapping or list cannot begin here; text with a colon or dash requires quotes',
  BLOCK_IN_FLOW: 'an indented list or mapping cannot be inside [] or {}',
  KEY_OVER_1024_CHARS: 'a key has more than 1024 characters',
  MULTILINE_IMPLICIT_KEY: 'a key must be on one line and end with a colon',
  MULTIPLE_ANCHORS: 'a value can have only one anchor',
  MULTIPLE_TAGS: 'a value can have only one tag',
  RESOURCE_EXHAUSTION: 'the text is too complex to parse',
  TAB_AS_INDENT: 'a tab is used for indentation; YAML allows only spaces',
};

/** Parts of library messages for codes with several problems, specific ones first. */
const BY_MESSAGE: readonly [part: string, message: string][] = [
  ['Missing closing', 'a quoted string is not closed'],
  ['end with a }', 'a mapping in braces is not closed with }'],
  ['end with a ]', 'a list in brackets is not closed with ]'],
  ['or : between', 'a comma or colon is missing'],
  ['Missing , between', 'a comma is missing between two items'],
  ['Missing space after :', 'a space is missing after the colon'],
  ['followed by map values', 'a key has no colon after it'],
  ['Sequence item without', 'a list item has no dash'],
  ['Comments must be separated', 'a comment needs a space before its #'],
  ['Tags and anchors must be separated', 'a tag or anchor needs a space after it'],
  ['on same line with directives-end', 'a list or mapping cannot begin on the line of ---'],
  ['Unexpected ,', 'extra comma'],
  ['Unexpected empty item', 'extra comma'],
  ['Block scalar header', 'only an indentation digit, + or - may follow | or >'],
  ['on same line with key', 'a list cannot begin on the line of its key'],
];

/** Returns a plain message for an error of the YAML library. */
export function describeSyntaxError(code: string, message: string): string {
  for (const [part, text] of BY_MESSAGE) if (message.includes(part)) return text;
  return BY_CODE[code] ?? 'unexpected token';
}
