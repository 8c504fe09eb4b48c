import { describe, expect, it } from 'vitest';
import { formatDuration, readDuration } from './read-duration.js';

describe('a duration', () => {
  it.each([
    ['90s', 90],
    ['30m', 1_800],
    ['1h', 3_600],
    ['72h', 259_200],
    ['7d', 604_800],
    ['0s', 0],
    ['007d', 604_800],
    ['999999999d', 86_399_999_913_600],
  ])('%s has %i seconds', (text, seconds) => {
    expect(readDuration(text)).toEqual({ ok: true, seconds });
  });

  it.each([
    ['3600', '`3600s`'],
    ['1h30m', '`90m`'],
    ['1d12h', '`36h`'],
    ['1w', '`7d`'],
    ['1m1s', '`61s`'],
  ])('%s is refused with what to write', (text, hint) => {
    const read = readDuration(text);
    expect([read.ok, 'hint' in read && read.hint]).toEqual([false, expect.stringContaining(hint)]);
  });

  it.each([
    '',
    'h',
    '1 h',
    '1H',
    '-1h',
    '+1h',
    '1.5h',
    '1e3s',
    '1_000s',
    '0x10s',
    '1hour',
    '1y',
    '1ms',
    'PT1H',
    '1h ',
    '1h\n',
    '١h',
    '1:30',
    '1234567890d',
    '1s'.repeat(100_000),
    '9'.repeat(100_000),
  ])('%s is refused', (text) => {
    expect(readDuration(text).ok).toBe(false);
  });

  it('is formatted in the largest exact unit', () => {
    expect([60, 61, 3_600, 86_400, 604_800, 0].map(formatDuration)).toEqual([
      '1m',
      '61s',
      '1h',
      '1d',
      '7d',
      '0d',
    ]);
  });
});
