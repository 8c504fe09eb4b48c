/** The kinds of tokens, as in the grammar of YAML 1.1. Numbers, because the parser compares them all the time. */
export const TOKEN = {
  streamStart: 0,
  streamEnd: 1,
  versionDirective: 2,
  tagDirective: 3,
  documentStart: 4,
  documentEnd: 5,
  blockSequenceStart: 6,
  blockMappingStart: 7,
  blockEnd: 8,
  flowSequenceStart: 9,
  flowSequenceEnd: 10,
  flowMappingStart: 11,
  flowMappingEnd: 12,
  blockEntry: 13,
  flowEntry: 14,
  key: 15,
  value: 16,
  alias: 17,
  anchor: 18,
  tag: 19,
  scalar: 20,
} as const;

export class Token {
  readonly type: number;
  /** The offset in the text. */
  readonly start: number;
  readonly row: number;
  /** Of a scalar, an anchor or an alias; the handle of a tag. */
  readonly value: string;
  /** The rest of a tag. */
  readonly suffix: string;
  /** Of a scalar: bits of STYLE. */
  readonly style: number;
  /** The offset behind it; of a block scalar, before its last line break. Tokens of no width have no meaningful end. */
  end: number;

  constructor(type: number, start: number, row: number, value = '', style = 0, suffix = '') {
    this.type = type;
    this.start = start;
    this.row = row;
    this.value = value;
    this.style = style;
    this.suffix = suffix;
    this.end = start + 1;
  }
}

/** A comment that waits for its node. Exactly one of `head`, `line` and `foot` is set. */
export interface Comment {
  /** The offset of the token that it belongs to. */
  token: number;
  start: number;
  startRow: number;
  startColumn: number;
  /** Where the search for it started. */
  scan: number;
  end: number;
  head: string;
  line: string;
  foot: string;
}
