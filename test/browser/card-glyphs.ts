import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { deflateSync } from 'node:zlib';
import { root } from '../running.js';
import { startChromium } from './chromium.js';

/**
 * Draws the glyphs of preview cards with the font DejaVu Sans, whose license permits it, into
 * apps/registry/assets/card-glyphs.bin. apps/registry/src/web/card/glyphs.ts describes the format. Run it with
 * `node test/contracts/run-source.mjs test/browser/card-glyphs.ts`.
 */
const FONTS = [
  ['bold 60px "DejaVu Sans"', 60],
  ['32px "DejaVu Sans"', 32],
] as const;

const DRAW = `(fonts) => fonts.map(([font, size]) => {
  const canvas = document.createElement('canvas');
  const context = canvas.getContext('2d', { willReadFrequently: true });
  context.font = font;
  const height = Math.ceil(size * 1.25);
  const letters = Array.from({ length: 95 }, (_, index) => String.fromCharCode(index + 32));
  const widths = letters.map((letter) => Math.round(context.measureText(letter).width));
  canvas.width = widths.reduce((a, b) => a + b, 0);
  canvas.height = height;
  context.font = font;
  context.fillRect(0, 0, canvas.width, height);
  context.fillStyle = '#fff';
  let x = 0;
  for (const [index, letter] of letters.entries()) {
    context.save();
    context.beginPath();
    context.rect(x, 0, widths[index], height);
    context.clip();
    context.fillText(letter, x, size);
    context.restore();
    x += widths[index];
  }
  const { data } = context.getImageData(0, 0, canvas.width, height);
  return { widths, height, alpha: Array.from({ length: data.length / 4 }, (_, at) => data[at * 4] >> 4) };
})`;

const browser = await startChromium();
const page = await browser.newPage();
const drawn = (await page.evaluate(`(${DRAW})(${JSON.stringify(FONTS)})`)) as {
  widths: number[];
  height: number;
  alpha: number[];
}[];
await browser.close();
const parts = drawn.flatMap(({ widths, height, alpha }) => {
  const bytes = new Uint8Array(Math.ceil(alpha.length / 2));
  for (const [at, value] of alpha.entries()) bytes[at >> 1]! |= at % 2 === 0 ? value << 4 : value;
  return [Buffer.from([height, ...widths]), Buffer.from(bytes)];
});
const file = path.join(root, 'apps/registry/assets/card-glyphs.bin');
writeFileSync(file, deflateSync(Buffer.concat(parts), { level: 9 }));
console.log(file);
