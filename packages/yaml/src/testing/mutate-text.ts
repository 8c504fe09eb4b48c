import type { Random } from './random.js';

/** Returns the text with one to three changes: a piece inserted, or up to three characters removed. */
export function mutateText(random: Random, original: string, pieces: readonly string[]): string {
  let text = original;
  for (let changes = random.below(3); changes >= 0; changes--) {
    const place = random.below(text.length + 1);
    const [before, after] = [text.slice(0, place), text.slice(place)];
    text = random.chance(0.5)
      ? before + random.pick(pieces) + after
      : before + after.slice(1 + random.below(3));
  }
  return text;
}
