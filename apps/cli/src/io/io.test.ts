import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { testIo } from '../testing/command-line.js';
import { paint, terminalWidth, write } from './io.js';

const RED = '\u001b[31mx\u001b[39m';

describe('colors', () => {
  it.each([
    ['on a terminal', { tty: true }, {}, RED],
    ['not in a pipe', { tty: false }, {}, 'x'],
    ['not with NO_COLOR', { tty: true, env: { NO_COLOR: '1' } }, {}, 'x'],
    ['with an empty NO_COLOR, which says nothing', { tty: true, env: { NO_COLOR: '' } }, {}, RED],
    ['not on a dumb terminal', { tty: true, env: { TERM: 'dumb' } }, {}, 'x'],
    ['not with --no-color', { tty: true }, { noColor: true }, 'x'],
  ])('%s', (_, options, more, text) => {
    const io = Object.assign(testIo(options), more);
    expect(paint(io, io.stderr, 'red', 'x')).toBe(text);
  });

  it('depend on the output stream', () => {
    const io = testIo({ tty: true });
    io.stdout.isTTY = false;
    expect(paint(io, io.stdout, 'red', 'x')).toBe('x');
    expect(paint(io, io.stderr, 'red', 'x')).toBe(RED);
  });
});

it('writes to a terminal with an unknown or tiny width', () => {
  const stream = testIo().stdout;
  expect(terminalWidth(stream)).toBe(80);
  stream.columns = 0;
  expect(terminalWidth(stream)).toBe(40);
});

it('does not fail or hang if a pipe is closed', async () => {
  const closed = Object.assign(new Error('EPIPE'), { code: 'EPIPE' });
  const broken = new Writable({ write: (_chunk, _encoding, done) => done(closed) });
  broken.on('error', () => undefined);
  await write(broken, 'x');
  await write(broken, 'y');
});

it('fails if it cannot write output, but not if it cannot write messages', async () => {
  const full = () =>
    Object.assign(
      new Writable({
        write: (_chunk, _encoding, done) => done(Object.assign(new Error('full'), { code: 'ENOSPC' })),
      }).on('error', () => undefined),
      { isLossy: false },
    );
  await expect(write(full(), 'x')).rejects.toMatchObject({
    code: 'storage-full',
    message: 'cannot write the output: the disk is full',
  });
  await write(Object.assign(full(), { isLossy: true }), 'x');
});
