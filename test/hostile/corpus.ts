import { DEFINITION_CASES } from './definition-cases.js';
import type { HostileCase } from './hostile-case.js';
import { SYNTAX_CASES } from './syntax-cases.js';
import { TEXT_CASES } from './text-cases.js';

export const CORPUS: readonly HostileCase[] = [...SYNTAX_CASES, ...TEXT_CASES, ...DEFINITION_CASES];

/** Characters that act on a terminal or reorder its text; only line feeds belong in output. */
export const UNSAFE_OUTPUT =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/u;

/** Returns the first unsafe character of a text, with its surroundings. */
export function firstUnsafe(text: string): string | undefined {
  const found = UNSAFE_OUTPUT.exec(text);
  return found === null
    ? undefined
    : JSON.stringify(text.slice(Math.max(0, found.index - 60), found.index + 20));
}

export function batches<T>(all: readonly T[], size: number): T[][] {
  const found: T[][] = [];
  for (let start = 0; start < all.length; start += size) found.push(all.slice(start, start + size));
  return found;
}
