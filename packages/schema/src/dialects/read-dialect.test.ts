import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readYaml } from '@krmhub/yaml';
import { describe, expect, it } from 'vitest';
import { formatPath } from '../diagnostics/diagnostic.js';
import { DIALECT_CODES, readDialect } from './read-dialect.js';

function read(text: string) {
  const { documents, diagnostics } = readYaml(new TextEncoder().encode(text), { file: 'f.yaml' });
  expect(diagnostics).toEqual([]);
  return readDialect(documents[0]!, 'f.yaml');
}

type Result = ReturnType<typeof read>;
const told = ({ diagnostics }: Result) =>
  diagnostics.map(({ code, path, range }) => `${code} ${range?.start.line}:${range?.start.column} ${path}`);
const place = (result: Result, path: (string | number)[], target?: 'key' | 'value') => {
  const location = result.drafts[0]!.locate(path, target);
  return `${formatPath(location.path)} ${location.range?.start.line}:${location.range?.start.column}`;
};

const HEAD = 'apiVersion: config.kubernetes.io/v1alpha1\nkind: KRMFunctionDefinition\nspec:\n';
const definition = (spec: string) => read(HEAD + spec.replace(/^/gm, '  '));
const exec = (runtime: string) =>
  definition(`versions:\n- name: v1\n  runtime:\n${runtime.replace(/^/gm, '    ')}`);
const HEX = 'ab'.repeat(32);

