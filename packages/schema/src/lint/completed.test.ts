import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { completeDefinition } from '../convert/complete.js';
import type { FunctionDefinition, JsonObject } from '../documents/definition.js';
import { lint } from './lint.js';
import { readCatalog } from './read-catalog.js';

const toBytes = (text: string) => new TextEncoder().encode(text);
const completed = (text: string, defaults = {}) =>
  lint(toBytes(text), { file: 'c.yaml', complete: defaults });
const strict = (text: string, ruleset: 'registry' | 'kep' = 'registry') =>
  lint(toBytes(text), { file: 'c.yaml', ruleset });
function functions(result: ReturnType<typeof lint>): FunctionDefinition[] {
  return result.documents.flatMap((document) =>
    document.kind === 'KRMFunctionDefinition' ? [document.definition] : document.catalog.functions,
  );
}
const errors = ({ diagnostics }: ReturnType<typeof lint>) =>
  diagnostics.filter(({ severity }) => severity === 'error').map(({ code, path }) => `${code} ${path}`);
const codes = ({ diagnostics }: ReturnType<typeof lint>) =>
  [...new Set(diagnostics.map(({ code }) => code))].sort();

const entry = (group: string, kind: string, runtime: string, more = '') => `
    - group: ${group}
      names: {kind: ${kind}}
      description: What ${kind} does
      versions: [{name: v1}]
      runtime: {${runtime}}${more}`;
const catalog = (...entries: string[]) => `apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
metadata: {name: fruit}
spec:
  krmFunctions:${entries.join('')}
`;
const HEAD = { apiVersion: 'config.kubernetes.io/v1alpha1', kind: 'KRMFunctionDefinition' };
const image = (reference: string, more = '') => `container: {image: ${reference}${more}}`;

/** As the stories of KEP-2906 write catalogs: names, a description and a runtime, and nothing else. */
const STORIES: [string, string][] = [
  ['an image without registry', catalog(entry('fruit.example', 'Grove', image('fruit/trees/grove:v1.0.0')))],
  [
    'a script',
    catalog(entry('fruit.example', 'Press', 'starlark: "https://fruit.example/press.star:v1.0.0"')),
  ],
  [
    'one team',
    catalog(
      ...['Plant', 'Water', 'Harvest'].map((kind) =>
        entry('fruit.example', kind, image(`docker.fruit.example/${kind.toLowerCase()}:v1.0.0`)),
      ),
    ),
  ],
  [
    'an official function',
    catalog(entry('tools.example', 'Chart', image(' registry.example/tools/chart:v1.0.0'))),
  ],
  [
    'a contribution',
    catalog(
      entry('tools.example', 'Chart', image('registry.example/tools/chart:v1.0.0')),
      entry('fruit.example', 'Basket', image('docker.fruit.example/basket:v1.0.0')),
    ),
  ],
  [
    'several vendors',
    catalog(
      entry('plum.example', 'Stone', image('plum.registry.example/stone:v1.0.0')),
      entry('pear.example', 'Slice', image('pear.registry.example/slice:v1.0.0')),
      entry(
        'fruit.example',
        'Grove',
        image('fruit/trees/grove:v1.0.0', ', requireNetwork: true, requireFilesystem: true'),
      ),
    ),
  ],
];

/** The KEP also shows every field, with texts in place of values. */
const ILLUSTRATION = `apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
metadata: {name: fruit}
spec:
  krmFunctions:
  - group: fruit.example
    names: {kind: Ripen}
    description: Ripens
    publisher: fruit.example
    home: <a URL>
    versions:
    - name: v1
      schema: {openAPIV3Schema: ...}
      idempotent: true|false
      runtime:
        container: {image: docker.fruit.example/ripen:v1.2.3, sha256: a428de..., requireNetwork: true|false}
      usage: <a URL of a document>
      examples: [<a URL>, <another URL>]
      license: Apache 2.0
    - name: v1beta1
  - group: fruit.example
    kind: Peel
    description: Peels
    publisher: fruit.example
    versions:
    - name: v1
      runtime:
        exec:
          platforms:
          - {bin: peel, os: linux, arch: amd64, uri: "https://fruit.example/peel.tar.gz", sha256: <hash>}
`;

