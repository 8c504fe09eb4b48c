import { KrmhubError } from '@krmhub/schema/error';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { YamlFile } from './yaml-edits.js';

const NAME = 'config.kubernetes.io/function';
const strings = { metadata: { annotations: { [NAME]: 'container:\n  image: x\n' }, name: 'n' } };

function merged(text: string, path: (string | number)[] = [], document = 0): string {
  const file = new YamlFile(text, 'fn.yaml');
  file.merge(document, path, strings);
  return file.result();
}
const data = (text: string) => parseAllDocuments(text).map((one) => one.toJS());

describe('merge', () => {
  it.each([
    ['no metadata', 'apiVersion: v1\nkind: A\n'],
    ['empty metadata', '# head\napiVersion: v1\nkind: A\nmetadata: # none\nspec: 1\n'],
    ['null metadata', 'apiVersion: v1\nmetadata: ~\nkind: A\n'],
    ['empty flow metadata', 'apiVersion: v1\nkind: A\nmetadata: {}\n'],
    ['flow metadata', 'apiVersion: v1\nkind: A\nmetadata: { labels: {a: b} } # c\n'],
    ['block metadata', 'apiVersion: v1\nkind: A\nmetadata:\n    # c\n    labels:\n        a: b\nspec: {}\n'],
    ['other annotations', 'apiVersion: v1\nkind: A\nmetadata:\n  annotations:\n    a: b # c\n  labels: {}\n'],
    ['null annotations', 'apiVersion: v1\nkind: A\nmetadata:\n  annotations:\n  labels: {}\n'],
    ['Windows line breaks', 'apiVersion: v1\r\nkind: A\r\nmetadata:\r\n  labels: {}\r\n'],
    ['JSON', '{\n\t"apiVersion": "v1",\n\t"kind": "A"\n}\n'],
    ['an empty mapping', '{}'],
    ['a byte order mark', '\ufeffapiVersion: v1\nkind: A\n'],
    ['no line break at the end', 'apiVersion: v1\nkind: A'],
    ['a document marker', '---\napiVersion: v1\nkind: A\n...\n'],
  ])('adds to %s', (_, text) => {
    const result = merged(text);
    const [before] = data(text);
    const [after] = data(result);
    expect(after).toMatchObject(strings);
    for (const [key, value] of Object.entries(before))
      expect(after[key]).toEqual(key === 'metadata' ? expect.objectContaining({}) : value);
    expect(after.metadata).toMatchObject({ ...before.metadata, annotations: {} });
    // No line was changed but for a flow mapping that takes the text.
    const kept = text.split('\n').filter((line) => !result.split('\n').includes(line));
    expect(kept.length).toBeLessThanOrEqual(1);
  });

  it('replaces a runtime, also a block scalar', () => {
    const text = `kind: A\nmetadata:\n  annotations:\n    ${NAME}: |\n      exec:\n        path: x\n\n    b: c\n  name: old\nspec: 1\n`;
    const [after] = data(merged(text));
    expect(after).toEqual({
      kind: 'A',
      metadata: { annotations: { [NAME]: 'container:\n  image: x\n', b: 'c' }, name: 'n' },
      spec: 1,
    });
  });

  it('edits one of several documents, and an item of a list', () => {
    const text =
      '---\n# nothing\n---\nkind: A\n---\nkind: List\nitems:\n  - kind: B\n    spec: 1\n  - kind: C\n';
    expect(data(merged(text, ['items', 0], 1)).at(-1)).toEqual({
      kind: 'List',
      items: [{ kind: 'B', spec: 1, ...strings }, { kind: 'C' }],
    });
    expect(merged(text, [], 0)).toContain(
      '\n---\nkind: List\nitems:\n  - kind: B\n    spec: 1\n  - kind: C\n',
    );
  });

  it.each([
    ['an alias', 'a: &m {x: y}\nmetadata: *m\nkind: A\n'],
    ['an anchor that is used elsewhere', 'metadata: &m\n  labels: {}\ncopy: *m\nkind: A\n'],
    ['an alias that names itself', 'kind: A\nmetadata: &m\n  a: *m\n'],
    ['an anchor on the first key', '&k kind: A\n'],
    ['a list', '- kind: A\n'],
    ['a text', 'metadata: text\n'],
    ['a syntax error', 'kind: [A\n'],
  ])('refuses %s', (_, text) => {
    expect(() => merged(text)).toThrow(KrmhubError);
  });
});

describe('remove', () => {
  const removed = (text: string) => {
    const file = new YamlFile(text, 'kustomization.yaml');
    file.remove(0, 'catalogs');
    return file.result();
  };

  it.each([
    ['first', 'catalogs:\n- a # b\n- c\n# d\nresources: [e]\n', '\n\n\n\nresources: [e]\n'],
    ['in the middle', 'a: 1\ncatalogs: [a,\n  b]\nresources: [e]\n', 'a: 1\n\n\nresources: [e]\n'],
    ['last', 'a: 1\ncatalogs:\n  - b\n', 'a: 1\n\n\n'],
    ['alone', 'catalogs: [a]', '{}'],
    ['empty', 'catalogs:\na: 1\n', '\na: 1\n'],
    ['missing', 'a: 1 # b\n', 'a: 1 # b\n'],
    ['JSON, first', '{"catalogs": ["a"], "b": 1}', '{"b": 1}'],
    ['JSON, last', '{"b": 1,\n "catalogs": [\n"a"]}', '{"b": 1\n\n}'],
    ['JSON, alone', '{"catalogs": ["a"]}', '{}'],
    ['in another case', 'a: 1\nCatalogs: [a]\n', 'a: 1\n\n'],
    ['a quoted key', '"catalogs": [a]\nb: 1\n', '\nb: 1\n'],
  ])('an entry that is %s', (_, text, result) => {
    expect(removed(text)).toBe(result);
  });

  it('refuses to remove an anchor that is used', () => {
    expect(() => removed('catalogs: &c [a]\nresources: *c\n')).toThrow(/anchor/);
  });
});

describe('setList', () => {
  it('replaces a list, and keeps the numbers of the lines after it', () => {
    const file = new YamlFile('a: 1\ntransformers:\n- x\n# c\n- y\nb: 2\n', 'k.yaml');
    expect(file.list(0, 'transformers')).toEqual(['x', 'y']);
    file.setList(0, 'transformers', ['x', 'z\n']);
    expect(file.result()).toBe('a: 1\n"transformers": ["x","z\\n"]\n\n\n\nb: 2\n');
  });

  it('adds a list, beside an entry that is removed', () => {
    const file = new YamlFile('catalogs: [c]\nb: 2\n', 'k.yaml');
    file.remove(0, 'catalogs');
    file.setList(0, 'transformers', ['x']);
    expect(data(file.result())).toEqual([{ transformers: ['x'], b: 2 }]);
    expect(new YamlFile('b: [{}]', 'k.yaml').list(0, 'b')).toBeUndefined();
  });
});
