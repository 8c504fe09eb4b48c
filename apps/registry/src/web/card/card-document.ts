import { versionFacts } from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';
import type { Derivation } from '../../workers/derive/derivation.js';
import { readDefinition, type StoredDefinition } from '../../workers/derive/stored-definition.js';
import type { Tone } from '../parts/label.js';
import { visibleText } from '../visible-text.js';
import { Canvas, type Color, fitText, textWidth, wrapText } from './canvas.js';
import { cardGlyphs } from './glyphs.js';

/** Pixels, as other sites expect them. */
export const CARD_SIZE = { width: 1_200, height: 630 } as const;

export interface CardFact {
  words: string;
  tone: Tone;
}

const PAPER: Color = [255, 255, 255];
const INK: Color = [26, 32, 35];
const QUIET: Color = [84, 97, 106];
const ACCENT: Color = [10, 99, 117];
const TONES: Record<Tone, Color> = {
  plain: QUIET,
  good: [28, 105, 50],
  warning: [117, 72, 0],
  danger: [160, 32, 25],
};
const MARGIN = 80;
const MAX_DESCRIPTION = 1_000;

/** The preview image of a function (`og:image`): its name, its description, and facts about the displayed release. */
export const FUNCTION_CARD: Derivation<{
  name: FunctionName;
  stored: StoredDefinition;
  facts: readonly CardFact[];
  site: string;
}> = {
  name: 'function-card',
  async derive(deps, { name, stored, facts, site }) {
    const definition = await readDefinition(deps, stored);
    const isPinned = versionFacts(definition).every(({ unpinned }) => unpinned.length === 0);
    const runs: CardFact = isPinned
      ? { words: 'runs: pinned', tone: 'good' }
      : { words: 'runs: can change', tone: 'warning' };
    const description = visibleText(definition.description.slice(0, MAX_DESCRIPTION));
    return drawCard({ ...name, description, facts: [...facts, runs], site });
  },
};

export function drawCard({
  group,
  kind,
  description,
  facts,
  site,
}: FunctionName & { description: string; facts: readonly CardFact[]; site: string }): Uint8Array {
  const { large, small } = cardGlyphs();
  const { width, height } = CARD_SIZE;
  const inside = width - 2 * MARGIN;
  const canvas = new Canvas(width, height, PAPER);
  canvas.fill(0, 0, 24, height, ACCENT);
  canvas.text(fitText(`${group}/`, inside, small), MARGIN, 70, small, QUIET);
  const isShort = textWidth(kind, large) <= inside;
  canvas.text(
    fitText(kind, inside, isShort ? large : small),
    MARGIN,
    isShort ? 118 : 130,
    isShort ? large : small,
    INK,
  );
  // Most characters of some languages have no glyph here.
  const isDrawable = description.replace(/[ -~]/g, '').length * 5 <= description.length;
  for (const [index, line] of (isDrawable ? wrapText(description, inside, small, 4) : []).entries()) {
    canvas.text(line, MARGIN, 225 + index * 46, small, INK);
  }
  let left = MARGIN;
  for (const { words, tone } of facts) {
    const text = fitText(words, 420, small);
    const boxWidth = textWidth(text, small) + 32;
    if (left + boxWidth > width - MARGIN) break;
    canvas.fill(left, 430, boxWidth, 60, TONES[tone]);
    canvas.text(text, left + 16, 440, small, PAPER);
    left += boxWidth + 20;
  }
  canvas.text(fitText(site, inside, small), MARGIN, 540, small, ACCENT);
  return canvas.png();
}
