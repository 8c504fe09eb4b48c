import { describe, expect, it } from 'vitest';
import { readResources } from '../parse/read-resources.js';
import { Random } from '../testing/random.js';
import { editFile } from './edit-file.js';

/** Removes the documents with these indexes. */
function without(text: string, ...removed: number[]): string {
  const documents = readResources(text, 'a.yaml').map((before) => ({
    before,
    after: removed.includes(before.index) ? undefined : before.node,
  }));
  return editFile({ text, documents }).text;
}

describe('documents that are removed', () => {
  it.each([
    ['a: 1\n---\nb: 2\n---\nc: 3\n', [0, 1], 'c: 3\n'],
    ['a: 1\n---\nb: 2\n---\nc: 3\n', [1], 'a: 1\n---\nc: 3\n'],
    ['a: 1\n---\nb: 2\n---\nc: 3\n', [1, 2], 'a: 1\n'],
    ['a: 1\n---\nb: 2\n---\nc: 3\n', [0, 2], 'b: 2\n'],
    ['a: 1\n--- # for b\nb: 2\n', [0], '--- # for b\nb: 2\n'],
    ['a: 1\n--- # for b\nb: 2\n', [1], 'a: 1\n'],
    ['# license\n\n# about a\na: 1\n---\nb: 2\n', [0], '# license\n\n---\nb: 2\n'],
    ['# license\n---\na: 1\n---\nb: 2\n---\nc: 3\n', [0, 1], '# license\n---\nc: 3\n'],
    ['---\na: 1\n---\nb: 2\n', [0], '---\nb: 2\n'],
    ['a: 1\n---\n# only a comment\n---\nb: 2\n', [0], '# only a comment\n---\nb: 2\n'],
  ])('%j without %j', (text, removed, left) => {
    expect(without(text, ...removed)).toBe(left);
    expect(without(text.replaceAll('\n', '\r\n'), ...removed)).toBe(left.replaceAll('\n', '\r\n'));
  });

  it.each([1, 2, 3])('leave the text of the others, and their comments, seed %i', (seed) => {
    const random = new Random(seed);
    for (let run = 0; run < 200; run++) {
      const parts = Array.from({ length: 1 + random.below(5) }, (_, at) => {
        const head = random.pick(['', `# about ${at}\n`, `# license ${at}\n\n`]);
        return random.chance(0.2) ? `# only ${at}\n` : `${head}k${at}: ${at} # at ${at}\n`;
      });
      const marks = parts.map((_, at) =>
        at === 0 ? random.pick(['', '---\n']) : random.pick(['---\n', `--- # mark ${at}\n`]),
      );
      const text = parts.map((part, at) => marks[at]! + part).join('');
      const documents = readResources(text, 'a.yaml');
      const removed = documents.map(({ index }) => index).filter(() => random.chance(0.5));
      const left = without(text, ...removed);
      const values = (from: string) =>
        readResources(from, 'a.yaml').map(({ node }) => node.content[0]!.content[0]!.value);
      const kept = documents.filter(({ index }) => !removed.includes(index));
      expect(values(left), text).toEqual(kept.map(({ node }) => node.content[0]!.content[0]!.value));
      for (const { text: part } of kept) expect(left, text).toContain(part.replace(/^---\n/, ''));
      for (const only of text.match(/^# only .*$/gm) ?? []) expect(left, text).toContain(only);
    }
  });
});
