import { chmodSync, chownSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { config, type TestPackage, testPackage } from '../testing/package-files.js';
import { LAYER_LIMITS } from './limits.js';

let pack: TestPackage;
const NOBODY = 65_534;
afterEach(() => pack.remove());

async function read(files: Record<string, string>, target = 'app') {
  pack = await testPackage(files);
  return pack.inspect(target);
}

describe('a kustomization', () => {
  it('takes a functionConfig without apiVersion that names its own runtime, and any name', async () => {
    const { functions, problems } = await read({
      'app/kustomization.yaml': 'generators: [own.yaml]\ntransformers: [other.yaml]\n',
      'app/own.yaml':
        'kind: executable\nmetadata:\n  name: yes\n  annotations:\n    config.kubernetes.io/function: "exec: {path: ./a.sh}"\n',
      'app/other.yaml': 'kind: Other\n',
    });
    expect(functions).toEqual(['generators executable app/own.yaml:1:1']);
    expect(problems).toEqual([expect.stringContaining('the document has no apiVersion')]);
  });

  it('lists generators, transformers and validators, those of its bases and components first', async () => {
    const { layer, functions, problems } = await read({
      'app/kustomization.yaml': `resources: [deployment.yaml, ../base]
components: [../extra]
validators: [check.yaml]
transformers: [first.yaml, second.yaml]
generators: [make.yaml]
catalogs: [catalog.yaml, https://example.com/catalog.yaml]
`,
      'app/deployment.yaml': 'this: [is not read',
      'app/check.yaml': config('Check'),
      'app/first.yaml': config('First'),
      'app/second.yaml': `# comment\n${config('Second')}---\n${config('Third')}`,
      'app/make.yaml': config('Make'),
      'base/kustomization.yml': 'transformers: [base.yaml]\ncatalogs: [base-catalog.yaml]\n',
      'base/base.yaml': config('Base'),
      'extra/Kustomization': 'kind: Component\ntransformers: [extra.yaml]\n',
      'extra/extra.yaml': config('Extra'),
    });
    expect(problems).toEqual([]);
    expect(functions).toEqual([
      'transformers Base base/base.yaml:1:1',
      'generators Make app/make.yaml:1:1',
      'transformers Extra extra/extra.yaml:1:1',
      'transformers First app/first.yaml:1:1',
      'transformers Second app/second.yaml:2:1',
      'transformers Third app/second.yaml:7:1',
      'validators Check app/check.yaml:1:1',
    ]);
    expect([layer!.type, layer!.use, ...layer!.layers.map(({ type, use }) => `${type} ${use}`)]).toEqual([
      'kustomization',
      'package',
      'kustomization base',
      'component component',
    ]);
  });

  it('gives each layer the catalogs that it names, with their positions, and no others', async () => {
    const { layer } = await read({
      'app/kustomization.yaml':
        'resources: [../base]\ncatalogs:\n- one.yaml\n- oci://example.com/two:1\ntransformers: [a.yaml]\n',
      'app/a.yaml': config('A'),
      'base/kustomization.yaml': 'transformers: [b.yaml]\n',
      'base/b.yaml': config('B'),
    });
    expect(layer!.catalogs).toEqual([
      { text: 'one.yaml', folder: layer!.folder, at: { file: 'app/kustomization.yaml', line: 3, column: 3 } },
      {
        text: 'oci://example.com/two:1',
        folder: layer!.folder,
        at: { file: 'app/kustomization.yaml', line: 4, column: 3 },
      },
    ]);
    expect(layer!.functions[0]!.request).toMatchObject({ apiVersion: 'example.com/v1', kind: 'A' });
    expect(layer!.functions[0]!.request.catalogs).toBe(layer!.catalogs);
    expect(layer!.layers[0]!.functions[0]!.request.catalogs).toEqual([]);
  });

  it('reads functionConfigs that are written in it, before those in files, at their positions', async () => {
    const { functions, problems, layer } = await read({
      'app/kustomization.yaml': `transformers:
- file.yaml
- |-
  # a comment
  apiVersion: example.com/v1
  kind: Literal
  metadata: {name: literal}
  ---
  apiVersion: example.com/v1
  kind: Later
  metadata: {name: later}
- "{apiVersion: example.com/v1, kind: Flow, metadata: {name: flow}}"
- >
  apiVersion: example.com/v1

  kind: Folded

  metadata: {name: folded}
`,
      'app/file.yaml': config('File'),
    });
    expect(problems).toEqual([]);
    expect(functions).toEqual([
      'transformers Literal app/kustomization.yaml:5:3',
      'transformers Later app/kustomization.yaml:9:3',
      'transformers Flow app/kustomization.yaml:12:3',
      'transformers Folded app/kustomization.yaml:13:3',
      'transformers File app/file.yaml:1:1',
    ]);
    expect(layer!.functions.map(({ inline, entry, document }) => [inline, entry?.index, document])).toEqual([
      [true, 1, 0],
      [true, 1, 1],
      [true, 2, 0],
      [true, 3, 0],
      [false, 0, 0],
    ]);
  });

  it('takes the resources of a kustomization for functionConfigs where a list names its folder', async () => {
    const { functions, problems, layer } = await read({
      'app/kustomization.yaml': 'transformers: [configs]\ncatalogs: [ours.yaml]\n',
      'app/configs/kustomization.yaml':
        'resources: [a.yaml, more]\ncomponents: [part]\nnamePrefix: x-\ncatalogs: [theirs.yaml]\n',
      'app/configs/a.yaml': config('A'),
      'app/configs/more/kustomization.yaml': 'resources: [b.yaml]\n',
      'app/configs/more/b.yaml': config('B'),
      'app/configs/part/kustomization.yaml': 'kind: Component\nresources: [c.yaml]\n',
      'app/configs/part/c.yaml': config('C'),
    });
    expect(problems).toEqual([]);
    expect(functions).toEqual([
      'transformers A app/configs/a.yaml:1:1',
      'transformers B app/configs/more/b.yaml:1:1',
      'transformers C app/configs/part/c.yaml:1:1',
    ]);
    expect(layer!.layers.map(({ use }) => use)).toEqual(['configs']);
    expect(layer!.functions.map(({ request }) => request.catalogs[0]!.text)).toEqual([
      'ours.yaml',
      'ours.yaml',
      'ours.yaml',
    ]);
  });

  it('leaves out what kustomize itself runs, and takes a List apart', async () => {
    const { functions, layer } = await read({
      'app/kustomization.yaml': 'transformers: [all.yaml]\n',
      'app/all.yaml': `apiVersion: builtin
kind: PrefixTransformer
metadata: {name: prefix}
---
apiVersion: v1
kind: List
items:
- apiVersion: example.com/v1
  kind: One
  metadata: {name: one}
- apiVersion: example.com/v1
  kind: OtherList
  items:
  - {apiVersion: example.com/v1, kind: Two}
  - {apiVersion: builtin, kind: NamespaceTransformer}
---
apiVersion: example.com/v1
kind: AllowList
metadata: {name: no-items}
---
apiVersion: example.com/v1
kind: EmptyList
items:
`,
    });
    expect(functions).toEqual([
      'transformers One app/all.yaml:8:3',
      'transformers Two app/all.yaml:14:5',
      'transformers AllowList app/all.yaml:17:1',
    ]);
    expect(layer!.functions.map(({ path }) => path)).toEqual([['items', 0], ['items', 1, 'items', 0], []]);
  });

  it('is read with fields in any case, as by kustomize', async () => {
    const { functions } = await read({
      'app/kustomization.yaml': 'Transformers: [a.yaml]\n"generator\u017f": [b.yaml]\n',
      'app/a.yaml': config('A'),
      'app/b.yaml': config('B'),
    });
    expect(functions).toEqual(['generators B app/b.yaml:1:1', 'transformers A app/a.yaml:1:1']);
  });

  it('may contain values of which YAML readers disagree, where nothing is read of them', async () => {
    const { functions, problems } = await read({
      'app/kustomization.yaml': 'transformers: [a.yaml]\ncommonLabels: {enabled: yes}\n',
      'app/a.yaml': config(
        'A',
        'spec:\n  mode: 0644\n  on: yes\n  big: 123456789012345678901234567890\n  <<: {}\n',
      ),
    });
    expect([functions, problems]).toEqual([['transformers A app/a.yaml:1:1'], []]);
  });
});

describe('a problem of a kustomization', () => {
  const base = { 'app/kustomization.yaml': 'transformers: [a.yaml]\n' };
  const cases: [what: string, files: Record<string, string>, problem: string | RegExp][] = [
    [
      'a missing file',
      base,
      'config/not-found app/kustomization.yaml:1:16 cannot read a.yaml: no such file or folder',
    ],
    [
      'a file that a link leads out with',
      { ...base, 'app/a.yaml': '→ ../b.yaml', 'b.yaml': config('B') },
      'config/outside app/kustomization.yaml:1:16 the file a.yaml is outside app',
    ],
    [
      'a file above',
      { 'app/kustomization.yaml': 'generators: [../b.yaml]', 'b.yaml': config('B') },
      'config/outside app/kustomization.yaml:1:14 the file ../b.yaml is outside app',
    ],
    [
      'a resource above',
      { 'app/kustomization.yaml': 'resources: [../b.yaml]', 'b.yaml': config('B') },
      'config/outside app/kustomization.yaml:1:13 the file ../b.yaml is outside app',
    ],
    [
      'a base without a kustomization',
      { 'app/kustomization.yaml': 'resources: [../base]', 'base/x.yaml': '' },
      'config/no-kustomization app/kustomization.yaml:1:13 base has no kustomization',
    ],
    [
      'two kustomizations in a folder',
      { ...base, 'app/Kustomization': '' },
      'config/no-kustomization app:0:0 app has several kustomizations or Compositions',
    ],
    [
      'a circle of bases',
      {
        'app/kustomization.yaml': 'resources: [../b]',
        'b/kustomization.yaml': 'resources: [../c]',
        'c/kustomization.yaml': 'resources: [../b]',
      },
      'config/circle c/kustomization.yaml:1:13 the bases form a cycle: b → c → b',
    ],
    [
      'a base above, as in kustomize',
      { 'kustomization.yaml': '', 'app/kustomization.yaml': 'resources: [..]' },
      'config/circle app/kustomization.yaml:1:13 the bases form a cycle: app → .',
    ],
    [
      'a component as a base',
      { 'app/kustomization.yaml': 'resources: [../b]', 'b/kustomization.yaml': 'kind: Component' },
      'config/kind app/kustomization.yaml:1:13 b/kustomization.yaml is a Component, expected a Kustomization',
    ],
    [
      'a base as a component',
      { 'app/kustomization.yaml': 'components: [../b]', 'b/kustomization.yaml': 'namePrefix: x' },
      'config/kind app/kustomization.yaml:1:14 b/kustomization.yaml is a Kustomization, expected a Component',
    ],
    [
      'a file as a component',
      { 'app/kustomization.yaml': 'components: [b.yaml]', 'app/b.yaml': '' },
      'config/kind app/kustomization.yaml:1:14 b.yaml is a file, expected a folder',
    ],
    [
      'another kind',
      { 'app/kustomization.yaml': 'kind: ConfigMap\n' },
      'config/kind app/kustomization.yaml:1:7 the kind is ConfigMap, expected Kustomization or Component',
    ],
    [
      'a list that is none',
      { 'app/kustomization.yaml': 'transformers: a.yaml\n' },
      'config/wrong-type app/kustomization.yaml:1:15 `transformers` is not a list',
    ],
    [
      'an item that is not a string',
      { 'app/kustomization.yaml': 'transformers:\n- apiVersion: example.com/v1\n  kind: A\n' },
      'config/wrong-type app/kustomization.yaml:2:3 an item of `transformers` is not a string',
    ],
    [
      'a field in two cases',
      { 'app/kustomization.yaml': 'transformers: []\nTransformers: [a.yaml]\n' },
      'config/duplicate-field app/kustomization.yaml:2:1 `Transformers` and `transformers` are the same field',
    ],
    [
      'a merge key, which could add any field',
      { 'app/kustomization.yaml': 'x: &x {transformers: [a.yaml]}\n<<: *x\n' },
      'yaml/merge-key app/kustomization.yaml:2:1 merge keys (<<) are not allowed',
    ],
    [
      'a key twice, of which kustomize takes the last',
      { 'app/kustomization.yaml': 'transformers: [a.yaml]\ntransformers: []\n' },
      'yaml/duplicate-key app/kustomization.yaml:2:1 duplicate key "transformers", first used at 1:1',
    ],
    [
      'an empty kustomization',
      { 'app/kustomization.yaml': '# nothing\n' },
      /config\/not-found .* the file is empty/,
    ],
    [
      'broken YAML',
      { 'app/kustomization.yaml': 'transformers: [a.yaml\n' },
      /^yaml\/syntax app\/kustomization.yaml/,
    ],
    [
      'a document without a kind',
      { ...base, 'app/a.yaml': 'apiVersion: example.com/v1\n' },
      'config/not-a-config app/a.yaml:1:1 the document has no kind',
    ],
    [
      'a document without an apiVersion',
      { ...base, 'app/a.yaml': 'kind: A\n' },
      'config/not-a-config app/a.yaml:1:1 the document has no apiVersion',
    ],
    [
      'a document that is not a mapping',
      { ...base, 'app/a.yaml': '- A\n' },
      'config/not-a-config app/a.yaml:1:1 the document is not a mapping',
    ],
    [
      'a kind of which readers disagree',
      { ...base, 'app/a.yaml': 'apiVersion: example.com/v1\nkind: off\n' },
      /^yaml\/ambiguous-scalar app\/a.yaml:2:7/,
    ],
    [
      'a merge key in metadata, which could add an annotation',
      { ...base, 'app/a.yaml': 'x: &x {}\nkind: A\napiVersion: example.com/v1\nmetadata:\n  <<: *x\n' },
      /^yaml\/merge-key app\/a.yaml:5:3/,
    ],
    [
      'a runtime that is not understood',
      { ...base, 'app/a.yaml': config('A', 'runtime: {container: {img: a}}\n') },
      'config/runtime app/a.yaml:5:28 unknown field `img` of `container`',
    ],
    [
      'text that is neither a path nor YAML',
      { 'app/kustomization.yaml': 'transformers:\n- |\n  a: [b\n  c\n' },
      /^yaml\/syntax app\/kustomization.yaml:[34]:/,
    ],
    [
      'a remote base that is not read',
      { 'app/kustomization.yaml': 'resources: ["https://github.com/org/repo//base?ref=v1"]\n' },
      'config/remote app/kustomization.yaml:1:13 the remote base https://github.com/org/repo//base?ref=v1 could not be read',
    ],
    [
      'an absolute path of a base',
      { 'app/kustomization.yaml': 'components: [/tmp]\n' },
      'config/outside app/kustomization.yaml:1:14 the path of the base /tmp is absolute',
    ],
  ];

  it.each(cases)('is %s', async (_, files, problem) => {
    const { problems } = await read(files);
    expect(problems).toHaveLength(1);
    if (typeof problem === 'string') expect(problems[0]).toBe(problem);
    else expect(problems[0]).toMatch(problem);
  });

  it('is a base that the user may not read', async () => {
    pack = await testPackage({
      'app/kustomization.yaml': 'resources: [base]',
      'app/base/kustomization.yaml': '',
    });
    const base = path.join(pack.folder, 'app/base');
    // Root may read everything.
    const isRoot = process.getuid?.() === 0;
    for (const folder of [base, path.dirname(base), pack.folder])
      if (isRoot) chownSync(folder, NOBODY, NOBODY);
    chmodSync(base, 0);
    if (isRoot) process.seteuid?.(NOBODY);
    try {
      expect((await pack.inspect()).problems).toEqual([
        'config/not-found app/kustomization.yaml:1:13 cannot read app/base: permission denied',
      ]);
    } finally {
      if (isRoot) process.seteuid?.(0);
      chmodSync(base, 0o700);
    }
  });

  it.each([
    ['patches', 'patches: [{path: p.yaml}]'],
    ['patchesStrategicMerge', 'patchesStrategicMerge: [p.yaml]'],
    ['replacements', 'replacements: [{path: r.yaml}]'],
    ['configMapGenerator', 'configMapGenerator: [{name: a}]'],
    ['commonAnnotations', 'commonAnnotations: {config.kubernetes.io/function: "container: {image: a}"}'],
    ['transformers', 'transformers: ["{apiVersion: example.com/v1, kind: B}"]'],
  ])('is that %s could change a functionConfig before it is used', async (name, field) => {
    const { problems } = await read({
      'app/kustomization.yaml': 'transformers: [configs]\n',
      'app/configs/kustomization.yaml': `resources: [a.yaml]\n${field}\n`,
      'app/configs/a.yaml': config('A'),
    });
    expect(problems).toEqual([
      expect.stringMatching(`^config/changed-config app/configs/kustomization.yaml:2:.*${name}`),
    ]);
  });

  it('is reported with all others, once each, beside what was found', async () => {
    const { problems, functions } = await read({
      'app/kustomization.yaml': 'resources: [../base, ../other]\ntransformers: [a.yaml, none.yaml]\n',
      'app/a.yaml': config('A'),
      'other/kustomization.yaml': 'resources: [../base]\n',
      'base/kustomization.yaml': 'generators: [missing.yaml]\nvalidators: [../a.yaml]\n',
    });
    expect(problems).toEqual([
      'config/not-found app/kustomization.yaml:2:24 cannot read none.yaml: no such file or folder',
      'config/not-found base/kustomization.yaml:1:14 cannot read missing.yaml: no such file or folder',
      'config/not-found base/kustomization.yaml:2:14 cannot read ../a.yaml: no such file or folder',
    ]);
    expect(functions).toEqual(['transformers A app/a.yaml:1:1']);
  });
});

describe('limits', () => {
  it('end bases that are nested too deeply', async () => {
    const chain = Object.fromEntries(
      Array.from({ length: LAYER_LIMITS.maxLayerDepth + 2 }, (_, at) => [
        `${at}/kustomization.yaml`,
        `resources: [../${at + 1}]\n`,
      ]),
    );
    const { problems } = await read({ ...chain, '40/x': '' }, '0');
    expect(problems).toEqual([
      `config/limit ${LAYER_LIMITS.maxLayerDepth}/kustomization.yaml:1:13 the bases are nested too deeply; the limit is ${LAYER_LIMITS.maxLayerDepth}`,
    ]);
  });

  it('end bases that double at every level', async () => {
    const doubling = Object.fromEntries(
      Array.from({ length: 25 }, (_, at) => [
        `${at}/kustomization.yaml`,
        `resources: [../${at + 1}, ../${at + 1}]\n`,
      ]),
    );
    const { problems } = await read({ ...doubling, '25/kustomization.yaml': 'namePrefix: x\n' }, '0');
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^config\/limit .* there are too many kustomizations/);
  });

  it('end documents with too many functionConfigs, and files that are too large', async () => {
    const many = Array.from({ length: 999 }, () => '{apiVersion: example.com/v1, kind: A}\n').join('---\n');
    const names = Array.from({ length: 11 }, (_, at) => `${at}.yaml`);
    const files = Object.fromEntries(names.map((name) => [`app/${name}`, many]));
    const listed = await read({
      ...files,
      'app/kustomization.yaml': `transformers: [${names.join(', ')}]\n`,
    });
    expect(listed.functions).toHaveLength(LAYER_LIMITS.maxListedFunctions);
    expect(listed.problems).toEqual([expect.stringMatching(/^config\/limit .* too many functionConfigs/)]);
    await pack.remove();
    const large = await read({
      'app/kustomization.yaml': 'transformers: [a.yaml]\n',
      'app/a.yaml': `#${'x'.repeat(4_200_000)}`,
    });
    expect(large.problems).toEqual([expect.stringMatching(/^yaml\/too-large app\/a.yaml/)]);
  });
});
