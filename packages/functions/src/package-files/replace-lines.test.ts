import { editFile } from '@krmhub/schema/edit-yaml';
import { documentRoot, ResourceNode, readResources, writeDocument } from '@krmhub/schema/resource-yaml';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import { replaceLines } from './replace-lines.js';

const VALUES = [
  'a',
  'b1',
  '1',
  '-20',
  '0',
  '007',
  '0x10',
  '16',
  'true',
  'True',
  'null',
  'v1.2',
  'x/y:z',
  '1.50',
  '~',
  '2001-01-01',
  'a b',
  'é',
  '&x',
  '*x',
  '#c',
];

/** Returns a document as kyaml writes it, with lists of either indentation. */
function randomText(random: Random): string {
  const lines = ['kind: A'];
  const value = () => {
    const text = random.pick(VALUES);
    return random.chance(0.4) ? random.pick([`"${text}"`, `'${text}'`]) : text.replace(/^[&*#].*/, 'z');
  };
  const comment = () => (random.chance(0.3) ? ' # kept' : '');
  for (let at = 0; at < 1 + random.below(3); at++) {
    const wide = random.chance(0.5) ? '  ' : '';
    lines.push(`f${at}: ${value()}${comment()}`);
    lines.push(
      `m${at}:`,
      `  a: ${value()}`,
      `  b:`,
      `  ${wide}- ${value()}`,
      `  ${wide}- c: ${value()}${comment()}`,
      `  ${wide}  d: ${value()}`,
    );
    if (random.chance(0.4))
      lines.push(`t${at}: |`, `  a: ${random.pick(VALUES)}`, `    b: ${random.pick(VALUES)}`);
  }
  return `${lines.join('\n')}\n`;
}

function change(node: ResourceNode, random: Random): void {
  for (let at = node.kind === 'map' ? 1 : 0; at < node.content.length; at += node.kind === 'map' ? 2 : 1) {
    const child = node.content[at]!;
    if (child.kind === 'scalar' && (child.style & ~6) === 0 && random.chance(0.12)) {
      const value = random.pick(['b2', '3', '17', 'v2', '-1', '1.5', 'false', 'c d']);
      node.content[at] = Object.assign(new ResourceNode('scalar', '', child.style, value), {
        line: child.line,
      });
    } else change(child, random);
  }
}

const seed = Number(process.env.KRMHUB_TEST_SEED ?? 7);

describe('values of single lines', () => {
  it('are replaced as the edit of the trees replaces them', () => {
    const random = new Random(seed);
    let replaced = 0;
    for (let round = 0; round < 1_500; round++) {
      const text = randomText(random);
      const [before] = readResources(text, 'a.yaml');
      const node = documentRoot(before!.node).clone();
      change(node, random);
      const after = writeDocument(node);
      const [read] = readResources(after, 'a.yaml');
      const fast = replaceLines(text, writeDocument(documentRoot(before!.node)), after);
      if (fast === undefined) continue;
      replaced++;
      expect(fast).toBe(editFile({ text, documents: [{ before: before!, after: read!.node }] }).text);
    }
    expect(replaced).toBeGreaterThan(100);
  });

  it.each([
    ['a blank line', 'a: 1\n\nb: 2\n', 'a: 1\nb: 2\n', 'a: 1\nb: 3\n'],
    ['another style', 'a: "1"\n', 'a: "1"\n', "a: '2'\n"],
    ['a number in another notation', 'a: 0x10\n', 'a: 0x10\n', 'a: 16\n'],
    ['a new comment', 'a: b\n', 'a: b\n', 'a: c # d\n'],
    ['another number of lines', 'a: b\n', 'a: b\n', 'a: b\nc: d\n'],
    ['a text without a line end', 'a: b', 'a: b\n', 'a: c\n'],
    ['an alias', 'a: &x b\nc: *x\n', 'a: &x b\nc: *x\n', 'a: &x d\nc: *x\n'],
  ])('are not replaced in a text with %s', (_, text, before, after) => {
    expect(replaceLines(text, before, after)).toBeUndefined();
  });
});
