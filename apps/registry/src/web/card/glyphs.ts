import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { inflateSync } from 'node:zlib';

/** The glyphs of U+0020 to U+007E in one size, side by side. */
export interface Glyphs {
  /** Pixels. */
  height: number;
  /** Pixels by glyph. */
  widths: Uint8Array;
  /** Left edge of each glyph. */
  starts: number[];
  /** Pixels of all glyphs side by side. */
  total: number;
  /** Opacity from 0 to 15 by row; two pixels in a byte, the left one in the upper half. */
  alpha: Uint8Array;
}

const COUNT = 95;
const FILE = fileURLToPath(new URL('../../../assets/card-glyphs.bin', import.meta.url));

let read: { large: Glyphs; small: Glyphs } | undefined;

/**
 * Returns the glyphs, drawn by test/browser/card-glyphs.ts. The file is compressed (zlib): for each size the height,
 * the widths, and the rows.
 */
export function cardGlyphs(): { large: Glyphs; small: Glyphs } {
  read ??= readGlyphs(inflateSync(readFileSync(FILE)));
  return read;
}

function readGlyphs(bytes: Uint8Array): { large: Glyphs; small: Glyphs } {
  let at = 0;
  const next = (): Glyphs => {
    const height = bytes[at]!;
    const widths = bytes.subarray(at + 1, at + 1 + COUNT);
    const starts: number[] = [];
    let total = 0;
    for (const width of widths) {
      starts.push(total);
      total += width;
    }
    const from = at + 1 + COUNT;
    at = from + Math.ceil((total * height) / 2);
    return { height, widths, starts, total, alpha: bytes.subarray(from, at) };
  };
  return { large: next(), small: next() };
}
