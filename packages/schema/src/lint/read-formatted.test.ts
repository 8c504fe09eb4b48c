import { describe, expect, it } from 'vitest';
import type { ConvertSource } from '../documents/formats.js';
import { type SourceFile, writeSourceFiles } from '../documents/source-files.js';
import { type CatalogEntry, readCatalog } from './read-catalog.js';
import { readFormatted } from './read-formatted.js';

const toBytes = (text: string) => new TextEncoder().encode(text);
const metadata = (name: string, more = '') => `image: registry.example.com/fn/${name}${more}
description: What ${name} does
sourceURL: https://github.com/example-org/functions/tree/main/${name}
examplePackageURLs: [https://github.com/example-org/functions/tree/main/examples/${name}]
emails: [team@example.com]
license: Apache-2.0
`;

function read(
  files: SourceFile[] | string,
  format: ConvertSource = 'kpt-metadata',
  more: Partial<Parameters<typeof readFormatted>[2]> = {},
) {
  const bytes = typeof files === 'string' ? toBytes(files) : writeSourceFiles(files);
  return readFormatted(bytes, 'theirs', { format, ...more });
}
const entries = (result: ReturnType<typeof readFormatted>): CatalogEntry[] =>
  'problem' in result ? expect.fail(result.problem) : result.entries;
const images = (list: readonly CatalogEntry[]) =>
  list.map((entry) =>
    'problem' in entry
      ? entry.problem
      : entry.definition.versions.map(({ runtime }) => runtime.container?.image).join(),
  );

describe('a folder of function metadata', () => {
  it('returns the newest release of each function, from the folder, image tag, or repository', () => {
    const found = entries(
      read([
        { path: 'set-labels/v0.2/metadata.yaml', text: metadata('set-labels') },
        { path: 'set-labels/v0.10/metadata.yaml', text: metadata('set-labels') },
        { path: 'set-labels/v1.0.0-rc.1/metadata.yaml', text: metadata('set-labels') },
        { path: 'tagged/metadata.yaml', text: metadata('tagged', ':v3.0.0') },
        { path: 'released/metadata.yaml', text: metadata('released'), release: 'v2.1.0' },
      ]),
    );
    expect(images(found)).toEqual([
      'registry.example.com/fn/released:v2.1.0',
      'registry.example.com/fn/set-labels:v0.10',
      'registry.example.com/fn/tagged:v3.0.0',
    ]);
    expect(found[0]).toMatchObject({ completed: ['publisher', 'schema', 'idempotent'] });
  });

  it('has the kinds of real functionConfigs, replaced groups, and a tag on a function that was removed', () => {
    const kpt = (name: string) => metadata(name).replace('registry.example.com/fn', 'gcr.io/kpt-fn');
    const files: SourceFile[] = [
      { path: 'labels/metadata.yaml', text: kpt('set-labels'), release: 'v1.0.0', removed: true },
      { path: 'starlark/metadata.yaml', text: kpt('starlark'), release: 'v1.0.0' },
      { path: 'theirs/metadata.yaml', text: metadata('starlark'), release: 'v2.0.0' },
    ];
    const found = (groups: Record<string, string>) =>
      entries(read(files, 'kpt-metadata', { groups })).map((entry) =>
        'problem' in entry
          ? entry.problem
          : [entry.definition.group, entry.definition.names.kind, ...(entry.definition.tags ?? [])].join(' '),
      );
    expect(found({ 'fn.kpt.dev': 'fn.example.com', 'other.example.com': 'x.example.com' })).toEqual([
      'fn.example.com SetLabels removed-upstream',
      'fn.example.com StarlarkRun',
      // Another image of this name is not that function.
      'fn.example.com Starlark',
    ]);
    expect(found({})[1]).toBe('fn.kpt.dev StarlarkRun');
  });

  it('skips other files, and reports each invalid file', () => {
    const found = entries(
      read([
        { path: 'a/metadata.yaml', text: metadata('a', ':v1.0.0') },
        { path: 'b/metadata.yaml', text: metadata('b') },
        { path: 'broken.yaml', text: 'a: [' },
        { path: 'deploy.yaml', text: 'apiVersion: apps/v1\nkind: Deployment\n' },
        { path: 'values.yaml', text: 'replicas: 2\n' },
        { path: 'latin1.yaml', problem: 'it is not UTF-8' },
      ]),
    );
    expect(images(found)).toEqual([
      'registry.example.com/fn/a:v1.0.0',
      'b/metadata.yaml: image: the image registry.example.com/fn/b has no tag, and the release is unknown',
      expect.stringMatching(/^broken\.yaml: a list in brackets is not closed/),
      'latin1.yaml: it is not UTF-8',
    ]);
  });

  it('accepts identical copies, and rejects two different files of one release', () => {
    const twins = entries(
      read([
        { path: 'a/krm-fn-metadata.yaml', text: metadata('a', ':v1.0.0') },
        { path: 'a/metadata.yaml', text: metadata('a', ':v1.0.0') },
        { path: 'b/krm-fn-metadata.yaml', text: metadata('b', ':v1.0.0') },
        { path: 'b/metadata.yaml', text: metadata('b', ':v1.0.0').replace('What', 'All that') },
      ]),
    );
    expect(images(twins)).toEqual([
      'registry.example.com/fn/a:v1.0.0',
      'b/krm-fn-metadata.yaml and b/metadata.yaml contain different definitions of release 1.0.0',
    ]);
  });

  it('uses the defaults and the group of the recipe', () => {
    const [entry] = entries(
      read([{ path: 'a/metadata.yaml', text: 'image: example.com/a:v1.0.0\ndescription: A\n' }], undefined, {
        group: 'fn.example.com',
        defaults: { publisher: 'Example', license: 'MIT' },
      }),
    );
    expect(entry).toMatchObject({
      definition: { group: 'fn.example.com', publisher: 'Example', versions: [{ license: 'MIT' }] },
    });
  });

  it('lists omitted fields up to a limit', () => {
    const [entry] = entries(
      read(
        JSON.stringify({
          version: '1',
          functions: [
            {
              image: 'ghcr.io/example-org/a:v1.0.0',
              documentation: 'https://example.com/a',
              builder: 'x',
              [`${'long'.repeat(100)}"`]: 1,
              ...Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`x${index}`, 1])),
            },
          ],
        }),
        'kpt-list',
      ),
    );
    const { completed = [] } = entry as { completed?: string[] };
    expect(completed).toEqual(expect.arrayContaining(['group', 'builder']));
    expect(completed.length).toBeLessThanOrEqual(50);
    expect(completed.every((field) => field.length <= 100)).toBe(true);
  });

  it('reports the actual format if no file has the expected one', () => {
    expect(read([{ path: 'a.yaml', text: 'a: 1\n' }])).toEqual({
      problem: 'it contains no kpt function metadata file; it has 1 YAML and JSON files',
    });
    expect(read('kind: ConfigMap\napiVersion: v1\n', 'kpt-list')).toEqual({
      problem: 'it is a ConfigMap of v1, not a kpt function list',
    });
    expect(read('', 'krew')).toEqual({ problem: 'it is empty, not a Krew plugin' });
  });

  it('reports a problem for hostile bytes', () => {
    const start = new TextDecoder().decode(writeSourceFiles([]));
    for (const text of [
      start.replace('"files":[', '"files":[{"path":1},'),
      start.slice(0, -3),
      `${start.slice(0, start.indexOf('[') + 1)}${'['.repeat(100_000)}`,
      '\u0000',
      '&a [*a, *a]',
    ]) {
      expect(read(text)).toHaveProperty('problem');
    }
  });
});

