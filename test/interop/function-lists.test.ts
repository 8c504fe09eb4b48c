import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { listFunctions } from '../../apps/cli/src/function-configs/layers.js';
import { inspectLayers } from '../../apps/cli/src/function-configs/read-layers.js';
import { testIo } from '../../apps/cli/src/testing/command-line.js';
import { config, type TestPackage, testPackage } from '../../apps/cli/src/testing/package-files.js';
import { spawnSync } from '../processes.js';
import { temporaryFolder } from '../running.js';

/**
 * What is listed of a kustomization is what the real kustomize runs, in that order. kubectl has kustomize built in;
 * each kind is a plugin that writes its name to a log, and containers are run by a stand-in for docker that does the
 * same.
 */
const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;
const { folder, remove } = temporaryFolder();
let pack: TestPackage;
afterEach(() => pack.remove());
afterAll(remove);

const log = path.join(folder, 'log');
const bin = path.join(folder, 'bin');
const plugins = path.join(folder, 'plugins');

function script(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
}

/** A plugin of `example.com/v1`: a generator prints a resource, others what they are given. */
function plugin(kind: string): void {
  const file = path.join(plugins, 'example.com/v1', kind.toLowerCase(), kind);
  const name = kind.toLowerCase();
  const output = kind.startsWith('Make')
    ? `printf 'apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: made-${name}}\\n'`
    : 'cat';
  script(file, `echo ${kind} >> ${log}\n${output}`);
}

/** What kubectl runs, or its error. */
function kubectl(target: string): string[] | string {
  writeFileSync(log, '');
  script(path.join(bin, 'docker'), `for last; do :; done; echo "$last" >> ${log}; cat`);
  const run = spawnSync('kubectl', ['kustomize', '--enable-alpha-plugins', path.join(pack.folder, target)], {
    encoding: 'utf8',
    env: { ...process.env, KUSTOMIZE_PLUGIN_HOME: plugins, PATH: `${bin}:${process.env.PATH}` },
  });
  if (run.status !== 0) return run.stderr;
  return readFileSync(log, 'utf8').trim().split('\n').filter(Boolean);
}

/** What we list: the kind, or the image of a container. */
async function listed(target: string): Promise<string[] | string> {
  const { layer, diagnostics } = await inspectLayers(testIo({ cwd: pack.folder }), target);
  if (diagnostics.length > 0) return diagnostics.map(({ code, message }) => `${code}: ${message}`).join('\n');
  return listFunctions(layer!).map(({ request: { kind, inline } }) => {
    plugin(kind);
    return inline?.type === 'container' ? inline.image : kind;
  });
}

const deployment = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n';
const annotated = (kind: string, spec: string, key = 'config.kubernetes.io/function') =>
  `apiVersion: example.com/v1\nkind: ${kind}\nmetadata:\n  name: ${kind.toLowerCase()}\n  annotations:\n    ${key}: |\n      ${spec}\n`;

