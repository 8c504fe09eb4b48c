import { crc32, deflateSync } from 'node:zlib';
import type { Glyphs } from './glyphs.js';

export type Color = readonly [red: number, green: number, blue: number];

/** An image in memory with 8 bits for each color. */
export class Canvas {
  readonly #pixels: Uint8Array;

  constructor(
    readonly width: number,
    readonly height: number,
    background: Color,
  ) {
    this.#pixels = new Uint8Array(width * height * 3);
    this.fill(0, 0, width, height, background);
  }

  fill(x: number, y: number, width: number, height: number, color: Color): void {
    for (let row = y; row < Math.min(y + height, this.height); row += 1) {
      for (let column = x; column < Math.min(x + width, this.width); column += 1) {
        this.#pixels.set(color, (row * this.width + column) * 3);
      }
    }
  }

  /** Draws a text; other characters than printable ASCII become `?`. */
  text(text: string, x: number, y: number, glyphs: Glyphs, color: Color): void {
    let left = x;
    for (const index of glyphIndexes(text)) {
      this.#glyph(index, left, y, glyphs, color);
      left += glyphs.widths[index]!;
    }
  }

  #glyph(index: number, x: number, y: number, glyphs: Glyphs, color: Color): void {
    const width = Math.min(glyphs.widths[index]!, this.width - x);
    for (let row = 0; row < Math.min(glyphs.height, this.height - y); row += 1) {
      for (let column = 0; column < width; column += 1) {
        const at = row * glyphs.total + glyphs.starts[index]! + column;
        const pair = glyphs.alpha[at >> 1]!;
        const alpha = at % 2 === 0 ? pair >> 4 : pair & 15;
        if (alpha === 0) continue;
        const target = ((y + row) * this.width + x + column) * 3;
        for (let channel = 0; channel < 3; channel += 1) {
          const below = this.#pixels[target + channel]!;
          this.#pixels[target + channel] = below + ((color[channel]! - below) * alpha) / 15;
        }
      }
    }
  }

  /** Encodes the image as PNG (ISO/IEC 15948): RGB without filters. */
  png(): Uint8Array {
    const stride = this.width * 3;
    const rows = Buffer.alloc((stride + 1) * this.height);
    for (let row = 0; row < this.height; row += 1) {
      rows.set(this.#pixels.subarray(row * stride, (row + 1) * stride), row * (stride + 1) + 1);
    }
    const head = Buffer.alloc(13);
    head.writeUInt32BE(this.width, 0);
    head.writeUInt32BE(this.height, 4);
    head.set([8, 2, 0, 0, 0], 8);
    return Buffer.concat([
      Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
      chunk('IHDR', head),
      chunk('IDAT', deflateSync(rows)),
      chunk('IEND', Buffer.alloc(0)),
    ]);
  }
}

/** Width of a text in pixels. */
export function textWidth(text: string, { widths }: Glyphs): number {
  return glyphIndexes(text).reduce((sum, index) => sum + widths[index]!, 0);
}

/** Returns the text, with `...` at the end if it is wider. */
export function fitText(text: string, width: number, glyphs: Glyphs): string {
  if (textWidth(text, glyphs) <= width) return text;
  let end = text.length;
  while (end > 0 && textWidth(`${text.slice(0, end)}...`, glyphs) > width) end -= 1;
  return `${text.slice(0, end).trimEnd()}...`;
}

/** Breaks a text into lines; the last one is cut if more text follows. */
export function wrapText(text: string, width: number, glyphs: Glyphs, maxLines: number): string[] {
  const lines: string[] = [];
  const words = text.split(/\s+/).filter(Boolean);
  while (words.length > 0 && lines.length < maxLines) {
    let line = words.shift()!;
    while (words.length > 0 && textWidth(`${line} ${words[0]}`, glyphs) <= width) line += ` ${words.shift()}`;
    const isLast = lines.length === maxLines - 1 && words.length > 0;
    lines.push(fitText(isLast ? `${line} ${words.join(' ')}` : line, width, glyphs));
  }
  return lines;
}

function glyphIndexes(text: string): number[] {
  return [...text].map((character) => {
    const code = character.codePointAt(0)!;
    return (code >= 32 && code < 127 ? code : 63) - 32;
  });
}

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  framed.set(body, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}
