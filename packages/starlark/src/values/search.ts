import type { Thread } from './thread.js';

/** The engine seeks parts up to this length in linear time; with longer ones it can take the product of the lengths. */
const MAX_NATIVE_LENGTH = 250;
/** Searches from the end, for which the engine takes the product of the lengths, that stay short. */
const MAX_NATIVE_PRODUCT = 10_000;
/** Characters that the engine compares in about the time of one step, and those that `seek` does. */
const NATIVE_PER_STEP = 16;
const CHARACTERS_PER_STEP = 4;
/** Characters compared between two counts of the steps. */
const BLOCK = 4096;

/** Returns where `part` first occurs in `text` at or after `from`, or -1. Counts the characters that it read. */
export function indexOfPart(text: string, part: string, from: number, thread: Thread | undefined): number {
  if (part.length > text.length - from) return -1;
  if (part.length > MAX_NATIVE_LENGTH) return seek(text, part, from, false, thread);
  const index = text.indexOf(part, from);
  thread?.step(((index < 0 ? text.length : index) - from) / NATIVE_PER_STEP);
  return index;
}

/** Returns where `part` last occurs in `text`, or -1. */
export function lastIndexOfPart(text: string, part: string, thread: Thread | undefined): number {
  if (part.length > text.length) return -1;
  if (text.length * part.length < MAX_NATIVE_PRODUCT) return text.lastIndexOf(part);
  return seek(text, part, 0, true, thread);
}

/**
 * Seeks a part by the algorithm of Knuth, Morris and Pratt, in time that grows with the sum of the lengths; `backward`
 * reads both texts from their ends.
 */
function seek(
  text: string,
  part: string,
  from: number,
  backward: boolean,
  thread: Thread | undefined,
): number {
  const { length } = part;
  thread?.step(length / CHARACTERS_PER_STEP);
  if (length > BLOCK) thread?.allocate(length * 4);
  const last = text.length - 1;
  const at = (index: number) => part.charCodeAt(backward ? length - 1 - index : index);
  /** For each prefix of the part, the length of the longest shorter prefix with which it ends. */
  const borders = new Int32Array(length);
  for (let index = 1, matched = 0; index < length; index++) {
    const code = at(index);
    while (matched > 0 && at(matched) !== code) matched = borders[matched - 1]!;
    if (at(matched) === code) matched++;
    borders[index] = matched;
  }
  let matched = 0;
  for (let index = from; index < text.length; ) {
    const end = Math.min(index + BLOCK, text.length);
    thread?.step((end - index) / CHARACTERS_PER_STEP);
    for (; index < end; index++) {
      const code = text.charCodeAt(backward ? last - index : index);
      while (matched > 0 && at(matched) !== code) matched = borders[matched - 1]!;
      if (at(matched) === code) matched++;
      if (matched === length) return backward ? last - index : index - length + 1;
    }
  }
  return -1;
}
