import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import {
  type FunctionDefinition,
  readMachineYaml,
  readYaml,
  SNAPSHOT_RENDITIONS,
  sha256,
} from '@krmhub/schema';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { CatalogEntryRow, SnapshotRecord } from '../ports/records.js';
import { entryDefinition } from '../snapshot/entry.js';
import { renderReport, renderSnapshot } from '../snapshot/render-snapshot.js';
import { selectFunction } from '../snapshot/select-function.js';
import { NASTY_STRINGS } from '../testing/nasty-strings.js';
import {
  functionDefinition,
  functionRecord,
  functionVersion,
  lifecycleRecord,
  NOW,
  releaseRecord,
} from '../testing/records.js';
import { renderCatalog, renderDefinition, renderEntry } from './render.js';

/** What a golden file holds; with UPDATE=1 the file is written first. */
function golden(name: string, actual: string): string {
  const folder = new URL('../../../../test/golden/render/', import.meta.url);
  if (process.env.UPDATE === '1') {
    mkdirSync(folder, { recursive: true });
    writeFileSync(new URL(name, folder), actual);
  }
  return readFileSync(new URL(name, folder), 'utf8');
}

const FULL: FunctionDefinition = {
  group: 'fn.example.com',
  names: { kind: 'RenderChart' },
  description: 'Renders a chart: "values" # and all',
  publisher: 'Example Co',
  versions: [
    {
      name: 'v1',
      schema: {
        openAPIV3Schema: {
          type: 'object',
          required: ['spec'],
          properties: {
            apiVersion: { type: 'string' },
            spec: {
              type: 'object',
              description: 'What to render.\n\n  - one\n  - two\n',
              properties: {
                port: {
                  'x-kubernetes-int-or-string': true,
                  anyOf: [{ type: 'integer' }, { type: 'string' }],
                },
                mode: {
                  type: 'string',
                  enum: ['on', 'off', '0755', ''],
                  default: 'off',
                  pattern: '^[a-z]*$',
                },
                ratio: { type: 'number', minimum: -0.5, maximum: 1.5, multipleOf: 1e-7 },
                extra: {
                  type: 'object',
                  additionalProperties: { type: 'array', items: { type: 'string' } },
                  default: {},
                },
              },
            },
          },
        },
      },
      idempotent: true,
      runtime: {
        container: {
          image: 'registry.example.com:5000/functions/render-chart:v1.2.3',
          sha256: '0123456789abcdef'.repeat(4),
          requireNetwork: true,
          requireStorageMount: false,
        },
        exec: {
          platforms: [
            {
              bin: 'render-chart',
              os: 'linux',
              arch: 'amd64',
              uri: 'https://example.com/render-chart.tar.gz',
              sha256: 'e3'.repeat(32),
            },
          ],
        },
        starlark: 'https://example.com/render.star',
      },
      usage: 'https://example.com/render-chart/README.md#usage',
      examples: ['https://example.com/render-chart/one.md', 'https://example.com/render-chart/two.md'],
      license: 'Apache-2.0 OR MIT',
      maintainers: ['Zoë <zoe@example.com>'],
      configMap: true,
    },
  ],
  home: 'https://example.com/render-chart',
  maintainers: ['alice@example.com'],
  tags: ['generator', 'helm', '2024', 'yes'],
};

const HEADER = { name: 'platform', labels: { author: 'ExampleCo', 'example.com/tier': '1' } };
const ENTRIES = [functionDefinition(), FULL].map(renderEntry);

function catalog(form: (typeof SNAPSHOT_RENDITIONS)[number], entries = ENTRIES): string {
  return [...renderCatalog(form, HEADER, entries)].join('');
}

function expected(kind: string, krmFunctions: unknown[]) {
  return { apiVersion: 'config.kubernetes.io/v1alpha1', kind, metadata: HEADER, spec: { krmFunctions } };
}

