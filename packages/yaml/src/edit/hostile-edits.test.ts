import { expect, it } from 'vitest';
import type { JsonValue } from '../json-value.js';
import { equalValue, fromJson, readResources } from '../resources.js';
import { editTrees, editValues } from '../testing/edit-text.js';
import { editFile } from './edit-file.js';

// What is quadratic in one of these sizes takes hours.
const MANY = process.env.KRMHUB_TEST_FULL_SIZE === undefined ? 5_000 : 50_000;
const lines = (line: (i: number) => string) => Array.from({ length: MANY }, (_, i) => line(i)).join('');

it.each<[string, string, (value: { l: never[] }) => unknown]>([
  [
    'a wide map',
    lines((i) => `k${i}: ${i}\n`),
    (all) =>
      Object.fromEntries(
        Object.entries(all)
          .reverse()
          .map(([key, value], i) => [key, i % 2 ? value : 'new']),
      ),
  ],
  [
    'a list in another order',
    `l:\n${lines((i) => `- v${i}\n`)}`,
    ({ l }) => ({ l: l.reverse().map((item, i) => (i % 3 ? item : 'new')) }),
  ],
  [
    'a list of equal items',
    `l:\n${lines(() => '- a\n')}`,
    ({ l }) => ({ l: l.flatMap((item, i) => (i % 3 ? [item] : ['b', item])) }),
  ],
  [
    'a list of maps',
    `l:\n${lines((i) => `- a: ${i}\n`)}`,
    ({ l }) => ({ l: l.map((_, i) => (i % 3 ? { b: i } : { a: i, c: 2 })) }),
  ],
  [
    'a flow list',
    `l: [${lines((i) => `${i}, `)}]\n`,
    ({ l }) => ({ l: l.flatMap((item, i) => (i % 3 ? [item] : ['b', i])) }),
  ],
  [
    'JSON in one line',
    JSON.stringify({ l: Array.from({ length: MANY }, (_, x) => ({ x })) }),
    ({ l }) => ({ l: l.map((_, x) => ({ x, y: 1 })) }),
  ],
  [
    'a long line',
    `a: "${'x '.repeat(1_000_000)}"\nl:\n${lines((i) => `- k: ${i}\n`)}`,
    ({ l }) => ({ l: l.slice(9) }),
  ],
  [
    'comments',
    `l:\n- a: 1\n${lines(() => '  # c\n')}${lines((i) => `- k: ${i}\n`)}`,
    ({ l }) => ({ l: l.filter((_, i) => i % 2) }),
  ],
  ['blanks in a flow collection', `l: [a${' '.repeat(1_000_000)}, b]\n`, () => ({ l: ['a'] })],
])('edits %s in a time that grows with its size', (_, text, change) => {
  let expected: unknown;
  const edited = editValues(text, (value) => (expected = change(value)));
  expect(edited.notes).toEqual([]);
  const [again] = readResources(edited.text, '');
  expect(equalValue(again!.node, fromJson(expected as JsonValue))).toBe(true);
});

it('edits nested collections', () => {
  const depth = 190;
  const keys = Array.from({ length: depth }, (_, i) => `${' '.repeat(i)}k:\n`).join('');
  const text = `${keys}${' '.repeat(depth)}x: 1\nl:\n${lines((i) => ` k${i}: 1\n`)}`;
  const edited = editTrees(text, (root) => {
    let node = root.content[0]!;
    for (let i = 0; i < depth; i++) node = node.content[1]!;
    node.content[1]!.value = '2';
  });
  expect(edited).toEqual({ text: text.replace('x: 1', 'x: 2'), notes: [] });
});

it('keeps aliases of aliases', () => {
  const aliases = Array.from({ length: 12 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}]\n`).join('');
  const text = `a0: &a0 [x, x]\n${aliases}z: 1\n`;
  const edited = editTrees(text, (root) => {
    root.content[0]!.content.at(-1)!.value = '2';
  });
  expect(edited).toEqual({ text: text.replace('z: 1', 'z: 2'), notes: [] });
  const [before] = readResources(text, '');
  const after = before!.node.clone();
  after.content[0]!.content[1]!.content[0]!.value = 'z';
  const changed = editFile({ text, documents: [{ before: before!, after }] });
  expect(changed.text).toBe(text.replace('[x, x]', '[z, x]'));
});