describe('a folder of definitions', () => {
  const definition = (version: string, image: string) => `apiVersion: config.kubernetes.io/v1alpha1
kind: KRMFunctionDefinition
spec:
  group: fn.example.com
  names: {kind: A}
  description: A
  publisher: example
  versions:
  - name: ${version}
    schema: {openAPIV3Schema: {type: object, description: d}}
    idempotent: true
    usage: https://example.com/a.md
    examples: [https://example.com/a.yaml]
    license: Apache-2.0
    runtime: {container: {image: '${image}'}}
`;

  it('returns the newest release, with API versions that only older releases have', () => {
    const found = entries(
      read(
        [
          { path: 'a/1.0.0.yaml', text: definition('v1beta1', 'example.com/a:v1.0.0') },
          { path: 'a/2.0.0.yaml', text: definition('v1', 'example.com/a:v2.0.0') },
          { path: 'a/2.1.0.yaml', text: definition('v1', 'example.com/a:v2.1.0') },
        ],
        'kep',
      ),
    );
    expect(images(found)).toEqual(['example.com/a:v2.1.0,example.com/a:v1.0.0']);
  });

  it('reports the field of an invalid definition', () => {
    const broken = definition('v1', 'example.com/a:v1.0.0').replace('  group: fn.example.com\n', '');
    expect(images(entries(read([{ path: 'a.yaml', text: broken }], 'kep')))).toEqual([
      expect.stringMatching(/^a\.yaml: group/),
    ]);
  });
});

it('reports the format of a file that is not a catalog', () => {
  const list = JSON.stringify({ version: '1', functions: [{ image: 'example.com/a' }] });
  expect(readCatalog(toBytes(list), 'theirs')).toEqual({
    problem: expect.stringMatching(/^this is a kpt function list; .*; set `format: kpt-list` in the recipe$/),
  });
  const porch = 'apiVersion: config.porch.kpt.dev/v1alpha1\nkind: FunctionConfig\n';
  expect(readCatalog(toBytes(`${porch}---\n${porch}`), 'theirs')).toEqual({
    problem: 'it contains 2 documents, expected one; set `format: porch` in the recipe',
  });
});

it('rejects a catalog with too many entries before it reads them', () => {
  const bytes = toBytes(
    'apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nspec: {krmFunctions: [1, 2]}\n',
  );
  expect(readCatalog(bytes, 'theirs', { maxEntries: 1 })).toEqual({
    problem: 'it has 2 entries; the limit is 1',
  });
  expect(readCatalog(bytes, 'theirs', { maxEntries: 2 })).toMatchObject({ entries: [{}, {}] });
});