describe('a catalog of the KEP user stories', () => {
  it.each(STORIES)('rejects %s without defaults, and completes it with warnings', (_, text) => {
    expect(functions(strict(text))).toEqual([]);
    expect(errors(strict(text, 'kep'))).not.toEqual([]);
    const result = completed(text);
    expect(errors(result)).toEqual([]);
    expect(functions(result)).toHaveLength(text.match(/group:/g)!.length);
    for (const { publisher, group, versions } of functions(result)) {
      expect(publisher).toBe(group);
      expect(versions[0]).toMatchObject({
        idempotent: false,
        license: 'LicenseRef-unknown',
        schema: { openAPIV3Schema: { 'x-kubernetes-preserve-unknown-fields': true } },
      });
    }
    expect(codes(result)).toEqual(
      expect.arrayContaining(
        ['examples', 'idempotent', 'license', 'publisher', 'schema', 'usage'].map(
          (name) => `convert/${name}`,
        ),
      ),
    );
    for (const { severity, code } of result.diagnostics)
      if (code.startsWith('convert/')) expect(severity).toBe('warning');
  });

  it('adds the Docker registry to an image without one, with a warning', () => {
    const result = completed(STORIES[0]![1]);
    expect(functions(result)[0]!.versions[0]).toMatchObject({
      runtime: { container: { image: 'docker.io/fruit/trees/grove:v1.0.0' } },
      usage: 'oci://docker.io/fruit/trees/grove:v1.0.0',
    });
    expect(result.diagnostics.find(({ code }) => code === 'convert/registry')!.message).toBe(
      'the image fruit/trees/grove:v1.0.0 has no registry; docker.io/fruit/trees/grove:v1.0.0 is used',
    );
    const [official] = functions(completed(catalog(entry('a.example', 'A', image('nginx:v1')))));
    expect(official!.versions[0]!.runtime.container!.image).toBe('docker.io/library/nginx:v1');
  });

  it('treats placeholders as missing, and keeps other entries if one is invalid', () => {
    const result = completed(ILLUSTRATION);
    expect(functions(result)).toEqual([
      {
        group: 'fruit.example',
        names: { kind: 'Ripen' },
        description: 'Ripens',
        publisher: 'fruit.example',
        versions: [
          {
            name: 'v1',
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
            idempotent: false,
            runtime: { container: { image: 'docker.fruit.example/ripen:v1.2.3' } },
            usage: 'oci://docker.fruit.example/ripen:v1.2.3',
            examples: ['oci://docker.fruit.example/ripen:v1.2.3'],
            license: 'Apache-2.0',
          },
        ],
      },
    ]);
    expect(errors(result)).toEqual([
      'exec/digest-form spec.krmFunctions[1].versions[0].runtime.exec.platforms[0].sha256',
    ]);
    expect(codes(result)).toEqual(expect.arrayContaining(['convert/placeholder', 'convert/version']));
    expect(strict(ILLUSTRATION).documents).toEqual([]);
  });

  it('keeps source positions after an omitted API version', () => {
    const text = catalog(`
    - group: fruit.example
      names: {kind: Ripen}
      description: Ripens
      versions:
      - name: v1
      - name: v2
        runtime: {container: {image: "bad image"}}`);
    const found = completed(text).diagnostics.find(({ code }) => code === 'image/invalid');
    expect(found).toMatchObject({
      path: 'spec.krmFunctions[0].versions[1].runtime.container.image',
      range: { start: { line: 12 } },
    });
  });
});

