import { describe, expect, it } from 'vitest';
import { IMAGE_TYPE_BYTES, imageType, readmeImagePath } from './readme-images.js';

const bytes = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));

describe('imageType', () => {
  it.each([
    ['\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'image/png'],
    ['\xff\xd8\xff\xe0\0\x10JFIF', 'image/jpeg'],
    ['GIF87a\x01\0', 'image/gif'],
    ['GIF89a\x01\0', 'image/gif'],
    ['RIFF\x24\0\0\0WEBPVP8 ', 'image/webp'],
    ['<svg xmlns="http://www.w3.org/2000/svg"/>', 'image/svg+xml'],
    ['\xef\xbb\xbf<?xml version="1.0"?>\n<!-- a -- b -->\n<svg\n width="1"/>', 'image/svg+xml'],
    ['<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "svg11.dtd"><svg>', 'image/svg+xml'],
  ])('knows %j', (text, type) => {
    expect(imageType(bytes(text))).toBe(type);
  });

  it.each([
    '',
    'PNG',
    '\x89PNG\n\x1a\n',
    '<html><svg></svg></html>',
    '<!doctype html><svg>',
    '<svgx>',
    '<script>alert(1)</script>',
    'RIFF\x24\0\0\0WAVEfmt ',
    '<!DOCTYPE svg [<!ENTITY a "aaaa">]><svg>&a;</svg>',
    '<!-- <svg> -->',
    '<!-- open <svg>',
    '{"mediaType": "image/png"}',
  ])('rejects %j', (text) => {
    expect(imageType(bytes(text))).toBeUndefined();
  });

  it('reads only the start of a file, in bounded time', () => {
    expect(imageType(bytes(`${' '.repeat(IMAGE_TYPE_BYTES)}<svg>`))).toBeUndefined();
    const before = process.cpuUsage();
    for (const start of ['<!---->', '<?a?>', '<!-- ', ' ', '<!DOCTYPE svg>', '<!--->'])
      imageType(bytes(start.repeat(IMAGE_TYPE_BYTES)));
    expect(process.cpuUsage(before).user).toBeLessThan(5_000_000);
  });
});

describe('readmeImagePath', () => {
  it.each([
    ['diagram.png', 'diagram.png'],
    ['./images//flow.svg', 'images/flow.svg'],
    ['images/a%20b.png?raw=true#dark', 'images/a b.png'],
    ['100%.png', '100%.png'],
  ])('of %s is %s', (address, path) => {
    expect(readmeImagePath(address)).toBe(path);
  });

  it.each([
    '',
    '#a',
    '.',
    '/a.png',
    '//example.com/a.png',
    'https://example.com/a.png',
    'data:image/png;base64,AA',
    'javascript%3Aalert(1)',
    '../a.png',
    'a/%2e%2e/b.png',
    'a\\b.png',
    `${'a'.repeat(201)}.png`,
  ])('does not exist for %s', (address) => {
    expect(readmeImagePath(address)).toBeUndefined();
  });
});
