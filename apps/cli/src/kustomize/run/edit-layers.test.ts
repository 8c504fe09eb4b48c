import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { JsonObject } from '@krmhub/schema/definition';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import type { Layer, ListedFunction } from '../../function-configs/layers.js';
import { editLayers } from './edit-layers.js';
import type { PlannedFunction } from './planned-function.js';

let folder: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(path.join(tmpdir(), 'krmhub-edit-')));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const at = (name: string) => path.join(folder, name);
async function write(files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(at(name)), { recursive: true });
    await writeFile(at(name), text);
  }
}

function listed(file: string, more: Partial<ListedFunction> = {}): ListedFunction {
  const request = { apiVersion: 'example.com/v1', kind: 'SetLabels', catalogs: [] };
  const place = { line: 1, column: 1, document: 0, path: [], field: 'transformers', inline: false } as const;
  return {
    request,
    file: at(file),
    layer: at('app'),
    entry: { index: 0, text: path.basename(file) },
    ...place,
    ...more,
  };
}
const planned = (one: ListedFunction, image = 'a@sha256:1'): PlannedFunction => ({
  listed: one,
  place: { position: 'fn.yaml:1', name: 'example.com/v1 SetLabels' },
  annotation: `container:\n  image: ${image}\n`,
  keepsAnnotation: false,
  notes: [],
  image,
  network: false,
  run: () => Promise.reject(new Error('not run')),
});
const layer = (name: string, more: Partial<Layer> = {}): Layer => ({
  folder: at(name),
  file: at(`${name}/kustomization.yaml`),
  type: 'kustomization',
  use: 'package',
  resources: [],
  catalogs: [{ text: 'catalog.yaml', folder: at(name) }],
  functions: [],
  layers: [],
  ...more,
});
const ANNOTATION = 'config.kubernetes.io/function';

