import type { YamlProblem } from '../parse/invalid.js';
import { isOutside } from '../parse/outside.js';
import { findUnclosed, isDocumentMark, placeOf } from '../parse/unclosed.js';
import type { Offsets } from './locate.js';

const TAB = 'a tab is used for indentation; YAML allows only spaces';
const NESTED = 'a mapping or list cannot begin here; text with a colon or dash requires quotes';
const ESCAPE = 'this escape does not exist in double-quoted strings';
const QUOTE = 'a quoted string is not closed';
const LIST = 'a list in brackets is not closed with ]';
const MAPPING = 'a mapping in braces is not closed with }';
const UNCLOSED: Readonly<Record<string, { open: string; closed: string }>> = {
  '[': { open: LIST, closed: 'a list in brackets is closed' },
  '{': { open: MAPPING, closed: 'a mapping in braces is closed' },
};
const OR_INDENTATION = ', or a line in it is not indented';
const BLOCK_HEADER = 'only an indentation digit, + or - may follow | or >';
const PROPERTY = 'a tag or anchor needs a space after it';
const NO_COLON = 'a key has no colon after it';
const LONG_KEY = 'a key has more than 1024 characters';
const INDENTATION = 'the indentation does not match the surrounding lines';
const ON_MARKER = 'a list or mapping cannot begin on the line of ---';
const LINES_OF_KEY = 'a key must be on one line and end with a colon';

/** What go-yaml says of what it cannot scan, in plainer words. */
const BY_REASON: Readonly<Record<string, string>> = {
  'found a tab character that violates indentation': TAB,
  'found a tab character where an indentation space is expected': TAB,
  'mapping keys are not allowed in this context': NESTED,
  'did not find expected alphabetic or numeric character': 'an anchor or alias has no name',
  'found unknown escape character': ESCAPE,
  'did not find expected hexdecimal number': ESCAPE,
  'found invalid Unicode character escape code': ESCAPE,
  'did not find expected comment or line break': BLOCK_HEADER,
  'found an indentation indicator equal to 0': BLOCK_HEADER,
  'did not find expected whitespace or line break': PROPERTY,
  "did not find expected '-' indicator": 'a list item has no dash',
};
/** Other reasons of go-yaml explain nothing to those who do not know its states. */
const UNEXPLAINED = /^(?:did not find|found)/;

/** Parsers search for the colon of a key in this many characters. */
const MAX_KEY_LENGTH = 1_024;

/** The code, the message, and the offsets of a syntax error in the text. */
export function describeSyntaxError(
  problem: YamlProblem,
  text: string,
): { code: 'yaml/syntax' | 'yaml/non-string-key'; message: string; offsets: Offsets } {
  const { reason, range = [0, 1] } = problem;
  const [start, end] = range;
  const before = text.slice(text.lastIndexOf('\n', start - 1) + 1, start);
  const isFirst = /^ *$/.test(before);
  const character = text[start];
  const at = (message: string, offsets = range) => ({ code: 'yaml/syntax', message, offsets }) as const;
  const unclosed = findUnclosed(problem, text);
  if (unclosed !== undefined) {
    const { opened, wrongEnd } = unclosed;
    const isUnindented = isOutside(reason) && !isDocumentMark(text, start);
    const { open, closed } = UNCLOSED[text[opened] ?? ''] ?? { open: QUOTE, closed: '' };
    // It is named where it was opened: behind it can be many lines.
    const place = text.slice(opened, start).includes('\n') ? ` in line ${placeOf(text, start).row}` : '';
    const message =
      wrongEnd === undefined
        ? open
        : `${closed} with ${wrongEnd}${place}, not with ${wrongEnd === ']' ? '}' : ']'}`;
    return at(message + (isUnindented ? OR_INDENTATION : ''), [opened, opened + 1]);
  }
  const emptyKey = {
    code: 'yaml/non-string-key',
    message: 'an empty key is not a string',
    offsets: range,
  } as const;
  switch (reason) {
    case 'found character that cannot start any token':
      return at(character === '\t' ? TAB : 'unquoted text may not begin with this character');
    case "could not find expected ':'": {
      const line = text.slice(start, start + MAX_KEY_LENGTH + 1).split('\n', 1)[0]!;
      return at(line.length > MAX_KEY_LENGTH ? LONG_KEY : NO_COLON, [start, start + line.length]);
    }
    case 'mapping values are not allowed in this context':
      if (end - start > MAX_KEY_LENGTH) return at(LONG_KEY);
      if (before.startsWith('---')) return at(ON_MARKER);
      if (before.endsWith('\t')) return at(TAB);
      return at(text.slice(start, end).includes('\n') && !/: +$/.test(before) ? LINES_OF_KEY : NESTED);
    case 'block sequence entries are not allowed in this context':
      if (before.startsWith('---')) return at(ON_MARKER);
      if (before.endsWith('\t')) return at(TAB);
      return at(/: +$/.test(before) ? 'a list cannot begin on the line of its key' : NESTED);
    case 'did not find expected key':
      if (character === ':') return emptyKey;
      if (isFirst) return at(INDENTATION, [start - before.length, start]);
      return at(unexpected(character));
    case "did not find expected ',' or ']'":
    case "did not find expected ',' or '}'": {
      const isList = reason.endsWith("']'");
      const where = isFirst ? 'before this line' : 'between two items';
      return at(`a comma is missing ${where}${isFirst ? `, or ${isList ? LIST : MAPPING}` : ''}`);
    }
    case 'did not find expected node content':
      return character === ':' ? emptyKey : at(unexpected(character));
    default:
      return at(BY_REASON[reason] ?? (UNEXPLAINED.test(reason) ? 'unexpected token' : reason));
  }
}

function unexpected(character: string | undefined): string {
  switch (character) {
    case ',':
      return 'extra comma';
    case '*':
      return 'an alias may have neither an anchor nor a tag';
    case '&':
      return 'a value can have only one anchor';
    case '!':
      return 'a value can have only one tag';
    default:
      return 'unexpected token';
  }
}
