import { describe, expect, it } from 'vitest';
import { editYaml } from './edit.js';
import { readYamlTree } from './read.js';
import { spliceYaml } from './splice.js';
import { type YamlMap, type YamlNode, type YamlScalar, yamlString } from './tree.js';

const TEXT = `# A comment at the top.
apiVersion: apps/v1
kind: Deployment # of what
metadata:
  name: web
  annotations:
    mode: "0777" # quoted
    own: 'it''s'
spec:
  # How many.
  replicas: 1 # one
  empty:
  none: {}
  flow: {a: b, c: [d, "e"]}
  long: |
    one
    two
  template:
    spec:
      containers:
      # The first.
      - name: a # named a
        image: 'a:1'
      # The second.
      - name: b
        ports:
        - containerPort: 80
        args:
        - x
        - y # why
  last:
    deep: 1
    # below
`;

const plain = (value: string): YamlScalar => ({ kind: 'scalar', value, plain: true });
const map = (fields: Record<string, YamlNode>): YamlMap => ({
  kind: 'map',
  entries: Object.entries(fields).map(([key, value]) => [yamlString(key), value]),
});
/** Texts that need quotes, those that do not, and other values. */
const VALUES: YamlNode[] = [
  ...['web', '5', 'true', '', 'a b', 'a: b', 'a #b', '- a', 'a-', 'it\'s "it"', 'registry.io/a:v1'].map(
    yamlString,
  ),
  ...['a@sha256:0b', 'é', 'one\ntwo', '[a]', 'a, b', '~', 'no', '/bin/sh -c', '\\', 'x '.repeat(60)].map(
    yamlString,
  ),
  ...['7', '-1', '1.5', 'null', 'true', '.inf'].map(plain),
  map({ a: yamlString('b') }),
  map({ a: map({ b: plain('1'), 'c d': yamlString('1') }) }),
  map({}),
  { kind: 'list', items: [yamlString('x')] },
];

/** Returns the same numbers in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Copies a tree, and changes some of its values and fields. */
function changed(before: YamlNode, pick: (below: number) => number) {
  const origins = new Map<YamlNode, YamlNode>();
  const change = (node: YamlNode): YamlNode => {
    if (node.kind === 'scalar') return pick(12) === 0 ? VALUES[pick(VALUES.length)]! : node;
    const copy: YamlNode =
      node.kind === 'map'
        ? { kind: 'map', entries: node.entries.map(([key, value]) => [key, change(value)]) }
        : { kind: 'list', items: node.items.map(change) };
    if (pick(30) === 0 && copy.kind === 'map') copy.entries.splice(pick(copy.entries.length), 1);
    if (pick(8) === 0 && copy.kind === 'map')
      copy.entries.push([yamlString(`new-${pick(9)}a`), VALUES[pick(VALUES.length)]!]);
    if (pick(30) === 0 && copy.kind === 'list') copy.items.reverse();
    const isSame =
      node.kind === 'map'
        ? node.entries.length === (copy as YamlMap).entries.length &&
          node.entries.every(([, value], at) => value === (copy as YamlMap).entries[at]![1])
        : node.items.every((item, at) => item === (copy as typeof node).items[at]);
    if (isSame) return node;
    origins.set(copy, node);
    return copy;
  };
  return { after: change(before), originOf: (node: YamlNode) => origins.get(node) };
}

describe('a change of a text', () => {
  it('gives the bytes of `editYaml`', () => {
    const before = readYamlTree(TEXT, 'the text')!;
    let written = 0;
    for (let seed = 0; seed < 1_500; seed++) {
      const { after, originOf } = changed(before, numbers(seed));
      const spliced = spliceYaml(TEXT, { before, after, originOf });
      if (spliced === undefined) continue;
      written++;
      const values = JSON.stringify(after);
      expect(spliced, values).toBe(editYaml(TEXT, { before, after, originOf }));
    }
    expect(written).toBeGreaterThan(100);
  });

  it.each([
    ['an anchor', 'a: &a 1\nb: 2\n'],
    ['an alias', 'a: &a 1\nc: *a\nb: 2\n'],
    ['a tag', 'a: 1\nb: !!str 2\n'],
    ['a merge key', '<<: {a: 1}\nb: 2\n'],
    ['a key that occurs twice', 'b: 1\nb: 2\n'],
    ['text of several lines', 'a: 1\nb: "x\n  y"\n'],
    ['a block of text', 'a: 1\nb: |\n  x\n'],
    ['no text', 'a: 1\nb:\n'],
  ])('is left to `editYaml` where the text has %s', (_, text) => {
    const before = readYamlTree(text, 'the text') as YamlMap;
    const entries = before.entries.map(([key, value]): YamlMap['entries'][number] => [
      key,
      key.value === 'b' ? plain('3') : value,
    ]);
    const after: YamlMap = { kind: 'map', entries };
    expect(spliceYaml(text, { before, after, originOf: () => before })).toBeUndefined();
  });

  it('keeps the other bytes', () => {
    const text = "a:   1   # one\n\n\n'b' : {x: 2,y:  3}\r\n";
    const before = readYamlTree(text, 'the text') as YamlMap;
    const after: YamlMap = {
      kind: 'map',
      entries: [[before.entries[0]![0], plain('4')], before.entries[1]!],
    };
    expect(spliceYaml(text, { before, after, originOf: () => before })).toBe(text.replace('1', '4'));
  });
});
