import { Dict, List, StarlarkFloat, type Value } from '@krmhub/starlark';
import { describe, expect, it } from 'vitest';
import { ResourceListFile } from './resource-list-file.js';

const CONFIG_MAP = `- # What it is for.
  apiVersion: v1
  kind: ConfigMap # of the app
  metadata:
    name: settings
    annotations:
      config.kubernetes.io/index: "0"
  data:
    # Quoted, because it would be a number.
    count: "1"
    mode: 0777
    script: |
      one

      - two
`;
const DEPLOYMENT = `# The app.
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web}
  spec:
    replicas: 1 # few
    template:
      spec:
        containers:
        - name: a
          image: 'a:1' # first
        # Second.
        - name: b
          args: ["x", 1.50]
`;
const HEAD = 'apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n';
const CONFIG = 'functionConfig:\n  apiVersion: v1\n  kind: X\n';
const TEXT = `${HEAD}items:\n${CONFIG_MAP}${DEPLOYMENT}${CONFIG}`;

/** Runs what a script would do. */
function change(work: (items: List, list: Dict) => void, text = TEXT): string {
  const file = new ResourceListFile(Buffer.from(text));
  work(file.value.get('items') as List, file.value);
  return file.write();
}
const at = (value: Value, ...path: (string | number)[]): Value =>
  path.reduce<Value>(
    (one, key) => (one instanceof List ? one.items[key as number]! : (one as Dict).get(key)!),
    value,
  );
const set = (value: Value, key: string, to: Value) => (value as Dict).set(key, to);
const dict = (entries: Record<string, Value>) => {
  const made = new Dict();
  for (const [key, value] of Object.entries(entries)) made.set(key, value);
  return made;
};

