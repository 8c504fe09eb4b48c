import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readYaml } from '@krmhub/yaml';
import { describe, expect, it } from 'vitest';
import { lint } from '../lint/lint.js';
import { lintDefinition } from '../lint/lint-definition.js';
import { type ConvertOptions, convertDocument } from './convert.js';

const toBytes = (text: string) => new TextEncoder().encode(text);
function convert(text: string, options: Partial<ConvertOptions> = {}) {
  const { documents, diagnostics } = readYaml(toBytes(text), { file: 'f.yaml' });
  expect(diagnostics).toEqual([]);
  return documents.flatMap((document) => convertDocument(document, { file: 'f.yaml', ...options }));
}
type Results = ReturnType<typeof convert>;
const definitions = (results: Results) => results.flatMap((result) => result.definitions);
const findings = (results: Results) =>
  results.flatMap(({ diagnostics }) => diagnostics.map(({ code, path }) => `${code} ${path}`));
const errors = (results: Results) =>
  results.flatMap(({ diagnostics }) =>
    diagnostics.filter(({ severity }) => severity === 'error').map(({ message }) => message),
  );

const HEX = '0f'.repeat(32);

describe('the kpt function list', () => {
  const item = (name: string, more: object = {}) => ({
    description: `What ${name} does`,
    documentation: `https://github.com/example-org/catalog/blob/main/docs/${name}.md`,
    image: `ghcr.io/example-org/${name}`,
    digest: `sha256:${HEX}`,
    builder: 'https://github.com/example-org/catalog/.github/workflows/build.yaml',
    ...more,
  });
  const list = (...functions: object[]) => JSON.stringify({ version: '1', functions });

  it('is converted to one definition per image, pinned by digest', () => {
    const results = convert(list(item('set-labels', { type: 'mutator' }), item('digester')));
    expect(results.map(({ source }) => source)).toEqual(['kpt-list', 'kpt-list']);
    expect(definitions(results)[0]).toMatchObject({
      group: 'example-org.github.io',
      names: { kind: 'SetLabels' },
      description: 'What set-labels does',
      publisher: 'github.com/example-org',
      tags: ['mutator'],
      versions: [
        {
          name: 'v1alpha1',
          idempotent: false,
          runtime: { container: { image: 'ghcr.io/example-org/set-labels', sha256: HEX } },
          usage: 'https://github.com/example-org/catalog/blob/main/docs/set-labels.md',
          license: 'LicenseRef-unknown',
        },
      ],
    });
    for (const definition of definitions(results)) {
      expect(lintDefinition(definition).filter(({ severity }) => severity === 'error')).toEqual([]);
    }
  });

  it('reports derived and omitted values at their positions', () => {
    expect(findings(convert(list(item('set-labels'))))).toEqual(
      expect.arrayContaining([
        'convert/group functions[0].image',
        'convert/publisher functions[0].documentation',
        'convert/dropped-field functions[0].builder',
      ]),
    );
  });

  it('converts the other images if one is invalid', () => {
    const results = convert(
      list(item('good'), { image: 'No:such:image' }, item('bare', { digest: undefined }), item('last')),
    );
    expect(definitions(results).map(({ names }) => names.kind)).toEqual(['Good', 'Last']);
    expect(errors(results)).toEqual([
      expect.stringContaining('No:such:image'),
      'the image ghcr.io/example-org/bare has no tag, and the release is unknown',
    ]);
  });

  it('reports a second image of a function, unless its tag is another release', () => {
    const results = convert(list(item('a'), item('a', { digest: `sha256:${'1f'.repeat(32)}` })));
    expect(definitions(results)).toHaveLength(1);
    expect(errors(results)).toEqual(['example-org.github.io/A is already functions[0] of the list']);
    const tagged = ['v1.0.0', 'v1.1.0'].map((tag) => item('a', { image: `ghcr.io/example-org/a:${tag}` }));
    expect(convert(list(...tagged)).map(({ release }) => release)).toEqual(['v1.0.0', 'v1.1.0']);
  });

  it('uses the kpt group for images of the kpt catalog, and requires --group if the group is unknown', () => {
    const kpt = item('set-labels', { image: 'ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0' });
    expect(definitions(convert(list(kpt)))[0]).toMatchObject({ group: 'fn.kpt.dev' });
    const unknown = item('x', { image: 'docker.io/someone/x:v1.0.0', documentation: undefined });
    expect(errors(convert(list(unknown)))).toEqual([
      'cannot derive a group from the image or the documentation',
    ]);
    expect(definitions(convert(list(unknown), { group: 'example.com' }))[0]).toMatchObject({
      group: 'example.com',
    });
  });
});

