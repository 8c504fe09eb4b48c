import { expect, it } from 'vitest';
import { hasFormat } from './value-formats.js';

const FORMATS = [
  'byte',
  'cidr',
  'date-time',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'k8s-long-name',
  'mac',
  'rgbcolor',
  'uri',
  'uuid',
];
const PIECES = ['1', '1s', '.1', 'a', 'a.', 'a-', 'a@', ':', '<', ' ', '1 ', '%41', 'ab:', 'A'];

it.each(FORMATS)('reads a megabyte that is almost a %s in one pass', (format) => {
  // A check that goes back over the text would not end here.
  for (const piece of PIECES) {
    const text = piece.repeat(Math.ceil(1_000_000 / piece.length));
    expect(hasFormat(format, `${text}\u0000`)).toBe(false);
  }
});