describe('edited layers', () => {
  it('have no catalogs, and functionConfigs with runtime and name', async () => {
    await write({
      'app/kustomization.yaml': '# c\n\n# of it\ncatalogs:\n- catalog.yaml\ntransformers: # t\n- fn.yaml\n',
      'app/fn.yaml': '# keep\napiVersion: example.com/v1\nkind: SetLabels # keep\n',
    });
    const fn = listed('app/fn.yaml');
    const { texts } = await editLayers(layer('app', { functions: [fn] }), [planned(fn)]);
    expect(texts.get(at('app/kustomization.yaml'))).toBe('# c\n\ntransformers: # t\n- fn.yaml\n');
    const text = texts.get(at('app/fn.yaml'))!;
    expect(parse(text).metadata).toEqual({
      name: 'set-labels',
      annotations: { [ANNOTATION]: 'container:\n  image: a@sha256:1\n' },
    });
    expect(text.match(/# keep/g)).toHaveLength(2);
  });

  const fn = (metadata = '') => `apiVersion: example.com/v1\nkind: SetLabels\n${metadata}`;
  const windows = (text: string) => text.replaceAll('\n', '\r\n');
  it.each([
    ['no metadata', fn('owner:   "x" # ours\n')],
    ['empty metadata', fn('metadata: # none\nspec: 1\n')],
    ['null metadata', 'apiVersion: example.com/v1\nmetadata: ~\nkind: SetLabels\n'],
    ['empty flow metadata', fn('metadata: {}\n')],
    ['flow metadata', fn('metadata: { labels: {a: b} } # c\n')],
    ['block metadata', fn('metadata:\n    # c\n    labels:\n        a: b\nspec: {}\n')],
    ['other annotations', fn('metadata:\n  annotations:\n    a: b # c\n  labels: {}\n')],
    ['null annotations', fn('metadata:\n  annotations:\n  labels: {}\n')],
    [
      'another runtime',
      fn(
        `metadata:\n  annotations:\n    ${ANNOTATION}: |\n      exec:\n        path: x\n\n    b: c\n  name: ''\n`,
      ),
    ],
    [
      'a license in a document of its own',
      `# License\n\n---\n${fn('spec: >\n  a\n  b\n')}---\nkind:  Other\n`,
    ],
    ['anchors', fn('a: &a [ 1,  2 ]\nb: *a # again\n<<: &m {x: y}\n')],
    ['an anchor that is used elsewhere', fn('metadata: &m\n  labels: {}\ncopy: *m\n')],
    ['JSON', '{\n\t"apiVersion": "example.com/v1",\n\t"kind": "SetLabels"\n}\n'],
    ['a byte order mark', `\ufeff${fn()}`],
    ['no line break at the end', fn().trimEnd()],
    ['a document marker', `---\n${fn()}...\n`],
  ])('set the runtime in a file with %s, and change nothing else', async (_, text) => {
    for (const own of [text, windows(text)]) {
      await write({ 'app/kustomization.yaml': 'transformers: [fn.yaml]\n', 'app/fn.yaml': own });
      const fn = listed('app/fn.yaml');
      const { texts } = await editLayers(layer('app', { functions: [fn] }), [planned(fn)]);
      const edited = texts.get(at('app/fn.yaml'))!;
      const [before, after] = [own, edited].map((one) => parseAllDocuments(one).map((doc) => doc.toJS()));
      const index = before!.findIndex((one) => one !== null);
      const { metadata } = before![index];
      const annotations = { ...metadata?.annotations, [ANNOTATION]: 'container:\n  image: a@sha256:1\n' };
      before![index].metadata = { ...metadata, name: 'set-labels', annotations };
      expect(after).toEqual(before);
      expect(edited.includes('\r\n')).toBe(own.includes('\r\n'));
      // No line was changed but those of the metadata, and the one that a comma was added to.
      const lines = edited.split('\n');
      const lost = own.split('\n').filter((line) => !lines.includes(line));
      for (const line of lost)
        expect(line).toMatch(/metadata|annotations|name|exec|path|"kind"|\*m|SetLabels$/);
    }
  });

  it.each([
    ['an alias', 'a: &m {x: y}\nmetadata: *m\nkind: A\n'],
    ['an alias that names itself', 'kind: A\nmetadata: &m\n  a: *m\n'],
    ['a list', '- kind: A\n'],
    ['a text', 'metadata: text\n'],
    ['a text in a List', 'kind: List\nitems: [{metadata: text}]\n'],
    ['a syntax error', 'kind: [A\n'],
  ])('are refused for a functionConfig with %s', async (_, text) => {
    await write({ 'app/kustomization.yaml': 'transformers: [fn.yaml]\n', 'app/fn.yaml': text });
    const fn = listed('app/fn.yaml', text.includes('items') ? { path: ['items', 0] } : {});
    await expect(editLayers(layer('app', { functions: [fn] }), [planned(fn)])).rejects.toMatchObject({
      code: 'invalid-document',
      message: expect.stringContaining('fn.yaml'),
    });
  });

  it.each([
    ['first', 'catalogs:\n- a # b\n- c\n# d\nresources: [e]\n', '# d\nresources: [e]\n'],
    ['in the middle', 'a: 1\ncatalogs: [a,\n  b]\nresources: [e]\n', 'a: 1\nresources: [e]\n'],
    ['last', 'a: 1\ncatalogs:\n  - b\n', 'a: 1\n'],
    ['alone', 'catalogs: [a]\n', '{}\n'],
    ['empty', 'catalogs:\na: 1\n', 'a: 1\n'],
    ['missing', 'a: 1 # b\n', 'a: 1 # b\n'],
    ['JSON, first', '{"catalogs": ["a"], "b": 1}', '{"b": 1}'],
    ['JSON, last', '{"b": 1,\n "catalogs": [\n"a"]}', '{"b": 1}'],
    ['JSON, alone', '{"catalogs": ["a"]}', '{}'],
    ['in another case', 'a: 1\nCatalogs: [a]\n', 'a: 1\n'],
    ['a quoted key', '"catalogs": [a]\nb: 1\n', 'b: 1\n'],
    ['an anchor', 'catalogs: &c [a]\nresources: *c\n', 'resources: &c [a]\n'],
  ])('have no catalogs that are %s', async (_, text, expected) => {
    for (const change of [(one: string) => one, windows]) {
      await write({ 'app/kustomization.yaml': change(text) });
      const { texts } = await editLayers(layer('app'), []);
      expect(texts.get(at('app/kustomization.yaml'))).toBe(change(expected));
    }
  });

  it('edit what is inside of a kustomization, and move validators behind the transformers', async () => {
    const inline = (name: string) =>
      `apiVersion: example.com/v1\nkind: SetLabels\nmetadata: {name: ${name}}\n`;
    await write({
      'app/kustomization.yaml': `transformers:\n- first.yaml\nvalidators:\n- |-\n  ${inline('x').replaceAll('\n', '\n  ')}---\n  ${inline('y').replaceAll('\n', '\n  ')}\n- builtin.yaml\n`,
    });
    const text = `${inline('x')}---\n${inline('y')}`;
    const functions = [0, 1].map((document) =>
      listed('app/kustomization.yaml', {
        field: 'validators',
        inline: true,
        document,
        entry: { index: 0, text },
      }),
    );
    const { texts } = await editLayers(layer('app', { functions }), [
      planned(functions[0]!, 'x@sha256:1'),
      planned(functions[1]!, 'y@sha256:2'),
    ]);
    const kustomization = parse(texts.get(at('app/kustomization.yaml'))!);
    expect(kustomization.validators).toEqual(['builtin.yaml']);
    expect(kustomization.transformers[0]).toBe('first.yaml');
    expect(parseAllDocuments(kustomization.transformers[1]).map((one) => one.toJS().metadata)).toEqual([
      { name: 'x', annotations: { [ANNOTATION]: 'container:\n  image: x@sha256:1\n' } },
      { name: 'y', annotations: { [ANNOTATION]: 'container:\n  image: y@sha256:2\n' } },
    ]);
  });

  it('name remote bases by their local folder, if these have functions', async () => {
    const url = 'https://git.example.com/team/repository//base?ref=v1';
    await write({
      'app/kustomization.yaml': `resources:\n- ${url}\n- https://git.example.com/plain\n- ${at('app/own.yaml')}\n- ../local\n`,
      'clone/base/kustomization.yaml': 'catalogs: [c.yaml]\ntransformers: [fn.yaml]\n',
      'clone/base/fn.yaml': 'apiVersion: example.com/v1\nkind: SetLabels\n',
    });
    const fn = listed('clone/base/fn.yaml');
    const base = layer('clone/base', { remote: url, functions: [fn] });
    const plain = layer('plain', { remote: 'https://git.example.com/plain', catalogs: [] });
    const { texts, named } = await editLayers(layer('app', { layers: [base, plain] }), [planned(fn)]);
    expect(parse(texts.get(at('app/kustomization.yaml'))!).resources).toEqual([
      '../clone/base',
      'https://git.example.com/plain',
      'own.yaml',
      '../local',
    ]);
    expect(parse(texts.get(at('clone/base/kustomization.yaml'))!)).toEqual({ transformers: ['fn.yaml'] });
    expect(named).toContain(at('local'));
  });

  it('bring a remote file into the folder of the kustomization', async () => {
    await write({
      'app/kustomization.yaml': 'transformers: [a.yaml, "https://example.com/fn.yaml"]\n',
      'fetched/fn.yaml': 'apiVersion: example.com/v1\nkind: SetLabels\n',
    });
    const fn = listed('fetched/fn.yaml', { entry: { index: 1, text: 'https://example.com/fn.yaml' } });
    const { texts } = await editLayers(layer('app', { functions: [fn] }), [planned(fn)]);
    const { transformers } = parse(texts.get(at('app/kustomization.yaml'))!);
    expect(transformers[0]).toBe('a.yaml');
    expect(parse(texts.get(at(`app/${transformers[1]}`))!).kind).toBe('SetLabels');
  });

  it('refuse two runtimes for one file', async () => {
    await write({
      'app/kustomization.yaml': 'resources: [sub]\ntransformers: [sub/fn.yaml]\n',
      'app/sub/kustomization.yaml': 'transformers: [fn.yaml]\n',
      'app/sub/fn.yaml': 'apiVersion: example.com/v1\nkind: SetLabels\n',
    });
    const outer = listed('app/sub/fn.yaml');
    const inner = listed('app/sub/fn.yaml', { layer: at('app/sub') });
    const root = layer('app', { functions: [outer], layers: [layer('app/sub', { functions: [inner] })] });
    await expect(editLayers(root, [planned(outer), planned(inner, 'b@sha256:2')])).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('their catalogs have different runtimes'),
    });
    const same = await editLayers(root, [planned(outer), planned(inner)]);
    expect(same.texts.get(at('app/sub/fn.yaml'))!.match(/sha256:1/g)).toHaveLength(1);
  });
});

