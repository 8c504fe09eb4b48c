import { expect, it } from 'vitest';
import { testIo } from '../testing/command-line.js';
import { terminalLog } from './terminal-log.js';

const time = '2030-06-15T12:00:00.000Z';

function shown(...lines: object[]): string {
  const io = testIo({ tty: true, env: { NO_COLOR: '1' } });
  const log = terminalLog(io);
  for (const line of lines) log.write(`${JSON.stringify({ level: 'info', time, ...line })}\n`);
  return io.out().replaceAll(/^\d\d:\d\d:\d\d/gm, 'TIME');
}

it('shows a request in one line', () => {
  const request = { msg: 'request', method: 'PUT', path: '/a?b', route: '/a', status: 201, seconds: 0.0204 };
  expect(shown({ ...request, requestId: 'x', client: '127.0.0.1', bytes: 3 })).toBe(
    'TIME  PUT /a?b 201 20 ms  bytes=3\n',
  );
});

it('shows the level of what is not usual, and all fields', () => {
  expect(shown({ level: 'warn', msg: 'source sync failed', catalog: 'c', err: { code: 'x' } })).toBe(
    'TIME  warn  source sync failed  catalog=c  err={"code":"x"}\n',
  );
});

it('leaves out what the welcome says', () => {
  expect(shown({ msg: 'registry started', url: 'x' }, { msg: 'snapshot built' })).toBe(
    'TIME  snapshot built\n',
  );
});

it('does not let a client write to the terminal', () => {
  const text = shown({ msg: 'request', method: 'G\u001b[2J', path: '/\u001b]0;x\u0007\nfake', status: 404 });
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
  expect(text.trimEnd().split('\n')).toHaveLength(1);
});

it('shows a line that is not JSON', () => {
  const io = testIo({ tty: true });
  terminalLog(io).write('half a li\u001b\n');
  expect(io.out()).toBe('half a li␛\n');
});
