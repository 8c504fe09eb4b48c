import { expect, it } from 'vitest';
import { Source } from './source.js';

const TEXT = 'ab\r\n\u{1f600}é\u{1f600}x\n\ud83d y\n\n\u{1f600}';

it('counts columns in code points', () => {
  const source = new Source('a.star', TEXT);
  for (let offset = 0; offset <= TEXT.length; offset++) {
    const before = TEXT.slice(0, offset).split('\n');
    const expected = { file: 'a.star', line: before.length, column: [...before.at(-1)!].length + 1 };
    expect(source.positionAt(offset), `offset ${offset}`).toEqual(expected);
  }
});

it('returns lines without their ends', () => {
  const source = new Source('a.star', `${TEXT}\r`);
  const lines = [1, 2, 3, 4, 5, 6].map((number) => source.line(number));
  expect(lines).toEqual(['ab', '\u{1f600}é\u{1f600}x', '\ud83d y', '', '\u{1f600}\r', undefined]);
});

it('finds positions in a long line as fast as in short ones', () => {
  const source = new Source('a.star', '\u{1f600}xx'.repeat(250_000));
  const before = process.cpuUsage();
  for (let offset = 4; offset < 1_000_000; offset += 4) {
    if (source.positionAt(offset).column !== (offset / 4) * 3 + 1) throw new Error(`offset ${offset}`);
  }
  // Counting from the start of the line each time takes many minutes.
  expect(process.cpuUsage(before).user).toBeLessThan(30_000_000);
});