describe('catalogs', () => {
  it.each(SNAPSHOT_RENDITIONS)('%s has the bytes of the golden file', (form) => {
    expect(catalog(form)).toBe(golden(form, catalog(form)));
    expect(catalog(form, [])).toBe(golden(`empty-${form}`, catalog(form, [])));
  });

  it.each(SNAPSHOT_RENDITIONS)('%s is the same in every YAML parser', (form) => {
    const kind = form.startsWith('krm') ? 'KRMFunctionCatalog' : 'Catalog';
    for (const [entries, functions] of [
      [ENTRIES, [functionDefinition(), FULL]],
      [[], []],
    ] as const) {
      const text = catalog(form, [...entries]);
      const readers = [parse(text), parse(text, { version: '1.1' }), load(text)];
      if (form.endsWith('.json')) readers.push(JSON.parse(text));
      for (const value of readers) expect(value).toEqual(expected(kind, [...functions]));
      expect(text.endsWith('\n')).toBe(true);
    }
  });

  it.each(SNAPSHOT_RENDITIONS)('%s is read by krmhub without diagnostics', (form) => {
    const bytes = new TextEncoder().encode(catalog(form));
    const machine = readMachineYaml(bytes, { file: form });
    const author = readYaml(bytes, { file: form });
    expect([...machine.diagnostics, ...author.diagnostics]).toEqual([]);
    expect(author.documents[0]?.value).toEqual(machine.documents[0]);
  });

  it('can be parsed one entry at a time', () => {
    let made = 0;
    function* entries() {
      for (;;) {
        made++;
        yield ENTRIES[0]!;
      }
    }
    const chunks = renderCatalog('catalog.yaml', HEADER, entries());
    for (let count = 0; count < 1_000; count++) chunks.next();
    expect(made).toBe(1_000);
    chunks.return();
  });

  it('have one line per entry in JSON', () => {
    const lines = catalog('catalog.json').split('\n');
    expect(lines.map((line) => line.slice(0, 12))).toEqual([
      '{"apiVersion',
      '{"group":"ex',
      '{"group":"fn',
      ']}}',
      '',
    ]);
  });

  it('survive a round trip through kubectl, also with unusual strings', ({ skip }) => {
    if (spawnSync('kubectl', ['version', '--client']).status !== 0) skip('kubectl is not on PATH');
    const definition = {
      ...FULL,
      description: NASTY_STRINGS.join(''),
      tags: [...NASTY_STRINGS],
      maintainers: NASTY_STRINGS.map((text) => `${text}\n`),
    };
    const text = catalog('catalog.yaml', [renderEntry(definition), ENTRIES[0]!]);
    const { stdout, stderr } = spawnSync(
      'kubectl',
      ['patch', '--local', '--type', 'merge', '-p', '{}', '-o', 'json', '-f', '-'],
      { input: text, encoding: 'utf8', maxBuffer: 1e8, env: { ...process.env, KUBECONFIG: '/dev/null' } },
    );
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual(expected('Catalog', [definition, functionDefinition()]));
  });
});

describe('entries', () => {
  it('have a digest that does not depend on the order of fields', () => {
    const entry = renderEntry(FULL);
    expect(entry.digest).toBe(sha256(entry.yaml));
    const reversed = Object.fromEntries(Object.entries(FULL).reverse()) as unknown as FunctionDefinition;
    expect(renderEntry(reversed)).toEqual(entry);
    expect(renderEntry({ ...FULL, description: 'x' }).digest).not.toBe(entry.digest);
  });

  it('omit unknown fields', () => {
    const stray = { ...functionDefinition(), hidden: true, __proto__: { polluted: true } };
    expect(renderEntry(stray)).toEqual(renderEntry(functionDefinition()));
  });

  it('keep inherited property names in schemas', () => {
    const properties = JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"string"}}');
    const schema = { openAPIV3Schema: { type: 'object', properties } };
    const { json, yaml } = renderEntry(functionDefinition({ versions: [functionVersion('v1', { schema })] }));
    expect(JSON.stringify(JSON.parse(json).versions[0].schema)).toBe(JSON.stringify(schema));
    expect(JSON.stringify((load(yaml) as FunctionDefinition[])[0]!.versions[0]!.schema)).toBe(
      JSON.stringify(schema),
    );
  });

  it('reject an unpaired surrogate', () => {
    expect(() => renderEntry(functionDefinition({ description: 'half \ud83d' }))).toThrow(TypeError);
  });
});

