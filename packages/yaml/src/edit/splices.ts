import { Uneditable } from './uneditable.js';

/** Replaces the text from `start` up to `end`. */
export interface Splice {
  start: number;
  end: number;
  text: string;
}

/** Applies splices to a part of the text. They may not overlap. */
export function applySplices(text: string, splices: readonly Splice[], from = 0, to = text.length): string {
  const sorted = [...splices].sort((a, b) => a.start - b.start || a.end - b.end);
  let result = '';
  let at = from;
  for (const { start, end, text: replacement } of sorted) {
    // What is inserted into empty lines that go is behind them.
    const isInsertion = start === end;
    if ((start < at && !isInsertion) || end > to) throw new Uneditable('two changes overlap');
    result += text.slice(at, Math.max(start, at)) + replacement;
    at = Math.max(end, at);
  }
  return result + text.slice(at, to);
}