describe('a ResourceList', () => {
  it('has the types that readers in Go find', () => {
    const { value } = new ResourceListFile(
      Buffer.from(
        `${HEAD}items: []\nfunctionConfig: {a: 0777, b: 0x1F, c: 1_000, d: 1.5, e: yes, f: "1", g: ~, h: true,\n  i: 12345678901234567890, j: 2001-01-01, k: !!str 1, l: 1e3, m: 0o17, n: -0b11}\n`,
      ),
    );
    const config = value.get('functionConfig') as Dict;
    expect(config.values().map((one) => (one instanceof StarlarkFloat ? `float ${one.value}` : one))).toEqual(
      [
        511,
        31,
        1000,
        'float 1.5',
        'yes',
        '1',
        null,
        true,
        12345678901234567890n,
        '2001-01-01',
        '1',
        'float 1000',
        15,
        -3,
      ],
    );
  });

  it('keeps its bytes if nothing changed, also if a script writes the same values', () => {
    expect(change(() => undefined)).toBe(TEXT);
    const same = change((items) => {
      set(at(items, 1, 'spec'), 'replicas', 1);
      set(at(items, 0, 'data'), 'mode', 511);
    });
    expect(same).toBe(TEXT);
  });

  it('keeps the bytes of other items, and the comments and order of a changed one', () => {
    expect(change((items) => set(at(items, 1, 'spec'), 'replicas', 3))).toBe(
      TEXT.replace('replicas: 1 # few', 'replicas: 3 # few'),
    );
    expect(change((items) => set(at(items, 0, 'metadata'), 'namespace', 'prod'))).toBe(
      TEXT.replace('index: "0"\n', 'index: "0"\n    namespace: prod\n'),
    );
  });

  it('removes, moves, copies, and adds items', () => {
    expect(change((items) => void items.items.shift())).toBe(TEXT.replace(CONFIG_MAP, ''));
    expect(change((items) => void items.items.reverse())).toBe(
      `${HEAD}items:\n${DEPLOYMENT}${CONFIG_MAP}${CONFIG}`,
    );
    expect(change((_, list) => list.set('items', new List()))).toBe(`${HEAD}items: []\n${CONFIG}`);
    const added = change((items) =>
      items.items.push(dict({ apiVersion: 'v1', kind: 'Secret', data: dict({ a: '1', b: 2, c: 'x\ny\n' }) })),
    );
    expect(added).toBe(
      `${HEAD}items:\n${CONFIG_MAP}${DEPLOYMENT}- apiVersion: "v1"\n  kind: "Secret"\n  data:\n    a: "1"\n    b: 2\n    c: |\n      x\n      y\n${CONFIG}`.replace(
        '"v1"\n  kind: "Secret"',
        'v1\n  kind: Secret',
      ),
    );
  });

  it('moves comments with the items of a list', () => {
    const moved = change((items) => {
      (at(items, 1, 'spec', 'template', 'spec', 'containers') as List).items.reverse();
    });
    expect(moved).toMatch(
      /# Second\.\n\s+- name: b\n\s+args: \["x", 1\.50\]\n\s+- name: a\n\s+image: 'a:1' # first\n/,
    );
  });

  it('keeps indented lists, and text that is not in blocks', () => {
    const indented = `${HEAD}items:\n  - kind: A\n    b:\n      - 1\n  - kind: B\n`;
    expect(change((items) => set(at(items, 1), 'c', 1), indented)).toBe(`${indented}    c: 1\n`);
    const flow = `{apiVersion: v1, kind: ResourceList, items: [{kind: A, b: "1"}]}\n`;
    expect(change((items) => set(at(items, 0), 'c', true), flow)).toBe(flow.replace('"1"', '"1", c: true'));
  });

  it('writes what an alias or a merge key gave', () => {
    const text = `${HEAD}items:\n- base: &base {a: 1, b: 2}\n  own:\n    <<: *base\n    b: 3\n`;
    expect(change((items) => expect((at(items, 0, 'own') as Dict).keys()).toEqual(['b', 'a']), text)).toBe(
      text,
    );
    expect(change((items) => set(at(items, 0, 'own'), 'c', 4), text)).toBe(`${text}    c: 4\n`);
  });

  it('quotes new text that other readers take for something else, and leaves the old', () => {
    const text = `${HEAD}items:\n- kind: A\n  a: yes\n  no: 'no'\n  b: x\n`;
    const quoted = change((items) => {
      for (const [key, value] of Object.entries({ a: 'yes', b: 'on', c: '1:30', '<<': 'y', n: 1 })) {
        set(at(items, 0), key, value);
      }
    }, text);
    expect(quoted).toBe(text.replace('b: x', 'b: "on"\n  c: "1:30"\n  "<<": "y"\n  "n": 1'));
  });

  it('leaves the comments of deleted items, and repeats none', () => {
    const item = (name: string, id: number) =>
      `# about ${name}\n- kind: A\n  metadata:\n    name: ${name} # ${name}\n    annotations:\n      internal.config.kubernetes.io/id: "${id}"\n`;
    const rules = 'rules:\n  # first\n  - verbs: [get]\n  # second\n  - verbs: [list]\n';
    const text = `${HEAD}items:\n${item('a', 1)}${item('b', 2)}  ${rules}`;
    const after = change((items) => {
      items.items.shift();
      set(at(items, 0, 'metadata'), 'name', 'c');
      const list = at(items, 0, 'rules') as List;
      set(at(items, 0), 'rules', new List([list.items[1]!, dict({ verbs: new List(['new']) })]));
    }, text);
    expect(after).not.toContain('about a');
    expect(after).not.toContain('first');
    expect(after).toContain('# about b\n- kind: A\n  metadata:\n    name: c # b\n');
    expect(after.match(/# second/g)).toHaveLength(1);
  });

  it('has the results of the script', () => {
    const text = change((_, list) =>
      list.set('results', new List([dict({ message: 'm', severity: 'info' })])),
    );
    expect(text).toBe(`${TEXT}results:\n- message: m\n  severity: info\n`);
  });

  it.each<[string, (items: List, list: Dict) => void, RegExp]>([
    ['an item that is text', (items) => void items.items.push('x'), /items"\]\[2\]: it is a string/],
    ['items that are None', (_, list) => list.set('items', null), /its items are None/],
    ['a value that contains itself', (items) => set(at(items, 0), 'self', at(items, 0)), /contains itself/],
    [
      'values that multiply',
      (items) => {
        let value: Value = new List([1]);
        for (let i = 0; i < 60; i++) value = new List([value, value]);
        set(at(items, 0), 'x', value);
      },
      /more than 3000000 values/,
    ],
  ])('refuses %s', (_, work, message) => expect(() => change(work)).toThrow(message));

  it('cannot set a prototype', () => {
    const text = `${HEAD}items:\n- __proto__:\n    polluted: 1\n`;
    expect(change((items) => set(at(items, 0, '__proto__'), 'constructor', 2), text)).toBe(
      `${text}    constructor: 2\n`,
    );
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});