describe('definitions', () => {
  it('have the bytes of the golden file, and survive a round trip', () => {
    const text = renderDefinition(FULL);
    expect(text).toBe(golden('definition.yaml', text));
    const document = {
      apiVersion: 'config.kubernetes.io/v1alpha1',
      kind: 'KRMFunctionDefinition',
      spec: FULL,
    };
    for (const value of [parse(text), parse(text, { version: '1.1' }), load(text)])
      expect(value).toEqual(document);
  });
});

describe('snapshot.json and report.json', () => {
  const recipe = {
    name: 'platform',
    sources: [
      { name: 'pinned', release: '1.x', exclude: [] },
      { name: 'rest', exclude: [] },
    ],
  };
  const releases = ['1.0.0', '1.1.0', '2.0.0'].map((release) =>
    releaseRecord(release, functionDefinition(), release === '1.1.0' ? { yanked: lifecycleRecord('x') } : {}),
  );
  const place = (kind: string, of: typeof releases): CatalogEntryRow => {
    const selection = { ...selectFunction(recipe, functionRecord(of)), kind };
    return selection.versions.length === 0
      ? selection
      : {
          ...selection,
          entry: renderEntry(
            entryDefinition(
              selection,
              new Map(of.map(({ digest, definition }) => [digest, definition])),
              recipe,
            ),
          ).digest,
        };
  };
  const functions = [place('B', releases), place('Gone', [releases[1]!]), place('A', [releases[2]!])];
  const snapshot: SnapshotRecord = {
    catalog: 'platform',
    serial: 2,
    previous: sha256('before'),
    digests: {
      'krmfunctioncatalog.json': sha256('d'),
      'catalog.json': sha256('b'),
      'catalog.yaml': sha256('a'),
      'krmfunctioncatalog.yaml': sha256('c'),
    },
    functions: 2,
    createdAt: NOW,
  };

  it('have the bytes of the golden file', () => {
    const [one, two] = [renderSnapshot(snapshot, functions), renderReport(snapshot, functions)];
    expect(one).toBe(golden('snapshot.json', one));
    expect(two).toBe(golden('report.json', two));
  });

  it('contain the entries of the snapshot in order, and no time', () => {
    const value = JSON.parse(renderSnapshot(snapshot, functions));
    expect(value.entries.map(({ kind }: { kind: string }) => kind)).toEqual(['A', 'B']);
    expect(JSON.stringify(value)).not.toContain('2030');
    expect(value).toMatchObject({
      catalog: 'platform',
      serial: 2,
      previous: snapshot.previous,
      digests: snapshot.digests,
    });
  });

  it('list the omitted entries', () => {
    const { shadowed, yanked } = JSON.parse(renderReport(snapshot, functions));
    expect(shadowed).toEqual([
      {
        group: 'example.com',
        kind: 'B',
        version: 'v1',
        source: 'rest',
        release: '2.0.0',
        by: { source: 'pinned', release: '1.0.0' },
      },
    ]);
    expect(yanked).toEqual([
      { group: 'example.com', kind: 'B', release: '1.1.0', source: 'pinned' },
      { group: 'example.com', kind: 'Gone', release: '1.1.0', source: 'pinned' },
      { group: 'example.com', kind: 'Gone', release: '1.1.0', source: 'rest' },
    ]);
  });

  it('do not depend on the order of the functions', () => {
    const reversed = [...functions].reverse();
    expect(renderSnapshot(snapshot, reversed)).toBe(renderSnapshot(snapshot, functions));
    expect(renderReport(snapshot, reversed)).toBe(renderReport(snapshot, functions));
  });

  it('are JSON for an empty catalog', () => {
    expect(JSON.parse(renderSnapshot({ ...snapshot, previous: null }, [])).entries).toEqual([]);
    expect(JSON.parse(renderReport({ catalog: 'platform', serial: 1 }, []))).toMatchObject({
      shadowed: [],
      yanked: [],
    });
  });
});
