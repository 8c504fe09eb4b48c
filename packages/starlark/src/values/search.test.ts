import { describe, expect, it } from 'vitest';
import { indexOfPart, lastIndexOfPart } from './search.js';
import { Thread } from './thread.js';

/** Texts of two letters, in a fixed order that looks random: parts occur often, and overlap. */
function* texts(count: number, length: number): Generator<string> {
  let state = 1;
  for (let made = 0; made < count; made++) {
    let text = '';
    while (text.length < length) {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0;
      text += (state >>> 16) % 8 === 0 ? 'b' : 'a';
    }
    yield text;
  }
}

describe('search', () => {
  it('finds the first and the last place as the engine does, for long parts too', () => {
    for (const text of texts(40, 1200)) {
      const thread = new Thread();
      for (const length of [0, 1, 7, 250, 251, 300, 700, 1200]) {
        for (const start of [0, 33, 500, 1200 - length]) {
          const part = text.slice(start, start + length);
          for (const sought of [part, `${part}a`, `b${part}`]) {
            expect(indexOfPart(text, sought, 0, thread)).toBe(text.indexOf(sought));
            expect(lastIndexOfPart(text, sought, thread)).toBe(text.lastIndexOf(sought));
            const doubled = text + text;
            expect(indexOfPart(doubled, sought, 700, thread)).toBe(doubled.indexOf(sought, 700));
            expect(lastIndexOfPart(doubled, sought, thread)).toBe(doubled.lastIndexOf(sought));
          }
        }
      }
    }
  });

  it('counts steps that grow with the sum of the lengths', () => {
    const part = `b${'a'.repeat(100_000)}`;
    const text = `b${'a'.repeat(99_999)}c`.repeat(10);
    for (const find of [
      (thread: Thread) => indexOfPart(text, part, 0, thread),
      (thread: Thread) => lastIndexOfPart(text, part, thread),
    ]) {
      const thread = new Thread();
      expect(find(thread)).toBe(-1);
      expect(thread.steps).toBeGreaterThan(200_000);
      expect(thread.steps).toBeLessThan(400_000);
    }
  });
});
