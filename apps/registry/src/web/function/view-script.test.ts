import { sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import { readShownPart, SCRIPT_LIMITS, viewScript } from './view-script.js';

const { maxBytes, maxLines } = SCRIPT_LIMITS;

function createView(content: string | Uint8Array) {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
  return viewScript({ size: bytes.byteLength, bytes: bytes.subarray(0, maxBytes) });
}

describe('viewScript', () => {
  it('lists the modules with the names that the script takes', () => {
    const view = createView(
      'load("encoding/json.star", "json")\nload("re.star", "re", find="findall")\nload("encoding/json.star", j="json")\nx = 1\n',
    );
    expect(view).toMatchObject({ size: 116, lines: 4, isCut: false });
    expect(view.loads).toEqual([
      { module: 'encoding/json.star', names: ['json'] },
      { module: 're.star', names: ['re', 'findall'] },
    ]);
    expect(createView('x = 1').loads).toEqual([]);
    expect(createView('x = 1\n')).toMatchObject({ lines: 1, isCut: false });
    expect(createView('')).toMatchObject({ size: 0, lines: 0, html: '', isCut: false, loads: [] });
  });

  it('does not highlight a script that cannot be parsed', () => {
    const view = createView('def f(:\n  return "<b>"\n');
    expect(view).toEqual({
      size: 23,
      html: 'def f(:\n  return &quot;&lt;b&gt;&quot;',
      lines: 2,
      isCut: false,
      problem: expect.stringMatching(/^Line 1, column 7: got ':', want /),
    });
  });

  it('shows bytes that are not text', () => {
    const view = createView(Uint8Array.of(0x78, 0xff, 0x00, 0x0a));
    expect(view).toMatchObject({ html: 'x\ufffd␀', problem: 'The script is not UTF-8 text' });
  });

  it('counts line ends of Windows once', () => {
    expect(createView('x = 1\r\ny = 2\r\n')).toMatchObject({
      html: 'x = <span class="code-number">1</span>\ny = <span class="code-number">2</span>',
      lines: 2,
    });
  });

  it('shows the first lines of a long script', () => {
    const view = createView('x = 1\n'.repeat(maxLines + 1));
    expect(view).toMatchObject({ lines: maxLines, isCut: true, loads: [] });
    expect(view.html.match(/\n/g)).toHaveLength(maxLines - 1);
    expect(createView('x = 1\n'.repeat(maxLines))).toMatchObject({ lines: maxLines, isCut: false });
  });

  it('does not parse a large script, and leaves out its last incomplete line', () => {
    const line = `x = "${'é'.repeat(100)}"\n`;
    const view = createView(line.repeat(20_000));
    expect(view.size).toBeGreaterThan(4_000_000);
    expect(view).toMatchObject({ lines: Math.floor(maxBytes / 207), isCut: true });
    expect(view).not.toHaveProperty('loads');
    expect(view).not.toHaveProperty('problem');
    expect(view.html).not.toContain('\ufffd');
    expect(createView('#'.repeat(4_194_304))).toMatchObject({ lines: 1, isCut: true });
  });

  it.each([
    ['brackets', '('.repeat(maxBytes)],
    ['quotes', '"'.repeat(maxBytes)],
    ['numbers', '1 '.repeat(maxBytes / 2)],
    ['digits', '9'.repeat(maxBytes)],
    ['ampersands', '&'.repeat(maxBytes)],
    ['controls', '\u0000'.repeat(maxBytes)],
    ['indents', Array.from({ length: 700 }, (_, at) => `${' '.repeat(at)}if x:`).join('\n')],
    ['operators', `x = ${'-'.repeat(200_000)}1`],
    ['tokens', 'x = [\n'.concat('1,'.repeat(100_000), ']\n')],
  ])('has a bounded page for many %s', (_, text) => {
    expect(createView(text).html.length).toBeLessThan(2_500_000);
  });
});

describe('readShownPart', () => {
  const bytes = new TextEncoder().encode('x = 1\n');
  const file = sha256(bytes);

  it('reads a small script whole, and only the start of a large one', async () => {
    const ranges: number[][] = [];
    const artifacts = {
      get: async () => bytes,
      open: async () => ({
        size: 4_194_304,
        async *read(start: number, end: number) {
          ranges.push([start, end]);
          yield new Uint8Array(end - start);
        },
        readInto: async () => 0,
        close: async () => undefined,
      }),
    };
    expect(await readShownPart(artifacts, { file, size: 6 })).toEqual({ size: 6, bytes });
    expect(ranges).toEqual([]);
    const large = await readShownPart(artifacts, { file, size: 4_194_304 });
    expect([large.size, large.bytes.byteLength, ranges]).toEqual([4_194_304, maxBytes, [[0, maxBytes]]]);
  });

  it.each([6, 4_194_304])('reports that a script of %d bytes was deleted', async (size) => {
    const artifacts = { get: async () => undefined, open: async () => undefined };
    await expect(readShownPart(artifacts, { file, size })).rejects.toMatchObject({ code: 'unavailable' });
  });
});
