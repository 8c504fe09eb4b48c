import { describe, expect, it } from 'vitest';
import { editYaml } from './edit.js';
import { readYamlTree } from './read.js';
import { type YamlMap, type YamlNode, yamlString } from './tree.js';

/** Changes a copy of a tree that shares what is unchanged, and writes it into the text. */
function edit(text: string, change: (root: YamlMap) => void): string | undefined {
  const before = readYamlTree(text, 'the text')!;
  const origins = new Map<YamlNode, YamlNode>();
  const touched = new Map<YamlNode, YamlNode>();
  const open = (node: YamlNode): YamlNode => {
    if (node.kind === 'scalar') return node;
    const copy: YamlNode =
      node.kind === 'map'
        ? { ...node, entries: node.entries.map(([key, value]) => [key, open(value)]) }
        : { ...node, items: node.items.map(open) };
    origins.set(copy, node);
    touched.set(copy, node);
    return copy;
  };
  const after = open(before) as YamlMap;
  change(after);
  return editYaml(text, { before, after, originOf: (node) => origins.get(node) });
}

const at = (node: YamlNode, ...path: (string | number)[]): YamlNode =>
  path.reduce<YamlNode>(
    (one, key) =>
      one.kind === 'map'
        ? one.entries.find(([name]) => name.value === key)![1]
        : (one as { items: YamlNode[] }).items[key as number]!,
    node,
  );
const set = (node: YamlNode, key: string, value: YamlNode) => {
  const { entries } = node as YamlMap;
  const found = entries.find(([name]) => name.value === key);
  if (found === undefined) entries.push([yamlString(key), value]);
  else found[1] = value;
};
const number = (value: number): YamlNode => ({ kind: 'scalar', value: String(value), plain: true });

const TEXT = `# A comment at the top.
apiVersion: apps/v1
kind: Deployment # of what
metadata:
  name: web
  annotations:
    mode: "0777" # quoted
spec:
  # How many.
  replicas: 1 # one
  mode: 0777
  empty:
  template:
    spec:
      containers:
      # The first.
      - name: a # named a
        image: 'a:1'
      # The second.
      - name: b
        args: [x, "y", 1_000]
        script: |
          one
            two
`;

describe('a change of a document', () => {
  it('changes nothing where nothing changed', () => expect(edit(TEXT, () => undefined)).toBe(TEXT));

  it('changes a scalar, and keeps its comments', () => {
    expect(edit(TEXT, (root) => set(at(root, 'spec'), 'replicas', number(3)))).toBe(
      TEXT.replace('replicas: 1 # one', 'replicas: 3 # one'),
    );
    const image = edit(TEXT, (root) =>
      set(at(root, 'spec', 'template', 'spec', 'containers', 0), 'image', yamlString('a:2')),
    );
    expect(image).toBe(TEXT.replace("'a:1'", "'a:2'"));
  });

  it('adds and removes keys', () => {
    const changed = edit(TEXT, (root) => {
      set(at(root, 'metadata'), 'namespace', yamlString('prod'));
      set(at(root, 'metadata', 'annotations'), 'count', yamlString('1'));
      const spec = at(root, 'spec') as YamlMap;
      spec.entries = spec.entries.filter(([key]) => key.value !== 'empty');
    });
    expect(changed).toBe(
      TEXT.replace('# quoted\n', '# quoted\n    count: "1"\n  namespace: prod\n').replace('  empty:\n', ''),
    );
  });

  it('moves the comments of an item with it', () => {
    const changed = edit(TEXT, (root) => {
      (at(root, 'spec', 'template', 'spec', 'containers') as { items: YamlNode[] }).items.reverse();
    })!;
    expect(changed).toMatch(/# The second\.\n\s+- name: b[\s\S]*- name: a # named a\n/);
  });

  it('writes strings that would be numbers or booleans in quotes', () => {
    const changed = edit('data: {}\n', (root) => {
      for (const value of [
        '1',
        'true',
        'no',
        '',
        '1e3',
        'plain',
        'a: b',
        '- x',
        '2001-01-01',
        'two\nlines\n',
      ])
        set(at(root, 'data'), `k${(at(root, 'data') as YamlMap).entries.length}`, yamlString(value));
    });
    expect(changed).toBe(
      'data:\n  k0: "1"\n  k1: "true"\n  k2: "no"\n  k3: ""\n  k4: "1e3"\n  k5: plain\n  k6: "a: b"\n  k7: "- x"\n  k8: "2001-01-01"\n  k9: |\n    two\n    lines\n',
    );
  });

  it('keeps lists indented as they are', () => {
    const text = 'a:\n  - b: 1\n    c:\n      - x\nd: 1\n';
    expect(edit(text, (root) => set(root, 'd', number(2)))).toBe(text.replace('d: 1', 'd: 2'));
  });

  it('keeps a comment on the line of the key of a block', () => {
    const text = `spec: # what
  # of the selector
  selector: #short
    app: web
  "ports" : # all
    # the first
    - 80 # http
  # flow
  args: [a] # none
  empty: # nothing
`;
    const changed = edit(text, (root) => {
      set(at(root, 'spec', 'selector'), 'tier', yamlString('front'));
      (at(root, 'spec', 'ports') as { items: YamlNode[] }).items.push(number(443));
    });
    expect(changed).toBe(
      text
        .replace('app: web\n', 'app: web\n    tier: front\n')
        .replace('# http\n', '# http\n    - 443\n')
        .replace('"ports" :', '"ports":'),
    );
    const replaced = edit('a: # one\n  b: 1\nc: 2\n', (root) => set(root, 'a', number(1)));
    expect(readYamlTree(replaced!, 'it')).toEqual(readYamlTree('a: 1\nc: 2\n', 'it'));
  });

  it('refuses what it cannot pair: anchors, aliases, and a key that occurs twice', () => {
    expect(edit('a: 1\na: 2\n', (root) => set(root, 'd', number(1)))).toBeUndefined();
    expect(edit('a: &x {b: 1}\nc: *x\n', (root) => set(root, 'd', number(1)))).toBeUndefined();
  });
});