describe('documents', () => {
  it('reads a definition in normal form without diagnostics', () => {
    const result = definition(
      'group: example.com\nnames: {kind: A}\nversions:\n- name: v1\n  license: MIT\n',
    );
    expect(result).toMatchObject({ kind: 'KRMFunctionDefinition', diagnostics: [] });
    expect(result.drafts[0]!.spec).toEqual({
      group: 'example.com',
      names: { kind: 'A' },
      versions: [{ name: 'v1', license: 'MIT' }],
    });
    expect(place(result, ['versions', 0, 'license'])).toBe('spec.versions[0].license 8:14');
    expect(place(result, ['versions', 0, 'usage'])).toBe('spec.versions[0].usage 7:5');
  });

  it.each(['Catalog', 'KRMFunctionCatalog'])('reads kind %s', (kind) => {
    const result = read(
      `apiVersion: config.kubernetes.io/v1alpha1\nkind: ${kind}\nmetadata:\n  name: c\n  labels: {a: b}\nspec:\n  krmFunctions:\n  - group: a.b\n  - group: c.d\n`,
    );
    expect(result).toMatchObject({ kind, catalog: { name: 'c', labels: { a: 'b' } }, diagnostics: [] });
    expect(result.drafts.map(({ spec }) => spec)).toEqual([{ group: 'a.b' }, { group: 'c.d' }]);
    expect(formatPath(result.drafts[1]!.locate(['group']).path)).toBe('spec.krmFunctions[1].group');
  });

  it.each(['kustomize.io/v1', 'kustomize.config.k8s.io/v1beta1', 'config.kubernetes.io/v1'])(
    'reads apiVersion %s with a warning',
    (apiVersion) => {
      const result = read(`apiVersion: ${apiVersion}\nkind: KRMFunctionDefinition\nspec: {group: a.b}\n`);
      expect(told(result)).toEqual(['dialect/api-version 1:13 apiVersion']);
      expect(result.drafts).toHaveLength(1);
    },
  );

  it.each([
    ['apiVersion: kpt.dev/v1\nkind: Kptfile\n', 'a Kptfile', 'Remove the file'],
    ['kind: Kustomization\nresources: []\n', 'a kustomize file', undefined],
    [
      'apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n',
      'a CustomResourceDefinition',
      undefined,
    ],
    [
      'apiVersion: krew.googlecontainertools.github.com/v1alpha2\nkind: Plugin\n',
      'a Krew plugin',
      'krmhub convert',
    ],
    ['image: gcr.io/kpt-fn/a\ndescription: b\n', 'kpt function metadata', 'krmhub convert'],
    ['apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\n', 'a catalog recipe', 'krmhub catalog apply'],
    ['apiVersion: v1\nkind: ConfigMap\n', 'a ConfigMap of v1', 'Remove the file'],
    ['apiVersion: example.com/v1\nkind: Catalog\nspec: {}\n', 'a Catalog of example.com/v1', undefined],
    [
      'apiVersion: krm.example.com/v1\nkind: KRMFunctionDefiniton\n',
      'a KRMFunctionDefiniton of krm.example.com/v1',
      'Set apiVersion',
    ],
    ['kind: Catalog\n', 'a Catalog without apiVersion', undefined],
    ['- a\n', 'a list', undefined],
    ['hello\n', 'a single value', undefined],
    ['kind: 3\nspec: 4\n', 'a document without apiVersion and kind', undefined],
  ])('says what %j is', (text, name, hint) => {
    const result = read(text);
    expect(result).toMatchObject({ kind: undefined, drafts: [] });
    expect(result.diagnostics).toHaveLength(1);
    const code = text.includes('KRMFunctionDefiniton')
      ? 'dialect/misspelled-document'
      : 'dialect/unknown-document';
    expect(result.diagnostics[0]).toMatchObject({ code, severity: 'error' });
    expect(result.diagnostics[0]!.message).toContain(`this is ${name}; expected a KRMFunctionDefinition`);
    if (hint !== undefined) expect(result.diagnostics[0]!.hint).toContain(hint);
  });

  const CATALOG = 'apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\n';
  it.each([
    ['spec: {krmFunctions: []}\n', ['dialect/catalog-name 1:1 metadata.name']],
    ['metadata: {name: 3}\nspec: {krmFunctions: []}\n', ['dialect/catalog-name 3:18 metadata.name']],
    ['metadata: {name: c}\n', ['dialect/missing-spec 1:1 spec']],
    ['metadata: {name: c}\nspec: []\n', ['dialect/missing-spec 4:1 spec']],
    ['metadata: {name: c}\nspec: {}\n', ['dialect/catalog-functions 4:7 spec.krmFunctions']],
    [
      'metadata: {name: c}\nspec: {krmFunctions: [a]}\n',
      ['dialect/catalog-functions 4:23 spec.krmFunctions[0]'],
    ],
    [
      'metadata: {name: c, labels: {a: 1}}\nspec: {krmFunctions: []}\n',
      ['dialect/catalog-labels 3:33 metadata.labels.a'],
    ],
    [
      'metadata: {name: c, uid: x}\nspec: {krmFunctions: [], x: 1}\nz: 2\n',
      [
        'dialect/unknown-field 5:1 z',
        'dialect/ignored-field 3:21 metadata.uid',
        'dialect/unknown-field 4:26 spec.x',
      ],
    ],
  ])('tells what is wrong with a catalog: %j', (text, expected) => {
    expect(told(read(CATALOG + text))).toEqual(expected);
  });
});

