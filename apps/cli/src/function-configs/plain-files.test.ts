import { KrmhubError } from '@krmhub/schema/error';
import { afterEach, describe, expect, it } from 'vitest';
import { testIo } from '../testing/command-line.js';
import { config, type TestPackage, testPackage } from '../testing/package-files.js';
import { readLayers } from './read-layers.js';

let pack: TestPackage;
afterEach(() => pack.remove());

const annotation =
  'metadata:\n  name: a\n  annotations:\n    config.kubernetes.io/function: |\n      container: {image: example.com/a:v1}\n';

describe('a folder', () => {
  const files = {
    'app/deployment.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n',
    'app/deep/fn.yaml': `apiVersion: v1\nkind: ConfigMap\n${annotation}---\n${config('Other')}`,
    'app/kep.yaml': config('Kep', 'runtime: {exec: {path: ./a}}\n'),
    'app/chart.yaml': '{{ .Values.runtime }}: [\n',
    'app/notes.txt': annotation,
  };

  it('has as functionConfigs what names its own runtime', async () => {
    pack = await testPackage(files);
    const { layer, functions, problems } = await pack.inspect();
    expect(problems).toEqual([]);
    expect(functions).toEqual(['files ConfigMap app/deep/fn.yaml:1:1', 'files Kep app/kep.yaml:1:1']);
    expect(layer!.type).toBe('folder');
  });

  it('has every document as a candidate where all are asked for', async () => {
    pack = await testPackage(files);
    const { layer } = await pack.inspect('app', { all: true });
    expect(layer!.functions.map(({ request, isCandidate = false }) => [request.kind, isCandidate])).toEqual([
      ['ConfigMap', false],
      ['Other', true],
      ['Deployment', true],
      ['Kep', false],
    ]);
  });

  it('without YAML has no functions', async () => {
    pack = await testPackage({ 'app/notes.txt': '' });
    expect(await pack.inspect()).toMatchObject({ functions: [], problems: [] });
  });

  it('tells what is wrong with a functionConfig', async () => {
    pack = await testPackage({
      'app/a.yaml': config('A').replace(
        'name: a',
        'annotations: {config.kubernetes.io/function: "docker: x"}',
      ),
    });
    expect((await pack.inspect()).problems).toEqual([
      expect.stringMatching(/^config\/runtime app\/a.yaml:4:/),
    ]);
  });
});

describe('a file', () => {
  it('has only functionConfigs, because it is named', async () => {
    pack = await testPackage({ 'app/a.yaml': `${config('A')}---\n${config('B')}---\nkind: C\n` });
    const { functions, problems } = await pack.inspect('app/a.yaml');
    expect(functions).toEqual(['files A app/a.yaml:1:1', 'files B app/a.yaml:6:1']);
    expect(problems).toEqual([expect.stringMatching(/^config\/not-a-config app\/a.yaml:11:1/)]);
  });

  it('that does not exist is not found', async () => {
    pack = await testPackage();
    await expect(pack.inspect('none')).rejects.toMatchObject({
      code: 'not-found',
      message: 'cannot read none: no such file or folder',
    });
  });
});

describe('readLayers', () => {
  it('throws one error with every problem', async () => {
    pack = await testPackage({ 'app/kustomization.yaml': 'transformers: [a.yaml, b.yaml]\n' });
    const failed = readLayers(testIo({ cwd: pack.folder }), 'app');
    await expect(failed).rejects.toBeInstanceOf(KrmhubError);
    await expect(failed).rejects.toMatchObject({
      code: 'invalid-document',
      message: 'cannot list the functions of app: 2 problems',
      diagnostics: [{ path: 'transformers[0]' }, { path: 'transformers[1]' }],
    });
  });
});
