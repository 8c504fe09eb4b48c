import type { Tone } from '../parts/label.js';

/** A badge: a label on the left, and a fact on the right. */
export interface Badge {
  label: string;
  message: string;
  tone: Tone;
}

/** Pixels. */
const HEIGHT = 20;
const FONT_SIZE = 11;
const PADDING = 6;
/** Maximum UTF-16 code units of each side. A release has up to 128 characters. */
const MAX_TEXT = 40;

/** White text on each of these has a contrast of at least 4.5:1 (WCAG 2.2, 1.4.3). */
const COLORS: Record<Tone, string> = {
  plain: '#54616a',
  good: '#1c6932',
  warning: '#8a5300',
  danger: '#a02019',
};
const LABEL_COLOR = '#2b3439';

/** Advance widths of U+0020 to U+007E in DejaVu Sans, in thousandths of the font size. Verdana is almost as wide. */
const WIDTHS = [
  318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636,
  636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295,
  295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838,
  500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521,
  392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
];
const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/**
 * Draws a badge as SVG. Texts are measured with a table, and `textLength` fits them where the font differs. The image
 * has no script, no style, and no link.
 */
export function badgeImage({ label, message, tone }: Badge): string {
  const left = fitted(label);
  const right = fitted(message);
  const leftWidth = left.width + 2 * PADDING;
  const width = leftWidth + right.width + 2 * PADDING;
  const title = `${left.text}: ${right.text}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${HEIGHT}" viewBox="0 0 ${width} ${HEIGHT}" role="img" aria-label="${title}">
<title>${title}</title>
<clipPath id="r"><rect width="${width}" height="${HEIGHT}" rx="3"/></clipPath>
<g clip-path="url(#r)"><rect width="${leftWidth}" height="${HEIGHT}" fill="${LABEL_COLOR}"/><rect x="${leftWidth}" width="${width - leftWidth}" height="${HEIGHT}" fill="${COLORS[tone]}"/></g>
<g fill="#fff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="${FONT_SIZE}">
<text x="${PADDING}" y="14" textLength="${left.width}" lengthAdjust="spacingAndGlyphs">${left.text}</text>
<text x="${leftWidth + PADDING}" y="14" textLength="${right.width}" lengthAdjust="spacingAndGlyphs">${right.text}</text>
</g>
</svg>
`;
}

/** Returns a text for XML, and its width in whole pixels. Characters outside of printable ASCII become `?`. */
function fitted(text: string): { text: string; width: number } {
  const plain = text.replace(/[^ -~]/gu, '?');
  const cut = plain.length <= MAX_TEXT ? plain : `${plain.slice(0, MAX_TEXT - 3)}...`;
  const thousandths = [...cut].reduce((sum, character) => sum + WIDTHS[character.charCodeAt(0) - 32]!, 0);
  return {
    text: cut.replace(/[&<>"]/g, (character) => ESCAPES[character]!),
    width: Math.ceil((thousandths * FONT_SIZE) / 1_000),
  };
}