describe('a Porch FunctionConfig', () => {
  const porch = (spec: string, name = 'set-labels') => `apiVersion: config.porch.kpt.dev/v1alpha1
kind: FunctionConfig
metadata: {name: ${name}, namespace: porch-fn-system}
spec: ${spec}
`;
  const SPEC =
    '{image: set-labels, prefixes: ["", ghcr.io/kptdev/krm-functions-catalog, gcr.io/kpt-fn], podExecutor: {tags: [v0.1.5, v0.2.0], timeToLive: 30m}, goExecutor: {id: set-labels, tags: [v0.1]}}';

  it('is converted to one definition per tag, with the tag as release', () => {
    const results = convert(porch(SPEC));
    expect(results.map(({ source, release }) => [source, release])).toEqual([
      ['porch', 'v0.1.5'],
      ['porch', 'v0.2.0'],
    ]);
    expect(definitions(results)[1]).toMatchObject({
      group: 'fn.kpt.dev',
      names: { kind: 'SetLabels' },
      versions: [
        {
          runtime: { container: { image: 'ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0' } },
          usage: 'oci://ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0',
        },
      ],
    });
    for (const definition of definitions(results)) {
      expect(lintDefinition(definition).filter(({ severity }) => severity === 'error')).toEqual([]);
    }
  });

  it('reports each omitted value once', () => {
    const lost = findings(convert(porch(SPEC))).filter((one) => one.startsWith('convert/dropped-field'));
    expect(lost).toEqual([
      'convert/dropped-field spec.prefixes[2]',
      'convert/dropped-field spec.podExecutor.timeToLive',
      'convert/dropped-field spec.goExecutor',
    ]);
  });

  it('reads the group from the name of an object that krmhub created', () => {
    const text = porch(
      '{image: set-labels, prefixes: [registry.example.com/fn], podExecutor: {tags: [v1.0.0]}}',
      'setlabels.fn.example.com',
    );
    expect(definitions(convert(text))[0]).toMatchObject({ group: 'fn.example.com' });
  });

  it('rejects an image without a registry or without a tag', () => {
    expect(errors(convert(porch('{image: kubeconform, prefixes: [""], podExecutor: {tags: [v1]}}')))).toEqual(
      ['no prefix of kubeconform has a registry, and the default registry of Porch is unknown'],
    );
    expect(errors(convert(porch('{image: a, prefixes: [example.com]}')))).toEqual([
      'the object has no image tag',
    ]);
  });
});

describe('other dialects of definitions', () => {
  const definition = (more: string, runtime = 'container: {image: example.com/a:v1.0.0}') => `
apiVersion: config.kubernetes.io/v1alpha1
kind: KRMFunctionDefinition
spec:
  group: fn.example.com
  names: {kind: A, plural: as, singular: a}
  description: A
  publisher: example
${more}    name: v1
    schema: {openAPIV3Schema: {type: object, description: d}}
    idempotent: true
    usage: https://example.com/a.md
    examples: [https://example.com/a.yaml]
    license: Apache-2.0
    runtime: {${runtime}}
`;
  const severe = (text: string) => {
    const { documents, diagnostics } = lint(toBytes(text), { file: 'f.yaml' });
    expect(documents).toHaveLength(1);
    return diagnostics.filter(({ code }) => code.startsWith('dialect/'));
  };

  it('may have fields of a CustomResourceDefinition, which are reported and omitted', () => {
    const found = severe(
      definition(
        '  scope: Namespaced\n  versions:\n  - served: true\n    storage: true\n    subresources: {}\n',
      ),
    );
    expect(found.filter(({ severity }) => severity !== 'info')).toEqual([]);
    expect(found.map(({ path }) => path)).toEqual(
      expect.arrayContaining([
        'spec.scope',
        'spec.versions[0].served',
        'spec.versions[0].storage',
        'spec.versions[0].subresources',
      ]),
    );
  });

  it('warns if the lifecycle of an API version is omitted', () => {
    const found = severe(definition('  versions:\n  - served: false\n'));
    expect(found.find(({ path }) => path === 'spec.versions[0].served')).toMatchObject({
      code: 'dialect/dropped-field',
      severity: 'warning',
      message: 'served: false is omitted: an API version of a function has no lifecycle',
    });
  });

  it('may have the container fields of the kustomize prototype', () => {
    const runtime = `container: {image: 'example.com/a@sha256:${HEX}', network: true, mounts: [{type: bind}], envs: [A=b]}`;
    const text = definition('  versions:\n  -\n', runtime);
    const found = severe(text);
    expect(found.map(({ path, code }) => `${code} ${path}`)).toEqual(
      expect.arrayContaining([
        'dialect/network spec.versions[0].runtime.container.network',
        'dialect/storage-mount spec.versions[0].runtime.container.mounts',
        'dialect/dropped-field spec.versions[0].runtime.container.envs',
      ]),
    );
    const { documents } = lint(toBytes(text), { file: 'f.yaml' });
    expect(documents[0]).toMatchObject({
      definition: {
        versions: [{ runtime: { container: { requireNetwork: true, requireStorageMount: true } } }],
      },
    });
  });
});

const data = join(import.meta.dirname, '../../../../../shared/data');

describe.skipIf(!existsSync(data))('real files (skipped if shared/data is missing)', () => {
  it('converts the functions of Porch, and reports the one invalid image', () => {
    const file = join(data, 'porch/deployments/porch/23-function-configurations.yaml');
    const { documents } = readYaml(readFileSync(file), { file });
    const results = documents.flatMap((document) => convertDocument(document, { file: 'porch.yaml' }));
    expect(errors(results)).toEqual([
      'no prefix of kubeconform has a registry, and the default registry of Porch is unknown',
    ]);
    expect(definitions(results).length).toBeGreaterThan(15);
  });
});
