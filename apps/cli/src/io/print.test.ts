import { describe, expect, it } from 'vitest';
import { type TestIo, testIo } from '../testing/command-line.js';
import { changeLines, printRows } from './change-lines.js';
import { printDiagnostics } from './diagnostics.js';
import { write, writeData } from './io.js';
import { jsonText, OUTPUT_FORMATS, printData, printLine, printTable } from './print.js';
import { printPatch } from './print-patch.js';
import { wrapText } from './wrap-text.js';

describe('jsonText', () => {
  it('escapes control and invisible characters, and stays the same JSON', () => {
    const data = { text: 'a\u001b[2J\u007f\u009b31m\u202e\u200b\u2066\ufeff\ufff9\u{e0041}\u{e007f}ä日😀' };
    const text = jsonText(data);
    expect(text.replaceAll('\n', '')).not.toMatch(
      /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/u,
    );
    expect(text).toContain('ä日😀');
    expect(JSON.parse(text)).toEqual(data);
  });

  it('stays JSON without the passwords of URLs', () => {
    const data = { a: 'say "https://host/x?token=hunter2"', b: ['https://user:hun"ter2 hunter2@host/x'] };
    expect(JSON.parse(jsonText(data))).toEqual({
      a: 'say "https://host/x?token=…"',
      b: ['https://…@host/x'],
    });
  });
});

const SECRET = 'hunter2';
const LONG = `${SECRET}${'x'.repeat(60)}${SECRET}`;
const URLS = [
  `https://user:${SECRET}@host.example/x`,
  `https://user:${LONG}@host.example/x`,
  `see https://user:${LONG}@host.example/x?token=${LONG}`,
  `https://user:a ${SECRET}@host.example/x`,
];
const range = { start: { line: 1, column: 1 }, end: { line: 1, column: 4 } };

describe('the password of a URL in what a command prints', () => {
  const outputs: [string, (io: TestIo, url: string) => Promise<void>][] = [
    ['a line', (io, url) => printLine(io, `"${url}"`)],
    ['rows', (io, url) => printRows(io, [['a', url, 'b']])],
    ...OUTPUT_FORMATS.map((format): [string, (io: TestIo, url: string) => Promise<void>] => [
      format,
      (io, url) =>
        printData(io, format, { one: url, two: [{ three: url }] }, () =>
          printTable(
            io,
            [
              { header: 'A', min: 4, keepsEnd: true },
              { header: 'B', min: 4 },
            ],
            [url],
            {
              terminal: (one) => [one, one],
              pipe: (one) => [one, one],
            },
          ),
        ),
    ]),
    [
      'wrapped lines',
      async (io, url) => {
        const lines = [...changeLines({ label: '', labelWidth: 0, message: url }, 30), ...wrapText(url, 30)];
        await write(io.stdout, lines.join('\n'));
      },
    ],
    [
      'a diagnostic',
      (io, url) => {
        const one = { file: 'a', path: url, severity: 'error' as const, code: 'a/b', message: url, range };
        return printDiagnostics(io, io.stdout, [one], new Map([['a', Buffer.from(url)]]), url);
      },
    ],
    [
      'a patch',
      (io, url) =>
        printPatch(io, [
          { type: 'update', path: 'a', before: `a: ${url}\n`, after: `a: ${url}\nb: ${url}\n` },
        ]),
    ],
  ];

  it.each(outputs)('is not in %s', async (what, print) => {
    for (const tty of [false, true]) {
      for (const url of URLS) {
        // A space ends it where it is not a value of its own.
        if (url.includes('a hunter2') && ['a line', 'a diagnostic', 'a patch'].includes(what)) continue;
        const io = testIo({ tty, columns: 40 });
        await print(io, url);
        expect([what, tty, url, io.out() + io.err()]).toEqual([
          what,
          tty,
          url,
          expect.not.stringContaining('unter'),
        ]);
      }
    }
  });

  it('stays in a document, which another program reads', async () => {
    for (const tty of [false, true]) {
      const io = testIo({ tty });
      await writeData(io.stdout, URLS[0]!);
      expect(io.out()).toBe(URLS[0]);
    }
  });

  it('leaves a patch that can be applied where there is none', async () => {
    const io = testIo();
    await printPatch(io, [{ type: 'create', path: 'a', after: 'image: a.example/b@sha256:1234/x\n' }]);
    expect([io.out().includes('+image: a.example/b@sha256:1234/x'), io.err()]).toEqual([true, '']);
  });
});