describe('corrections', () => {
  it('copies fields next to versions to versions without them', () => {
    const result = definition(
      'versions:\n- name: v2\n- name: v1\n  license: MIT\nlicense: ISC\nruntime:\n  container: {image: a.io/b:v1}\n',
    );
    expect(result.drafts[0]!.spec).toEqual({
      versions: [
        { name: 'v2', license: 'ISC', runtime: { container: { image: 'a.io/b:v1' } } },
        { name: 'v1', license: 'MIT', runtime: { container: { image: 'a.io/b:v1' } } },
      ],
    });
    expect(told(result)).toEqual([
      'dialect/version-field 9:3 spec.runtime',
      'dialect/version-field 8:3 spec.license',
    ]);
    expect(place(result, ['versions', 1, 'runtime', 'container', 'image'])).toBe(
      'spec.runtime.container.image 10:24',
    );
    expect(place(result, ['versions', 1, 'license'])).toBe('spec.versions[1].license 7:14');
    expect(place(result, ['versions', 0, 'license'], 'key')).toBe('spec.license 8:3');
  });

  it('reports a correction once if two versions share the runtime', () => {
    const result = definition(
      'versions: [{name: v2}, {name: v1}]\nruntime:\n  container:\n    requireFilesystem: true\n',
    );
    expect(told(result)).toEqual([
      'dialect/version-field 5:3 spec.runtime',
      'dialect/storage-mount 7:7 spec.runtime.container.requireFilesystem',
    ]);
    expect(result.drafts[0]!.spec.versions).toEqual(
      ['v2', 'v1'].map((name) => ({ name, runtime: { container: { requireStorageMount: true } } })),
    );
  });

  it('leaves a field that every version already has to lint', () => {
    const result = definition('versions: [{name: v1, license: MIT}]\nlicense: ISC\n');
    expect(result.diagnostics).toEqual([]);
    expect(result.drafts[0]!.spec.license).toBe('ISC');
  });

  it('reads kind next to group as names.kind', () => {
    const result = definition('group: a.b\nkind: SetLogger\n');
    expect(told(result)).toEqual(['dialect/kind 5:3 spec.kind']);
    expect(result.drafts[0]!.spec).toEqual({ group: 'a.b', names: { kind: 'SetLogger' } });
    expect(place(result, ['names', 'kind'])).toBe('spec.kind 5:9');
    expect(definition('kind: A\nnames: {kind: B}\n').drafts[0]!.spec).toEqual({
      kind: 'A',
      names: { kind: 'B' },
    });
  });

  it.each([
    ['versions:\n  v1:\n    license: MIT\n  v2: {}\n', [{ name: 'v1', license: 'MIT' }, { name: 'v2' }]],
    ['versions:\n  name: v1\n  license: MIT\n', [{ name: 'v1', license: 'MIT' }]],
  ])('reads versions as a mapping: %j', (text, expected) => {
    const result = definition(text);
    expect(told(result)).toEqual(['dialect/versions-map 4:3 spec.versions']);
    expect(result.drafts[0]!.spec.versions).toEqual(expected);
    const inMap = text.includes('v2');
    expect(place(result, ['versions', 0, 'license'])).toBe(
      `spec.versions${inMap ? '.v1' : ''}.license ${inMap ? '6:16' : '6:14'}`,
    );
  });

  it('reads versions that are strings', () => {
    const result = definition('versions: [v1, v2]\nusage: https://a.b/\n');
    expect(result.drafts[0]!.spec.versions).toEqual([
      { name: 'v1', usage: 'https://a.b/' },
      { name: 'v2', usage: 'https://a.b/' },
    ]);
    expect(place(result, ['versions', 1, 'name'])).toBe('spec.versions[1] 4:18');
  });

  it.each([
    [
      'exec:\n  platform:\n  - {bin: a}\n',
      [{ bin: 'a' }],
      ['dialect/platforms 8:9 spec.versions[0].runtime.exec.platform'],
      'spec.versions[0].runtime.exec.platform[0].bin 9:17',
    ],
    [
      'exec:\n  platforms:\n  - {bin: a}\n  platform:\n  - {bin: a}\n',
      [{ bin: 'a' }],
      ['dialect/platforms 10:9 spec.versions[0].runtime.exec.platform'],
      'spec.versions[0].runtime.exec.platforms[0].bin 9:17',
    ],
    [
      'exec:\n- {bin: a}\n',
      [{ bin: 'a' }],
      ['dialect/platforms 7:7 spec.versions[0].runtime.exec'],
      'spec.versions[0].runtime.exec[0].bin 8:15',
    ],
    [
      'exec:\n- {path: a}\n',
      [{ bin: 'a' }],
      [
        'dialect/platforms 7:7 spec.versions[0].runtime.exec',
        'dialect/exec-path 8:10 spec.versions[0].runtime.exec[0].path',
      ],
      'spec.versions[0].runtime.exec[0].path 8:16',
    ],
    [
      'exec:\n  platforms: {bin: a}\n',
      [{ bin: 'a' }],
      ['dialect/platforms 8:9 spec.versions[0].runtime.exec.platforms'],
      'spec.versions[0].runtime.exec.platforms.bin 8:26',
    ],
  ])('reads the exec runtime %j', (text, platforms, expected, bin) => {
    const result = exec(text);
    expect(told(result)).toEqual(expected);
    expect(result.drafts[0]!.spec).toEqual({ versions: [{ name: 'v1', runtime: { exec: { platforms } } }] });
    expect(place(result, ['versions', 0, 'runtime', 'exec', 'platforms', 0, 'bin'])).toBe(bin);
  });

  it('reads the digest of a Starlark script into its reference', () => {
    const digits = 'ab'.repeat(32);
    const result = exec(`starlark: {url: https://a.b/c.star, sha256: sha256:${digits.toUpperCase()}}\n`);
    expect(JSON.stringify(result)).toContain(`https://a.b/c.star#sha256=${digits}`);
    expect(JSON.stringify(result)).not.toContain('dialect/dropped-field');
    const invalid = exec('starlark: {url: https://a.b/c.star, sha256: abc}\n');
    expect(JSON.stringify(invalid)).toContain('dialect/dropped-field');
  });

  it.each(['path', 'url', 'uri', 'image'])('reads starlark.%s as the reference', (name) => {
    const result = exec(`starlark: {${name}: https://a.b/c.star, other: 1}\n`);
    expect(result.drafts[0]!.spec.versions).toEqual([
      { name: 'v1', runtime: { starlark: 'https://a.b/c.star' } },
    ]);
    expect(result.diagnostics.map(({ code, severity }) => [code, severity])).toEqual([
      ['dialect/starlark', 'info'],
      ['dialect/dropped-field', 'warning'],
    ]);
    expect(place(result, ['versions', 0, 'runtime', 'starlark'])).toContain(`starlark.${name} 7:`);
  });

  it('normalizes digests, and keeps other values', () => {
    const result = exec(
      `container: {image: a, sha256: 'sha256:${HEX.toUpperCase()}'}\nexec:\n  platforms:\n  - {sha256: ${HEX.toUpperCase()}}\n  - {sha256: 'sha256:abc'}\n  - {sha256: ${HEX}}\n`,
    );
    expect(result.drafts[0]!.spec.versions).toMatchObject([
      {
        runtime: {
          container: { sha256: HEX },
          exec: { platforms: [{ sha256: HEX }, { sha256: 'sha256:abc' }, { sha256: HEX }] },
        },
      },
    ]);
    expect(told(result)).toEqual([
      'dialect/digest 7:37 spec.versions[0].runtime.container.sha256',
      'dialect/digest 10:20 spec.versions[0].runtime.exec.platforms[0].sha256',
    ]);
  });

  it.each([
    ['container: {digest: x}\n', { sha256: 'x' }, 'dialect/digest'],
    ['container: {network: true}\n', { requireNetwork: true }, 'dialect/network'],
    ['container: {network: {required: false}}\n', { requireNetwork: false }, 'dialect/network'],
    ['container: {requireFilesystem: true}\n', { requireStorageMount: true }, 'dialect/storage-mount'],
  ])('respells %j', (text, container, code) => {
    const result = exec(text);
    expect(result.diagnostics.map((diagnostic) => diagnostic.code)).toEqual([code]);
    expect(result.drafts[0]!.spec.versions).toEqual([{ name: 'v1', runtime: { container } }]);
  });

  it.each([
    ['Apache 2.0', 'Apache-2.0'],
    ['apache  license, version 2.0', 'Apache-2.0'],
    ['APACHE-2.0', 'Apache-2.0'],
    ['mit', 'MIT'],
    ['The MIT License', 'MIT'],
  ])('respells the license %s', (license, expected) => {
    const result = definition(`versions: [{name: v1, license: "${license}"}]\n`);
    expect(result.drafts[0]!.spec.versions).toEqual([{ name: 'v1', license: expected }]);
    expect(told(result)).toEqual(['dialect/license 4:34 spec.versions[0].license']);
  });

  it.each(['Apache-2.0', 'UNLICENSED', 'BSD', 'GPLv2', 'MIT OR Apache-2.0', 'proprietary', ''])(
    'leaves the license %j to lint',
    (license) => {
      const result = definition(`versions: [{name: v1, license: "${license}"}]\n`);
      expect(result.diagnostics).toEqual([]);
      expect(result.drafts[0]!.spec.versions).toEqual([{ name: 'v1', license }]);
    },
  );

  it('reads fields of other tools', () => {
    const result = definition(
      'emails: [a@b.c]\nkeywords: [x]\nsourceURL: https://a.b/src\ndocumentation: https://a.b/doc\nhidden: true\nnames: {kind: A, plural: as, scope: x}\nversions: [v1]\nunknown: 1\n',
    );
    expect(result.drafts[0]!.spec).toEqual({
      maintainers: ['a@b.c'],
      tags: ['x'],
      home: 'https://a.b/src',
      names: { kind: 'A' },
      versions: [{ name: 'v1', usage: 'https://a.b/doc' }],
      unknown: 1,
    });
    expect(new Set(result.diagnostics.map(({ code }) => code))).toEqual(
      new Set([
        'dialect/maintainers',
        'dialect/tags',
        'dialect/home',
        'dialect/usage',
        'dialect/ignored-field',
        'dialect/version-text',
      ]),
    );
    expect(place(result, ['maintainers', 0])).toBe('spec.emails[0] 4:12');
  });

  it('has a table entry for every correction', () => {
    for (const [code, { summary, fix }] of Object.entries(DIALECT_CODES)) {
      expect(code).toMatch(/^dialect\/[a-z-]+$/);
      expect(`${summary}${fix}`).toMatch(/\..*\.$/);
    }
  });

  it.each([
    'spec: 1',
    'spec: {versions: 3}',
    'spec: {versions: [3, [], null]}',
    'spec: {names: [], kind: []}',
    'spec: {versions: [{runtime: 1, license: []}]}',
    'spec: {versions: [{runtime: {exec: 1, container: [], starlark: {}}}]}',
    'spec: {versions: {v1: 3, v2: null}}',
    'spec: {versions: {}}',
  ])('takes any shape: %s', (spec) => {
    const result = read(`apiVersion: config.kubernetes.io/v1alpha1\nkind: KRMFunctionDefinition\n${spec}\n`);
    for (const draft of result.drafts)
      expect(draft.locate(['versions', 0, 'runtime', 'x', 3]).range).toBeDefined();
  });
});

