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
      'app/kustomization.yaml': '# c\ncatalogs:\n- catalog.yaml\ntransformers: # t\n- fn.yaml\n',
      'app/fn.yaml': '# keep\napiVersion: example.com/v1\nkind: SetLabels # keep\n',
    });
    const fn = listed('app/fn.yaml');
    const { texts } = await editLayers(layer('app', { functions: [fn] }), [planned(fn)]);
    expect(texts.get(at('app/kustomization.yaml'))).toBe('# c\n\n\ntransformers: # t\n- fn.yaml\n');
    const text = texts.get(at('app/fn.yaml'))!;
    expect(parse(text).metadata).toEqual({
      name: 'set-labels',
      annotations: { [ANNOTATION]: 'container:\n  image: a@sha256:1\n' },
    });
    expect(text.match(/# keep/g)).toHaveLength(2);
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
