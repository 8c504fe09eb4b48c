import { isOutside } from './outside.js';

/** What a parser reports of an invalid text, as YamlProblem has it. */
interface Reported {
  reason: string;
  range?: readonly [start: number, end: number] | undefined;
  opened?: number | undefined;
}

/** A bracket, brace, or quote that is not closed where a text is invalid. */
export interface Unclosed {
  /** Its offset. */
  opened: number;
  /** The bracket or brace of the other kind that is there instead. */
  wrongEnd: string | undefined;
}

const OPEN_QUOTE = /^found unexpected (?:end of stream|document indicator)$/;
const OPEN_FLOW = /^did not find expected (?:',' or '[\]}]'|node content)$/;
const CLOSING: Readonly<Record<string, string>> = { '[': ']', '{': '}' };

/** Returns what is not closed, if that is what is wrong. */
export function findUnclosed(
  { reason, range = [0, 1], opened }: Reported,
  text: string,
): Unclosed | undefined {
  if (opened === undefined) return undefined;
  const [start] = range;
  if (isOutside(reason) || OPEN_QUOTE.test(reason)) return { opened, wrongEnd: undefined };
  if (!OPEN_FLOW.test(reason)) return undefined;
  const character = text[start];
  if (character === undefined || isDocumentMark(text, start)) return { opened, wrongEnd: undefined };
  const isWrongEnd = (character === ']' || character === '}') && character !== CLOSING[text[opened]!];
  return isWrongEnd ? { opened, wrongEnd: character } : undefined;
}

/** Whether `---` or `...` is there, which ends a document. */
export function isDocumentMark(text: string, start: number): boolean {
  return (
    (start === 0 || text[start - 1] === '\n') && /^(?:---|\.\.\.)(?!\S)/.test(text.slice(start, start + 4))
  );
}

/** The row and column of an offset, from 1. */
export function placeOf(text: string, offset: number): { row: number; column: number } {
  const lines = text.slice(0, offset).split('\n');
  return { row: lines.length, column: lines.at(-1)!.length + 1 };
}
