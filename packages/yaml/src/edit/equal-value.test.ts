import { describe, expect, it } from 'vitest';
import { expandAliases } from '../nodes/expand-aliases.js';
import { toJson } from '../nodes/json.js';
import { documentRoot } from '../nodes/node.js';
import { parseDocument } from '../parse/parse.js';
import { equalValue } from './equal-value.js';

const read = (text: string) => documentRoot(parseDocument(text)!);

describe('a comparison', () => {
  it.each([
    ['a: 1\nb: 2', '{b: 2, a: 1}'],
    ['image: "nginx:1.2"', 'image: nginx:1.2'],
    ['a: |\n  x\n', 'a: "x\\n"'],
    ['a: "yes"\nb: "y"\nc: "off"', 'a: yes\nb: y\nc: off'],
    ['a: cafe\nb: -f', 'a: "cafe"\nb: "-f"'],
    ['a: 1.50\nb: 1e3', 'a: 1.5\nb: 1000'],
    ['a: ~\nb: true', 'a:\nb: true # c'],
    ['a: 100m\nb: "1.2.3-rc"\nc: 10.0.0.0/8', 'a: "100m"\nb: 1.2.3-rc\nc: "10.0.0.0/8"'],
  ])('finds the same object: %j and %j', (a, b) => expect(equalValue(read(a), read(b))).toBe(true));

  it.each([
    ['a: 1', 'a: "1"'],
    ['a: true', 'a: "true"'],
    ['a: .5', 'a: ".5"'],
    ['a: .inf', 'a: ".inf"'],
    ['a: ~', 'a: "~"'],
    ['a:', 'a: ""'],
    ['a: 1', 'a: !!str 1'],
    ['a: 0777', 'a: 777'],
    ['a: 0x10', 'a: "0x10"'],
    ['a: 1_000', 'a: "1_000"'],
    ['a: 1.2.3', 'a: 1.2.4'],
    ['a: 12345678901234567890', 'a: 12345678901234567891'],
    ['a: [1, 2]', 'a: [2, 1]'],
    ['a: [1]', 'a: [1, 1]'],
    ['a: {}', 'a: []'],
    ['a: 1', 'a: 1\nb: 2'],
    ['a: 1\nb: 2', 'a: 1\nc: 2'],
  ])('finds another object: %j and %j', (a, b) => {
    expect(equalValue(read(a), read(b))).toBe(false);
    expect(equalValue(read(b), read(a))).toBe(false);
  });
});

describe('a tree without aliases', () => {
  it('has the same value, and the comments beside the aliases', () => {
    const tree = read('a: &x # a\n  b: &y 1 # b\nc: *x # c\nd: [*y]\n*y : e\n');
    const expanded = expandAliases(tree);
    expect(toJson(expanded)).toEqual({ a: { b: 1 }, c: { b: 1 }, d: [1], 1: 'e' });
    expect(expanded.content.map(({ line }) => line)).toEqual(tree.content.map(({ line }) => line));
    expect(equalValue(expanded, expandAliases(expanded))).toBe(true);
    expect(JSON.stringify(toJson(tree))).toBe(JSON.stringify(toJson(expanded)));
  });

  it('is the tree itself if it has none', () => {
    const tree = read('a: &x [1]\n');
    expect(expandAliases(tree)).toBe(tree);
  });
});