describe('a Composition', () => {
  const module = (kind: string, name: string) => ({ apiVersion: 'example.com/v1', kind, metadata: { name } });
  const composition = (modules: object[]) => {
    const isFunction = ({ kind }: { kind?: string }) => kind === 'SetLabels';
    const functions = modules.flatMap((one, index) =>
      isFunction(one)
        ? [listed('app/composition.yaml', { field: 'modules', module: index, path: ['modules', index] })]
        : [],
    );
    return layer('app', { type: 'composition', functions, modules: modules as JsonObject[] });
  };
  const built = async (modules: object[]) => {
    const root = composition(modules);
    const { texts } = await editLayers(
      root,
      root.functions.map((one) => planned(one)),
    );
    const { generators, transformers } = parse(texts.get(at('app/kustomization.yaml'))!);
    const names = (all: string[]) => all.map((one) => parse(one).metadata.name);
    return { transformers, names: [names(generators), names(transformers)] };
  };

  it('becomes a kustomization with a transformer for each module', async () => {
    const { transformers, names } = await built(['a', 'b', 'c'].map((name) => module('SetLabels', name)));
    expect(names).toEqual([[], ['a', 'b', 'c']]);
    expect(parse(transformers[0]).metadata.annotations).toEqual({
      [ANNOTATION]: 'container:\n  image: a@sha256:1\n',
    });
  });

  it('keeps the order of builtin modules', async () => {
    const generator = module('ConfigMapGenerator', 'g');
    const { names } = await built([generator, module('SetLabels', 'a'), module('PrefixTransformer', 'p')]);
    expect(names).toEqual([['g'], ['a', 'p']]);
    await expect(
      built([module('SetLabels', 'a'), module('SetLabels', 'b'), generator]),
    ).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('the builtin ConfigMapGenerator comes after a module'),
    });
  });
});
