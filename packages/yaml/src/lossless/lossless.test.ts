import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { LOSSLESS_LIMITS, readYamlTree, readYamlTrees, writeYamlTree, yamlText } from './index.js';

const read = (text: string) => readYamlTree(text, 'test.yaml')!;
const rewrite = (text: string) => writeYamlTree(read(text));

describe('a last quote at the start of a line, as go-yaml writes it', () => {
  it.each([
    ["a: 'b\n\n'\nc: d\n", { a: 'b\n', c: 'd' }],
    ["a:\n  - - b: 'c\n\n'\n      'd': e\n", { a: [[{ b: 'c\n', d: 'e' }]] }],
    ["a: {b: 'c\n\n', d: e}\n", { a: { b: 'c\n', d: 'e' } }],
    ["a: 'b\n\n\n' # c\n'd': e\n' f': g\n', h': i\n", { a: 'b\n\n', d: 'e', ' f': 'g', ', h': 'i' }],
  ])('is read: %j', (text, value) => {
    expect(parse(rewrite(text))).toEqual(value);
  });
});

describe('a document that is read and written', () => {
  it('keeps the text of plain scalars, which readers understand differently', () => {
    const text = `a: 0777
b: 1e3
c: yes
d: 12345678901234567890
e: 1.0
f: 2001-12-14
g: ~
h:
i: 0x1F
<<: merged
`;
    expect(rewrite(text)).toBe(text);
  });

  it('keeps strings strings', () => {
    expect(rewrite(`a: "1"\nb: 'it''s'\nc: "tab\\tx"\n? "k y"\n: x\n`)).toBe(
      'a: "1"\nb: "it\'s"\nc: "tab\\tx"\n"k y": x\n',
    );
    // On one line, the folded text would be plain too, but nothing says that it is.
    expect(rewrite('a: one\n  two\n')).toBe('a: "one two"\n');
  });

  it('drops quotes only where every reader finds a string without them', () => {
    expect(
      rewrite('{"kind": "Pod", "image": "nginx:1", "a": ["1", "y", "No", "true", "~", ".5", "x y", ""]}'),
    ).toBe('kind: Pod\nimage: "nginx:1"\na:\n- "1"\n- "y"\n- "No"\n- "true"\n- "~"\n- ".5"\n- "x y"\n- ""\n');
  });

  it('keeps explicit tags', () => {
    const text = 'a: !!str 1\nb: !!binary "aGk="\nc: !!map\n  d: !!str\ne: !custom []\nf:\n- !!map\n  g: 1\n';
    expect(rewrite(text)).toBe(text);
  });

  it.each([
    ['nested lists', '- - 1\n  - - 2\n- []\n- {}\n- a: []\n  b: {}\n'],
    ['lists in mappings', 'a:\n- b: 1\n  c:\n  - 2\n  -\n- d\n'],
    ['literal text', 'a: |\n  one\n\n    two\nb: |-\n  three\nc:\n- |\n  four\n'],
  ])('writes %s in block style', (_, text) => expect(rewrite(text)).toBe(text));

  it.each([
    ['JSON', '{"a": {"b": [1, "2", null, true], "c": "x\\ny"}, "d": []}'],
    ['flow style', 'a: {b: [1, c, {d: e}], f: "g"}'],
    ['a folded scalar', 'a: >\n  one\n  two\n\n  three\n'],
    ['literals that need quotes', 'a: |+\n  one\n\nb: |2\n    two\nc: "|\\n"\nd: |\n  x\n     \n  y\n'],
    ['characters that end a line for some readers', 'a: "\\u2028\\u0085\\ufeff\\u0000"\nb: "😀"\n'],
    ['a document with a mark', '---\na: 1\n...\n'],
  ])('has the same meaning: %s', (_, text) => {
    expect(parse(rewrite(text))).toEqual(parse(text));
    expect(rewrite(rewrite(text))).toBe(rewrite(text));
  });

  it('expands aliases', () => {
    expect(rewrite('a: &x {b: &y 1}\nc: *x\nd: [*y]\n')).toBe('a:\n  b: 1\nc:\n  b: 1\nd:\n- 1\n');
  });
});

describe('several documents', () => {
  it('are read without those that are empty', () => {
    const trees = readYamlTrees('---\n---\na: 1\n---\n# nothing\n---\nnull\n---\nb: 2\n', 'test.yaml');
    expect(trees.map(writeYamlTree)).toEqual(['a: 1\n', 'b: 2\n']);
    expect(parseAllDocuments('a: 1\n---\nb: 2\n')).toHaveLength(2);
    expect(readYamlTrees('', 'test.yaml')).toEqual([]);
    expect(() => read('a: 1\n---\nb: 2\n')).toThrow(
      'cannot read test.yaml: it has 2 documents, expected one',
    );
  });
});

describe('hostile text', () => {
  it.each([
    ['syntax', 'a: [1\n', /test\.yaml: line \d+: /],
    [
      'aliases that multiply',
      `a: &a [${'x,'.repeat(999)}x]\nb: &b [${'*a,'.repeat(99)}*a]\nc: [*b, *b]\n`,
      /more than 100000 values/,
    ],
    ['an alias inside its anchor', 'a: &a [*a]\n', /alias \*a has no anchor/],
    ['depth', '['.repeat(LOSSLESS_LIMITS.maxDepth + 2), /nesting|maxDepth/],
    ['a key that is a list', '? [a]\n: b\n', /a key is a collection/],
    ['a handle for tags', '%TAG !e! tag:example.com,2000:\n---\n!e!x 1\n', /%TAG/],
  ])('is refused: %s', (_, text, message) => expect(() => read(text)).toThrow(message));

  it('is refused if the aliases of all documents multiply', () => {
    const one = `a: &a [${'x,'.repeat(999)}x]\nb: [${'*a,'.repeat(29)}*a]\n`;
    expect(readYamlTrees(`${one}---\n`.repeat(3), 'test.yaml')).toHaveLength(3);
    expect(() => readYamlTrees(`${one}---\n`.repeat(4), 'test.yaml')).toThrow(/more than 100000 values/);
  });

  it('is refused if it is not UTF-8', () => {
    expect(() => readYamlTree(Uint8Array.of(0x61, 0xff), 'test.yaml')).toThrow(
      'cannot read test.yaml: it is not UTF-8',
    );
  });

  it('cannot set a prototype', () => {
    const tree = read('__proto__: {polluted: true}\n');
    expect(yamlText(tree, '__proto__', 'polluted')).toBe('true');
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});