describe.skipIf(!hasKubectl)('kustomize runs what is listed', () => {
  it.each<[what: string, files: Record<string, string>, kinds: string[]]>([
    [
      'lists of a kustomization, a base and a component',
      {
        'app/kustomization.yaml':
          'resources: [one.yaml, ../base]\ncomponents: [../extra]\nvalidators: [check.yaml]\ntransformers: [first.yaml, second.yaml]\ngenerators: [make.yaml]\n',
        'app/one.yaml': deployment,
        'app/check.yaml': config('Check'),
        'app/first.yaml': config('First'),
        'app/second.yaml': `${config('Second')}---\n${config('Third')}`,
        'app/make.yaml': config('Make'),
        'base/kustomization.yaml': 'generators: [make.yaml]\ntransformers: [base.yaml]\n',
        'base/make.yaml': config('MakeBase'),
        'base/base.yaml': config('Base'),
        'extra/kustomization.yaml':
          'apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ntransformers: [extra.yaml]\n',
        'extra/extra.yaml': config('Extra'),
      },
      ['MakeBase', 'Base', 'Make', 'Extra', 'First', 'Second', 'Third', 'Check'],
    ],
    [
      'text before files, a List, and kinds of kustomize itself',
      {
        'app/kustomization.yaml': `resources: [one.yaml]
transformers:
- file.yaml
- |-
  apiVersion: example.com/v1
  kind: Literal
  metadata: {name: literal}
- '{apiVersion: example.com/v1, kind: Flow, metadata: {name: flow}}'
- |
  apiVersion: builtin
  kind: PrefixTransformer
  metadata: {name: prefix}
  prefix: x-
  fieldSpecs: [{path: metadata/name}]
`,
        'app/one.yaml': deployment,
        'app/file.yaml': `apiVersion: v1
kind: List
items:
- {apiVersion: example.com/v1, kind: InList, metadata: {name: a}}
- {apiVersion: example.com/v1, kind: InOther, metadata: {name: b}}
`,
      },
      ['Literal', 'Flow', 'InList', 'InOther'],
    ],
    [
      'a kustomization of functionConfigs',
      {
        'app/kustomization.yaml': 'resources: [one.yaml]\ntransformers: [configs]\n',
        'app/one.yaml': deployment,
        'app/configs/kustomization.yaml': 'resources: [a.yaml, more]\nnamePrefix: x-\n',
        'app/configs/a.yaml': config('A'),
        'app/configs/more/kustomization.yaml': 'resources: [b.yaml]\n',
        'app/configs/more/b.yaml': config('B'),
      },
      ['A', 'B'],
    ],
    [
      'images of annotations old and new',
      {
        'app/kustomization.yaml': 'resources: [one.yaml]\ntransformers: [a.yaml, b.yaml, c.yaml, d.yaml]\n',
        'app/one.yaml': deployment,
        'app/a.yaml': annotated('A', 'container: {image: example.com/a:v1}'),
        'app/b.yaml': annotated('B', 'container: {image: example.com/b:v1}', 'config.k8s.io/function'),
        'app/c.yaml': annotated('C', 'example.com/c:v1', 'config.kubernetes.io/container').replace(
          '|\n      ',
          '',
        ),
        'app/d.yaml':
          'apiVersion: example.com/v1\nkind: D\nmetadata:\n  name: d\n  configFn:\n    container: {image: example.com/d:v1}\n',
      },
      ['example.com/a:v1', 'example.com/b:v1', 'example.com/c:v1', 'example.com/d:v1'],
    ],
    [
      'a container before an executable, and a functionConfig that is local',
      {
        'app/kustomization.yaml': 'resources: [one.yaml]\ntransformers: [a.yaml, b.yaml]\n',
        'app/one.yaml': deployment,
        'app/a.yaml': annotated('A', 'exec: {path: ./none}\n      container: {image: example.com/a:v1}'),
        'app/b.yaml': config('B').replace(
          'name: b',
          'name: b\n  annotations: {config.kubernetes.io/local-config: "true"}',
        ),
      },
      ['example.com/a:v1', 'B'],
    ],
    [
      'fields in another case, and values of which readers disagree',
      {
        'app/kustomization.yaml': 'Resources: [one.yaml]\n"TransformerS": [a.yaml]\n',
        'app/one.yaml': deployment,
        'app/a.yaml': config('A', 'spec: {mode: 0644, on: yes}\n'),
      },
      ['A'],
    ],
    [
      'a link to a base, and a file in a folder below',
      {
        'app/kustomization.yaml': 'resources: [one.yaml, linked]\ntransformers: [deep/a.yaml]\n',
        'app/one.yaml': deployment,
        'app/linked': '→ ../base',
        'app/deep/a.yaml': config('A'),
        'base/kustomization.yml': 'transformers: [b.yaml]\nresources: [two.yaml]\n',
        'base/two.yaml': deployment.replace('one', 'two'),
        'base/b.yaml': config('B'),
      },
      ['B', 'A'],
    ],
  ])('%s', async (_, files, kinds) => {
    pack = await testPackage(files);
    expect(await listed('app')).toEqual(kinds);
    expect(kubectl('app')).toEqual(kinds);
  });

  it.each<[what: string, files: Record<string, string>, ours: RegExp, theirs: RegExp]>([
    [
      'a circle of bases',
      {
        'app/kustomization.yaml': 'resources: [../b]\n',
        'b/kustomization.yaml': 'resources: [../app]\n',
      },
      /config\/circle/,
      /cycle detected/,
    ],
    [
      'a base above',
      { 'kustomization.yaml': 'namePrefix: x\n', 'app/kustomization.yaml': 'resources: [..]\n' },
      /config\/circle/,
      /cycle detected/,
    ],
    [
      'a file outside',
      { 'app/kustomization.yaml': 'transformers: [../a.yaml]\n', 'a.yaml': config('A') },
      /config\/outside/,
      /security; file .* is not in or below/,
    ],
    [
      'a link to a file outside',
      {
        'app/kustomization.yaml': 'transformers: [a.yaml]\n',
        'app/a.yaml': '→ ../a.yaml',
        'a.yaml': config('A'),
      },
      /config\/outside/,
      /security; file .* is not in or below/,
    ],
    [
      'two kustomizations',
      { 'app/kustomization.yaml': 'namePrefix: x\n', 'app/Kustomization': 'namePrefix: x\n' },
      /config\/no-kustomization/,
      /multiple kustomization files/,
    ],
    [
      'a component as a base',
      {
        'app/kustomization.yaml': 'resources: [../b]\n',
        'b/kustomization.yaml':
          'apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: x\n',
      },
      /config\/kind/,
      /expected kind != 'Component'/,
    ],
    [
      'an annotation that is not understood',
      {
        'app/kustomization.yaml': 'resources: [one.yaml]\ntransformers: [a.yaml]\n',
        'app/one.yaml': deployment,
        'app/a.yaml': annotated('A', 'container: {image: a, network: "true"}'),
      },
      /config\/runtime/,
      /unmarshal/,
    ],
    [
      'a list that is text',
      { 'app/kustomization.yaml': 'transformers: a.yaml\n' },
      /config\/wrong-type/,
      /unmarshal string/,
    ],
    ['an empty kustomization', { 'app/kustomization.yaml': '# none\n' }, /is empty/, /empty/],
  ])('refuses %s as we do', async (_, files, ours, theirs) => {
    pack = await testPackage(files);
    expect(await listed('app')).toMatch(ours);
    expect(kubectl('app')).toMatch(theirs);
  });
});
