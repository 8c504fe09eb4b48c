import { afterEach, describe, expect, it } from 'vitest';
import { config, type TestPackage, testPackage } from '../testing/package-files.js';

let pack: TestPackage;
afterEach(() => pack.remove());

async function read(files: Record<string, string>, target = 'app') {
  pack = await testPackage(files);
  return pack.inspect(target);
}

const module = (kind: string, more = '', name = kind.toLowerCase()) =>
  `- apiVersion: example.com/v1\n  kind: ${kind}\n  metadata: {name: ${name}}\n${more}`;

describe('a Composition', () => {
  it('has modules, as the third story of KEP-2906', async () => {
    const { layer, functions, problems } = await read({
      'app/composition.yaml': `kind: Composition
catalogs:
  - https://example.co/kustomize/catalog.yaml
modules:
# generate resources for a Java application
- apiVersion: example.com/v1
  kind: JavaApplication
  spec:
    application: team/my-app
- apiVersion: example.com/v1
  kind: SecretSidecar
  runtime: {container: {image: docker.example.co/module_providers/secrets:v0.9.0}}
  metadata:
    name: my-secrets
`,
    });
    expect(problems).toEqual([]);
    expect(functions).toEqual([
      'modules JavaApplication app/composition.yaml:6:3',
      'modules SecretSidecar app/composition.yaml:10:3',
    ]);
    expect(layer!.type).toBe('composition');
    expect(
      layer!.functions.map(({ request, name, path, module }) => [request.inline, name, path, module]),
    ).toEqual([
      [undefined, undefined, ['modules', 0], 0],
      [
        {
          type: 'container',
          image: 'docker.example.co/module_providers/secrets:v0.9.0',
          network: false,
          mounts: [],
          envs: [],
        },
        'my-secrets',
        ['modules', 1],
        1,
      ],
    ]);
    expect(layer!.functions[0]!.request.catalogs).toMatchObject([
      { text: 'https://example.co/kustomize/catalog.yaml', at: { line: 3, column: 5 } },
    ]);
  });

  it('consolidates modules and catalogs over its imports: its own catalogs first, each once', async () => {
    const { layer, functions, problems } = await read({
      'app/composition.yaml': `kind: Composition
catalogs: [https://a.example.com/catalog.yaml, https://b.example.com/catalog.yaml]
modulesFrom:
- path: ../base/composition.yaml
- {path: ../last, importMode: append}
moduleOverrides:
${module('Base', '  spec: {version: 2}\n  runtime: {exec: {path: ./own}}\n')}modules:
${module('Own')}- apiVersion: builtin
  kind: PrefixTransformer
  metadata: {name: prefix}
- file.yaml
`,
      'app/file.yaml': config('File'),
      'base/composition.yaml': `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Composition
catalogs: [https://b.example.com/catalog.yaml, local.yaml]
transformersFrom: [{path: ../deep/composition.yaml}]
transformers:
${module('Base', '  spec: {version: 1, kept: true}\n')}`,
      'deep/composition.yaml': `kind: Composition\nmodules:\n${module('Deep')}`,
      'last/composition.yaml': `kind: Composition\nmodules:\n${module('Last')}`,
    });
    expect(problems).toEqual([]);
    expect(functions).toEqual([
      'modules Deep deep/composition.yaml:3:3',
      'modules Base base/composition.yaml:6:3',
      'modules Own app/composition.yaml:13:3',
      'modules File app/file.yaml:1:1',
      'modules Last last/composition.yaml:3:3',
    ]);
    expect(layer!.catalogs.map(({ text, folder }) => [text, folder.slice(pack.folder.length)])).toEqual([
      ['https://a.example.com/catalog.yaml', '/app'],
      ['https://b.example.com/catalog.yaml', '/app'],
      ['local.yaml', '/base'],
    ]);
    // The function that an override gives another runtime runs that one.
    expect(layer!.functions[1]!.request.inline).toEqual({ type: 'exec', path: './own', args: [], envs: [] });
    expect(layer!.modules).toHaveLength(6);
    expect(layer!.modules![1]).toMatchObject({ kind: 'Base', spec: { version: 2, kept: true } });
    expect(layer!.modules![3]).toMatchObject({ apiVersion: 'builtin' });
    expect(layer!.functions.map(({ module }) => module)).toEqual([0, 1, 2, 4, 5]);
  });

  it('orders its modules by their names', async () => {
    const { functions, problems } = await read({
      'app/composition.yaml': `kind: Composition
moduleOrder: [{name: second}, {name: http-route, kind: HTTPRoute}]
modules:
- {apiVersion: example.com/v1, kind: HTTPRoute}
${module('Second')}`,
    });
    expect(problems).toEqual([]);
    expect(functions.map((line) => line.split(' ')[1])).toEqual(['Second', 'HTTPRoute']);
  });

  it('may be the base of a kustomization', async () => {
    const { functions, problems } = await read({
      'app/kustomization.yaml': 'resources: [../base]\n',
      'base/composition.yaml': `kind: Composition\nmodules:\n${module('Base')}`,
    });
    expect([functions, problems]).toEqual([['modules Base base/composition.yaml:3:3'], []]);
  });

  it('is read by its file too', async () => {
    const { functions } = await read(
      { 'app/composition.yml': `kind: Composition\nmodules:\n${module('Base')}` },
      'app/composition.yml',
    );
    expect(functions).toEqual(['modules Base app/composition.yml:3:3']);
  });

  const head = 'kind: Composition\n';
  it.each<[what: string, files: Record<string, string>, problem: string | RegExp]>([
    [
      'another kind',
      { 'app/composition.yaml': 'kind: Kustomization\n' },
      /^config\/kind app\/composition.yaml:1:7 the kind is Kustomization/,
    ],
    [
      'another version',
      { 'app/composition.yaml': `${head}apiVersion: v2\n` },
      /^config\/kind app\/composition.yaml:2:13 the apiVersion is v2/,
    ],
    [
      'a kustomization beside it',
      { 'app/composition.yaml': head, 'app/kustomization.yaml': '' },
      /^config\/no-kustomization/,
    ],
    [
      'both names of a field',
      { 'app/composition.yaml': `${head}modules: []\ntransformers: []\n` },
      /^config\/duplicate-field/,
    ],
    [
      'an import that is not there',
      { 'app/composition.yaml': `${head}modulesFrom: [{path: ../b}]\n` },
      /^config\/not-found app\/composition.yaml:2:15 cannot read ..\/b: no such/,
    ],
    [
      'an import of a folder without one',
      { 'app/composition.yaml': `${head}modulesFrom: [{path: ../b}]\n`, 'b/x': '' },
      /has no composition.yaml/,
    ],
    [
      'an import without a path',
      { 'app/composition.yaml': `${head}modulesFrom: [../b]\n` },
      /^config\/import-path/,
    ],
    [
      'an unknown mode',
      { 'app/composition.yaml': `${head}modulesFrom: [{path: b, importMode: x}]\n` },
      /neither prepend nor append/,
    ],
    [
      'a circle of imports',
      {
        'app/composition.yaml': `${head}modulesFrom: [{path: ../b}]\n`,
        'b/composition.yaml': `${head}modulesFrom: [{path: ../app/composition.yaml}]\n`,
      },
      'config/circle b/composition.yaml:2:15 the imports form a cycle: app/composition.yaml → b/composition.yaml → app/composition.yaml',
    ],
    [
      'two modules of one name',
      { 'app/composition.yaml': `${head}modules:\n${module('A')}${module('A')}` },
      /^config\/module app\/composition.yaml:6:3 another module of example.com\/v1 A has the same name, "a"/,
    ],
    [
      'an override of nothing',
      { 'app/composition.yaml': `${head}modules:\n${module('A')}moduleOverrides:\n${module('A')}` },
      /does not match an imported module/,
    ],
    [
      'an order of some modules',
      { 'app/composition.yaml': `${head}moduleOrder: [{name: a}]\nmodules:\n${module('A')}${module('B')}` },
      /does not contain the module "b"/,
    ],
    [
      'an order with another name',
      { 'app/composition.yaml': `${head}moduleOrder: [{name: c}]\nmodules:\n${module('A')}` },
      /the entry matches no module/,
    ],
    [
      'a Kustomization as a module',
      {
        'app/composition.yaml': `${head}modules: [{apiVersion: kustomize.config.k8s.io/v1beta1, kind: Kustomization}]\n`,
      },
      /is not supported as a module/,
    ],
    [
      'a module that is a number',
      { 'app/composition.yaml': `${head}modules: [1]\n` },
      /neither a mapping nor a path/,
    ],
    [
      'a missing file of a module',
      { 'app/composition.yaml': `${head}modules: [a.yaml]\n` },
      /^config\/not-found/,
    ],
    [
      'a file of a module above',
      { 'app/composition.yaml': `${head}modules: [../a.yaml]\n`, 'a.yaml': '' },
      /^config\/outside/,
    ],
    [
      'a module without a kind',
      { 'app/composition.yaml': `${head}modules: [{apiVersion: example.com/v1}]\n` },
      /^config\/not-a-config/,
    ],
  ])('is refused with %s', async (_, files, problem) => {
    const { problems } = await read(files);
    expect(problems).toHaveLength(1);
    if (typeof problem === 'string') expect(problems[0]).toBe(problem);
    else expect(problems[0]).toMatch(problem);
  });

  it('has no field that would have no effect', async () => {
    const { problems } = await read({
      'app/composition.yaml': 'kind: Composition\nmetadata: {name: a}\nmoduels: []\nnamespace: a\n',
    });
    expect(problems).toEqual([
      expect.stringContaining('a Composition has no field `moduels`'),
      expect.stringContaining('a Composition has no field `namespace`'),
    ]);
  });

  it('merges keys of every object as any other key', async () => {
    const { layer, problems } = await read({
      'app/composition.yaml': `kind: Composition\nmodulesFrom: [{path: ../base}]\nmoduleOverrides:\n${module('A', '  toString: {a: 1}\n  constructor: {b: 2}\n')}`,
      'base/composition.yaml': `kind: Composition\nmodules:\n${module('A')}`,
    });
    expect(problems).toEqual([]);
    expect(JSON.stringify(layer!.modules![0])).toContain('"toString":{"a":1},"constructor":{"b":2}');
  });
});