const DATA = join(import.meta.dirname, '../../../../shared/data/definitions');

describe.skipIf(!existsSync(DATA))('real documents (skipped if ../shared/data is missing)', () => {
  const files = existsSync(DATA)
    ? readdirSync(DATA, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.yaml'))
        .sort()
    : [];

  it.each(files.filter((name) => /catalog|definition|render-helm-chart/.test(name)))('reads %s', (name) => {
    const { documents, diagnostics } = readYaml(readFileSync(join(DATA, name)), { file: name });
    if (diagnostics.some(({ severity }) => severity === 'error')) {
      // Written with `...` for what was left out, nested wrongly, or only a comment.
      expect(name).toMatch(/kep-2985|block18|cbf69b5c60|v20220225/);
      return;
    }
    const result = readDialect(documents[0]!, name);
    expect(result.kind).toBeDefined();
    expect(result.drafts.length).toBeGreaterThan(0);
    expect(result.diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(result.diagnostics.length).toBeGreaterThan(0);
    for (const { range } of result.diagnostics) expect(range).toBeDefined();
    for (const { spec } of result.drafts) {
      expect(spec).not.toHaveProperty('runtime');
      expect(spec.versions).toMatchObject([{ name: 'v1', runtime: expect.anything() }]);
    }
  });

  it.each(files.filter((name) => /consumer|schema|kep\.yaml/.test(name)))('rejects %s', (name) => {
    const { documents } = readYaml(readFileSync(join(DATA, name)), { file: name });
    for (const document of documents) {
      const { kind, diagnostics } = readDialect(document, name);
      expect(kind).toBeUndefined();
      expect(diagnostics.map(({ code }) => code)).toEqual(['dialect/unknown-document']);
    }
  });
});
