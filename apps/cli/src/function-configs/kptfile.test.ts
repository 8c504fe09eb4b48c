import { afterEach, describe, expect, it } from 'vitest';
import { config, type TestPackage, testPackage } from '../testing/package-files.js';

let pack: TestPackage;
afterEach(() => pack.remove());

async function read(files: Record<string, string>, target = 'app') {
  pack = await testPackage(files);
  return pack.inspect(target);
}

const kptfile = (pipeline: string, annotations = '') =>
  `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n${annotations}pipeline:\n${pipeline}`;

describe('a Kptfile', () => {
  it('lists its pipeline and those of its subpackages, which run first', async () => {
    const { layer, functions, problems } = await read({
      'app/Kptfile': kptfile(
        `  mutators:
  - image: gcr.io/kpt-fn/set-labels:v0.2
    configPath: labels.yaml
  - image: gcr.io/kpt-fn/set-namespace:v0.4
    configMap: {namespace: x}
  - exec: ./local
    name: mine
  validators:
  - configPath: check.yaml
`,
        '  annotations:\n    krmhub.dev/catalogs: |\n      catalog.yaml\n\n      https://example.com/catalog.yaml\n',
      ),
      'app/labels.yaml': config('SetLabels', 'runtime: is ignored\n'),
      'app/check.yaml': config('Check'),
      'app/z/Kptfile': kptfile('  mutators: [{image: a, configPath: z.yaml}]\n'),
      'app/z/z.yaml': config('Z'),
      'app/plain/deep/Kptfile': kptfile('  mutators: [{image: a, configPath: deep.yaml}]\n'),
      'app/plain/deep/deep.yaml': config('Deep'),
      'app/.git/Kptfile': 'not: [read',
    });
    expect(problems).toEqual([]);
    expect(functions).toEqual([
      'mutators Deep app/plain/deep/deep.yaml:1:1',
      'mutators Z app/z/z.yaml:1:1',
      'mutators SetLabels app/labels.yaml:1:1',
      'mutators ConfigMap app/Kptfile:14:5',
      'mutators ConfigMap app/Kptfile:16:5',
      'validators Check app/check.yaml:1:1',
    ]);
    const image = (name: string) => ({
      type: 'container',
      image: name,
      network: false,
      mounts: [],
      envs: [],
    });
    expect(layer!.functions.map(({ request, written, name }) => [request.inline, written, name])).toEqual([
      [undefined, image('gcr.io/kpt-fn/set-labels:v0.2'), 'setlabels'],
      [image('gcr.io/kpt-fn/set-namespace:v0.4'), image('gcr.io/kpt-fn/set-namespace:v0.4'), undefined],
      [
        { type: 'exec', path: './local', args: [], envs: [] },
        { type: 'exec', path: './local', args: [], envs: [] },
        'mine',
      ],
      [undefined, undefined, 'check'],
    ]);
    expect(layer!.catalogs.map(({ text }) => text)).toEqual([
      'catalog.yaml',
      'https://example.com/catalog.yaml',
    ]);
    expect(layer!.layers.map(({ catalogs, use }) => [catalogs, use])).toEqual([
      [[], 'subpackage'],
      [[], 'subpackage'],
    ]);
  });

  it('is read by its path where the folder has a kustomization too', async () => {
    const files = {
      'app/Kptfile': kptfile('  mutators: [{image: a}]\n'),
      'app/kustomization.yaml': 'namePrefix: x\n',
    };
    const { functions } = await read(files, 'app/Kptfile');
    expect(functions).toEqual(['mutators ConfigMap app/Kptfile:6:14']);
    expect((await pack.inspect('app')).functions).toEqual([]);
    expect((await pack.inspect('app', { type: 'kptfile' })).functions).toEqual(functions);
  });

  it('warns about unknown fields, and lists the others', async () => {
    const files = {
      'app/Kptfile': kptfile('  mutators: [{image: a, whn: b}]\nstatus: {renderStatus: {new: 1}}\n'),
    };
    const { functions, problems } = await read(files);
    expect(functions).toEqual(['mutators ConfigMap app/Kptfile:6:14']);
    expect(problems).toEqual([
      'config/unknown-field app/Kptfile:6:25 unknown field "whn" has no effect: krmhub knows the fields of kpt 1.0; did you mean "when"?',
    ]);
  });

  it.each<[what: string, files: Record<string, string>, problem: RegExp]>([
    [
      'another kind',
      { 'app/Kptfile': 'kind: ConfigMap\n' },
      /^config\/kind app\/Kptfile:1:7 .*Kind=ConfigMap/,
    ],
    [
      'an image and an executable',
      { 'app/Kptfile': kptfile('  mutators: [{image: a, exec: b}]\n') },
      /^config\/pipeline app\/Kptfile:6:14 must not specify both `image` and `exec`/,
    ],
    [
      'two configurations',
      { 'app/Kptfile': kptfile('  mutators: [{image: a, configPath: b, configMap: {a: b}}]\n') },
      /`configMap` and `configPath`/,
    ],
    [
      'an image that is not a string',
      { 'app/Kptfile': kptfile('  mutators: [{image: [1]}]\n') },
      /`image` is not a string/,
    ],
    [
      'an entry that is not a mapping',
      { 'app/Kptfile': kptfile('  mutators: [a]\n') },
      /the entry is not a mapping/,
    ],
    ['a list that is none', { 'app/Kptfile': kptfile('  validators: {}\n') }, /^config\/wrong-type/],
    [
      'an old version',
      { 'app/Kptfile': kptfile('').replace('v1', 'v1alpha2') },
      /^config\/kind app\/Kptfile:2:7 Kptfile at "app\/Kptfile" has an old version/,
    ],
    [
      'an expression that is not valid',
      { 'app/Kptfile': kptfile('  mutators: [{image: a, resourceFileRegexp: "("}]\n') },
      /^config\/pipeline app\/Kptfile:6:45 invalid regular expression/,
    ],
    [
      'a missing file',
      { 'app/Kptfile': kptfile('  mutators: [{image: a, configPath: b.yaml}]\n') },
      /^config\/not-found app\/Kptfile:6:37 cannot read b.yaml/,
    ],
    [
      'a file of a subpackage',
      {
        'app/Kptfile': kptfile('  mutators: [{image: a, configPath: b/c.yaml}]\n'),
        'app/b/Kptfile': kptfile(''),
        'app/b/c.yaml': config('C'),
      },
      /^config\/not-found app\/Kptfile:6:37 cannot read b\/c.yaml: it is not a file of resources of this package/,
    ],
    [
      'a file that .krmignore excludes',
      {
        'app/Kptfile': kptfile('  mutators: [{image: a, configPath: b.yaml}]\n'),
        'app/b.yaml': config('B'),
        'app/.krmignore': 'b.yaml\n',
      },
      /^config\/not-found app\/Kptfile:6:37 cannot read b.yaml: it is not a file of resources/,
    ],
    [
      'a file outside',
      { 'app/Kptfile': kptfile('  mutators: [{image: a, configPath: ../b.yaml}]\n'), 'b.yaml': '' },
      /^config\/pipeline app\/Kptfile:6:37 path must not be outside the package/,
    ],
    [
      'two functionConfigs in a file',
      {
        'app/Kptfile': kptfile('  mutators: [{image: a, configPath: b.yaml}]\n'),
        'app/b.yaml': `${config('A')}---\n${config('B')}`,
      },
      /^config\/pipeline .* b.yaml has 2 functionConfigs, expected one/,
    ],
    [
      'catalogs that are not a string',
      { 'app/Kptfile': kptfile('  mutators: []\n', '  annotations: {krmhub.dev/catalogs: [a]}\n') },
      /^config\/wrong-type/,
    ],
  ])('is refused with %s', async (_, files, problem) => {
    const { problems } = await read(files);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(problem);
  });

  it('is read beside a kustomization of its folder only where both are wanted', async () => {
    const { functions } = await read({
      'app/Kptfile': kptfile('  mutators: [{image: a}]\n'),
      'app/sub/Kptfile': kptfile('  mutators: [{image: b}]\n'),
      'app/kustomization.yaml': 'transformers: [labels.yaml]\n',
      'app/labels.yaml': config('SetLabels'),
    });
    const built = ['transformers SetLabels app/labels.yaml:1:1'];
    expect(functions).toEqual(built);
    expect((await pack.inspect('app', { withKptfile: true })).functions).toEqual([
      'mutators ConfigMap app/sub/Kptfile:6:14',
      'mutators ConfigMap app/Kptfile:6:14',
      ...built,
    ]);
  });

  it('reports a selector that has only unknown fields, and does not list its step', async () => {
    const { functions, problems } = await read({
      'app/Kptfile': kptfile('  mutators: [{image: a, selectors: [{kinds: b}]}]\n'),
    });
    expect(functions).toEqual([]);
    expect(problems).toEqual([
      'config/pipeline app/Kptfile:6:38 the selector has no known field, but `kinds`',
    ]);
  });
});