describe('completion', () => {
  const given = {
    group: 'fruit.example',
    names: { kind: 'Ripen' },
    versions: [{ name: 'v1', runtime: { container: { image: 'ripen:v1' } } }],
  };

  it('uses defaults only for missing fields', () => {
    const schema = { openAPIV3Schema: { type: 'object' } };
    const defaults = {
      publisher: 'Fruit Co',
      license: 'MIT',
      schema,
      idempotent: true,
      usage: 'https://fruit.example/docs',
      examples: ['https://fruit.example/example'],
      registry: 'registry.fruit.example/mirror',
    };
    const { spec, filled } = completeDefinition(given, defaults);
    expect(spec).toEqual({
      ...given,
      description: 'Ripen',
      publisher: 'Fruit Co',
      versions: [
        {
          name: 'v1',
          runtime: { container: { image: 'registry.fruit.example/mirror/ripen:v1' } },
          schema,
          idempotent: true,
          usage: 'https://fruit.example/docs',
          examples: ['https://fruit.example/example'],
          license: 'MIT',
        },
      ],
    });
    expect(filled.map(({ path }) => path.at(-1)).sort()).toEqual([
      'description',
      'examples',
      'idempotent',
      'image',
      'license',
      'publisher',
      'schema',
      'usage',
    ]);
    expect(completeDefinition(spec, { publisher: 'Other', license: 'GPL-3.0-only' })).toMatchObject({
      spec,
      filled: [],
    });
  });

  it('never invents a group, kind, API version, or runtime', () => {
    for (const lacking of [{}, { names: {} }, { versions: [] }, { versions: [{}] }, { group: 'a.example' }]) {
      const { spec } = completeDefinition(lacking);
      expect([spec.group, spec.names]).toEqual([lacking.group, lacking.names]);
      expect((spec.versions as JsonObject[] | undefined)?.length).toBe(lacking.versions?.length);
      expect(JSON.stringify(spec)).not.toMatch(/"(?:name|runtime)":/);
      expect(completed(JSON.stringify({ ...HEAD, spec })).documents).toEqual([]);
    }
  });

  it.each<JsonObject>([
    { versions: 'v1' },
    { versions: ['v1', null, 1, { name: 'v1', runtime: [] }] },
    { names: [], publisher: 1, description: [], home: {} },
    { versions: [{ usage: 1, examples: {}, license: [], idempotent: 0, schema: [], runtime: 1 }] },
  ])('leaves the wrong types of %j to lint', (wrong) => {
    const { spec } = completeDefinition(wrong);
    for (const [name, value] of Object.entries(wrong)) {
      if (name !== 'versions' || !Array.isArray(value)) expect(spec[name]).toEqual(value);
    }
    expect(completed(JSON.stringify({ ...HEAD, spec: wrong })).documents).toEqual([]);
  });

  it('never drops a digest', () => {
    const { spec } = completeDefinition({
      versions: [{ name: 'v1', runtime: { container: { image: 'a.example/b', sha256: 'abc' } } }],
    });
    expect(spec).toMatchObject({ versions: [{ runtime: { container: { sha256: 'abc' } } }] });
  });

  it('lists the completed fields of an upstream entry', () => {
    const text = STORIES[2]![1];
    expect(readCatalog(toBytes(text), 'c')).toMatchObject({
      entries: [{ problem: expect.any(String) }, {}, {}],
    });
    const read = readCatalog(toBytes(text), 'c', { defaults: { license: 'MIT', publisher: 'Fruit Co' } });
    if ('problem' in read) throw new Error(read.problem);
    expect(read.entries).toHaveLength(3);
    for (const one of read.entries) {
      expect(one).toMatchObject({
        definition: { publisher: 'Fruit Co', versions: [{ license: 'MIT' }] },
        completed: ['publisher', 'schema', 'idempotent', 'usage', 'examples', 'license'],
      });
    }
  });
});

const KEP = fileURLToPath(
  new URL('../../../../../shared/spec/kep-2906-function-catalog.txt', import.meta.url),
);

/** The catalogs of the KEP's text: from their first line to the next empty one. */
function kepCatalogs(): string[] {
  const text = readFileSync(KEP, 'utf8');
  return [...text.matchAll(/^apiVersion: config\.kubernetes\.io\/v1alpha1\nkind: Catalog\n(?:.+\n)+/gm)].map(
    ([found]) => found,
  );
}

describe.skipIf(!existsSync(KEP))('the catalogs of KEP-2906 (skipped if ../shared/spec is missing)', () => {
  it('are rejected by lint, and completed to valid definitions', () => {
    const catalogs = kepCatalogs();
    expect(catalogs).toHaveLength(7);
    for (const text of catalogs.slice(0, 6)) {
      expect(functions(strict(text))).toEqual([]);
      expect(errors(strict(text, 'kep'))).not.toEqual([]);
      const result = completed(text);
      expect(errors(result)).toEqual([]);
      expect(functions(result)).toHaveLength(text.match(/- group:/g)!.length);
    }
  });

  it('are usable after the ellipsis in one of them is removed', () => {
    const text = kepCatalogs()[6]!;
    expect(strict(text).diagnostics.map(({ code }) => code)).toContain('yaml/syntax');
    const result = completed(text.replace(/^ *\.{3}\n/gm, ''));
    expect(functions(result).map(({ names }) => names.kind)).toEqual(['SetNamespace']);
    expect([...new Set(errors(result).map((one) => one.split(' ')[0]))]).toEqual(['exec/digest-form']);
  });
});
