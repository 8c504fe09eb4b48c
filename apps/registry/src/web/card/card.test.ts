import { crc32, inflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { textWidth, wrapText } from './canvas.js';
import { CARD_SIZE, drawCard } from './card-document.js';
import { cardGlyphs } from './glyphs.js';

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry({ config: { publicUrl: 'https://krm.example.com' } });
  await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
});
afterAll(() => registry.close());

/** Reads a PNG as decoders do: every checksum, then the pixels. */
function readPng(bytes: Uint8Array): { width: number; height: number; pixels: Uint8Array } {
  const png = Buffer.from(bytes);
  expect(png.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
  const data: Buffer[] = [];
  let size = { width: 0, height: 0 };
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const body = png.subarray(at + 4, at + 8 + length);
    expect(png.readUInt32BE(at + 8 + length)).toBe(crc32(body));
    const type = body.subarray(0, 4).toString('latin1');
    if (type === 'IHDR') size = { width: body.readUInt32BE(4), height: body.readUInt32BE(8) };
    if (type === 'IDAT') data.push(body.subarray(4));
    at += length + 12;
  }
  return { ...size, pixels: inflateSync(Buffer.concat(data)) };
}

describe('the preview image of a function', () => {
  it('is a PNG that its page names', async () => {
    const page = await registry.request('/functions/example.com/SetLabels', {
      headers: { Accept: 'text/html' },
    });
    const path = '/functions/example.com/SetLabels/card.png';
    expect(await page.text()).toContain(
      `<meta property="og:image" content="https://krm.example.com${path}"/>`,
    );
    const response = await registry.request(path);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png']);
    const { width, height, pixels } = readPng(new Uint8Array(await response.arrayBuffer()));
    expect({ width, height }).toEqual(CARD_SIZE);
    expect(pixels.length).toBe(height * (width * 3 + 1));
    const etag = response.headers.get('etag')!;
    expect((await registry.request(path, { headers: { 'If-None-Match': etag } })).status).toBe(304);
    expect((await registry.request('/functions/example.com/Nothing/card.png')).status).toBe(404);
  });

  it('shows different facts differently, and takes any text', () => {
    const card = { group: 'example.com', kind: 'SetLabels', description: 'Sets labels.', site: 'x.example' };
    const plain = drawCard({ ...card, facts: [{ words: '1.0.0', tone: 'plain' }] });
    const yanked = drawCard({ ...card, facts: [{ words: '1.0.0 yanked', tone: 'danger' }] });
    expect(plain).not.toEqual(yanked);
    const hostile = drawCard({
      group: 'x'.repeat(253),
      kind: 'W'.repeat(63),
      description: `\u202e漢字${'y'.repeat(1_000)} ${'z '.repeat(500)}`,
      facts: Array.from({ length: 20 }, () => ({ words: 'q'.repeat(300), tone: 'good' as const })),
      site: '\u0000'.repeat(300),
    });
    expect(readPng(hostile).height).toBe(CARD_SIZE.height);
  });

  it('breaks lines at words, and cuts the last one', () => {
    const { small } = cardGlyphs();
    const lines = wrapText('one two three four five six seven '.repeat(20), 500, small, 3);
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(textWidth(line, small)).toBeLessThanOrEqual(500);
    expect(lines[2]).toMatch(/\.\.\.$/);
    expect(wrapText('short', 500, small, 3)).toEqual(['short']);
  });
});
