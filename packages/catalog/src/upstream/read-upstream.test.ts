import { describe, expect, it } from 'vitest';
import { renderCatalog, renderEntry } from '../render/render.js';
import { functionDefinition, functionVersion } from '../testing/records.js';
import { type ReadUpstream, readUpstreamCatalog, UPSTREAM_LIMITS } from './read-upstream.js';

const toBytes = (text: string) => new TextEncoder().encode(text);
const read = (text: string) => readUpstreamCatalog(toBytes(text), 'upstream.yaml');
function readEntries(text: string): ReadUpstream {
  const result = read(text);
  if ('problem' in result) throw new Error(result.problem);
  return result;
}

const catalog = (entries: unknown[], kind = 'Catalog') =>
  JSON.stringify({
    apiVersion: 'config.kubernetes.io/v1alpha1',
    kind,
    metadata: { name: 'vendor' },
    spec: { krmFunctions: entries },
  });
const named = (kind: string, versions = ['v1'], description = kind) =>
  functionDefinition({
    group: 'banana.co',
    names: { kind },
    description,
    versions: versions.map((name) => functionVersion(name)),
  });

describe('an upstream catalog', () => {
  it('survives a round trip', () => {
    const definitions = [named('Peel'), named('Split', ['v1', 'v1beta1'])];
    for (const form of ['catalog.yaml', 'catalog.json', 'krmfunctioncatalog.yaml'] as const) {
      const text = [...renderCatalog(form, { name: 'vendor' }, definitions.map(renderEntry))].join('');
      const { entries, invalid, invalidEntries } = readEntries(text);
      expect(entries.map(({ definition }) => definition)).toEqual(definitions);
      expect(entries.map(({ rendered }) => rendered)).toEqual(definitions.map(renderEntry));
      expect([invalid, invalidEntries]).toEqual([[], 0]);
    }
  });

  it('is read without the totals that only the next read needs', () => {
    const read = readEntries(catalog([named('Peel')]));
    expect(Object.keys(read).sort()).toEqual(['entries', 'invalid', 'invalidEntries']);
  });

  it('can have the dialect of the KEP examples', () => {
    const { versions, ...rest } = named('Split');
    const { name, ...beside } = versions[0]!;
    const { entries } = readEntries(
      catalog([{ ...rest, ...beside, license: 'Apache 2.0', versions: [{ name }] }]),
    );
    expect(entries[0]!.definition.versions[0]).toEqual({ ...versions[0], license: 'Apache-2.0' });
  });

  it('is completed with the defaults of the source, reported by entry', () => {
    const bare = (kind: string) => ({
      group: 'banana.co',
      names: { kind },
      description: kind,
      versions: [{ name: 'v1' }],
      runtime: { container: { image: 'banana.example/peel:v1.0.0' } },
    });
    const text = catalog([bare('Peel'), named('Split'), { ...bare('Cut'), runtime: {} }]);
    expect(readEntries(text)).toMatchObject({ entries: [{}], invalidEntries: 2 });
    expect(readEntries(text)).not.toHaveProperty('completed');
    const result = readUpstreamCatalog(toBytes(text), 'c', { defaults: { license: 'MIT' } });
    expect(result).toMatchObject({
      entries: [
        { facts: { kind: 'Peel', publisher: 'banana.co', licenses: ['MIT'] } },
        { facts: { kind: 'Split' } },
      ],
      invalid: [{ entry: 2, kind: 'Cut' }],
      completed: [
        {
          entry: 0,
          group: 'banana.co',
          kind: 'Peel',
          fields: ['publisher', 'schema', 'idempotent', 'usage', 'examples', 'license'],
        },
      ],
      completedEntries: 1,
    });
  });

  it('lists a hundred completed entries, and counts the rest', () => {
    const bare = (index: number) => ({ ...named(`Peel${index}`), publisher: undefined });
    const text = catalog(Array.from({ length: 150 }, (_, index) => bare(index)));
    const result = readUpstreamCatalog(toBytes(text), 'c', { defaults: {} });
    if ('problem' in result) throw new Error(result.problem);
    expect([result.completed!.length, result.completedEntries]).toEqual([100, 150]);
  });

  it('pins an executable by an OCI digest in place of sha256, as KEP-2906 allows', () => {
    const platform = { bin: 'fn', os: 'linux', arch: 'amd64' } as const;
    const uris = [
      `oci://a.example/fn@sha256:${'a'.repeat(64)}`,
      `oci://a.example/fn:v1@sha256:${'a'.repeat(64)}`,
    ];
    for (const uri of uris) {
      const text = catalog([
        functionDefinition({
          versions: [functionVersion('v1', { runtime: { exec: { platforms: [{ ...platform, uri }] } } })],
        }),
      ]);
      const { entries, invalid } = readEntries(text);
      expect(invalid).toEqual([]);
      expect(entries[0]!.facts.versions[0]).toMatchObject({ references: [uri], unpinned: [] });
      expect(entries[0]!.rendered.yaml).not.toContain('sha256: ');
    }
  });

  it('returns the facts for selectors and policies', () => {
    const of = functionDefinition({
      versions: [
        functionVersion('v1beta1', {
          runtime: { container: { image: 'a.example/b:v1', requireNetwork: true } },
        }),
        functionVersion('v1', { license: 'MIT' }),
      ],
    });
    const [entry] = readEntries(catalog([of])).entries;
    expect(entry!.facts).toEqual({
      group: 'example.com',
      kind: 'SetLabels',
      definition: entry!.rendered.digest,
      versions: [
        {
          name: 'v1',
          license: 'MIT',
          network: false,
          storage: false,
          references: ['registry.example.com/functions/set-labels:v1.0.0'],
          unpinned: [],
        },
        {
          name: 'v1beta1',
          license: 'Apache-2.0',
          network: true,
          storage: false,
          references: ['a.example/b:v1'],
          unpinned: ['a.example/b:v1'],
        },
      ],
      tags: ['mutator'],
      publisher: 'Example Co',
      runtimes: ['container'],
      licenses: ['Apache-2.0', 'MIT'],
    });
  });
});

describe('invalid entries', () => {
  it('are reported with reasons, and do not affect other entries', () => {
    const { publisher: _, ...anonymous } = named('Anonymous');
    const { entries, invalid, invalidEntries } = readEntries(
      catalog([
        'no mapping',
        named('Good'),
        anonymous,
        { ...named('Group'), group: 'not a group' },
        {
          ...named('Image'),
          versions: [functionVersion('v1', { runtime: { container: { image: 'two words' } } })],
        },
        { ...named('Extra'), unheardOf: true },
        { ...named('Bare'), versions: [] },
        null,
      ]),
    );
    expect(entries.map(({ definition }) => definition.names.kind)).toEqual(['Good']);
    expect(invalidEntries).toBe(7);
    expect(invalid.map(({ entry, kind }) => [entry, kind])).toEqual([
      [0, undefined],
      [2, 'Anonymous'],
      [3, 'Group'],
      [4, 'Image'],
      [5, 'Extra'],
      [6, 'Bare'],
      [7, undefined],
    ]);
    expect(invalid[1]!.message).toContain('publisher');
    expect(invalid[4]!.message).toContain('unheardOf');
  });

  it('do not include entries with lint warnings', () => {
    const schema = { openAPIV3Schema: { type: 'object', properties: { on: { type: 'bool' } } } };
    const { entries, invalidEntries } = readEntries(
      catalog([
        { ...named('Split'), versions: [functionVersion('v1', { schema, usage: 'read the source' })] },
      ]),
    );
    expect([entries.length, invalidEntries]).toEqual([1, 0]);
  });

  it('include repeated entries without a new API version', () => {
    const { entries, invalid } = readEntries(
      catalog([
        named('Split', ['v1'], 'first'),
        named('Split', ['v1', 'v2'], 'second'),
        named('Split'),
        named('SPLIT'),
      ]),
    );
    expect(entries).toHaveLength(1);
    expect(entries[0]!.definition.description).toBe('first');
    expect(entries[0]!.definition.versions.map(({ name }) => name)).toEqual(['v1', 'v2']);
    expect(invalid.map(({ entry, message }) => [entry, message])).toEqual([
      [2, 'all of its API versions are already in entry 0'],
      [3, 'its kind differs only in case from the kind of entry 0'],
    ]);
  });

  it('are listed up to a limit, and counted', () => {
    const { invalid, invalidEntries } = readEntries(
      catalog(Array.from({ length: 250 }, () => 'x'.repeat(10_000))),
    );
    expect([invalid.length, invalidEntries]).toEqual([UPSTREAM_LIMITS.maxInvalidReported, 250]);
    const message = 'm'.repeat(5_000);
    const told = readEntries(catalog([{ ...named('Split'), [message]: 1, group: message }])).invalid[0]!;
    expect(told.message.length).toBeLessThanOrEqual(UPSTREAM_LIMITS.maxMessageLength);
    expect(told.group!.length).toBeLessThanOrEqual(253);
  });

  it('include entries with invalid or too long text', () => {
    const surrogate = catalog([named('Split', ['v1'], 'MARK')]).replace('MARK', '\\ud800');
    const big = named('Big', ['v1'], 'x'.repeat(1_100_000));
    const { entries, invalid } = readEntries(surrogate.replace(/\]\}\}$/, `,${JSON.stringify(big)}]}}`));
    expect(entries).toEqual([]);
    expect(invalid.map(({ entry }) => entry)).toEqual([0, 1]);
  });
});

describe('an invalid catalog', () => {
  const problem = (text: string) => {
    const result = read(text);
    return 'problem' in result ? result.problem : undefined;
  };
  it.each([
    ['', /no document/],
    ['<!doctype html><html></html>', /this is/],
    ['apiVersion: v1\nkind: ConfigMap\n', /this is/],
    [`${catalog([])}\n---\n${catalog([])}`, /2 documents|does not belong|document/],
    [
      'apiVersion: config.kubernetes.io/v1alpha1\nkind: KRMFunctionDefinition\nspec: {}\n',
      /KRMFunctionDefinition/,
    ],
    ['apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nspec: {}\n', /krmFunctions/],
    [
      'apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nspec: {krmFunctions: {a: b}}\n',
      /is not a list/,
    ],
    ['apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\n', /spec/],
    ['a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n', /this is|alias/],
    [`${'['.repeat(500)}`, /nested/],
  ])('says so: %j', (text, expected) => {
    expect(problem(text)).toMatch(expected);
  });

  it('has more entries than the limit', () => {
    expect(problem(catalog(Array.from({ length: UPSTREAM_LIMITS.maxEntries + 1 }, () => 0)))).toMatch(
      /20001 entries/,
    );
  });

  it('has more API versions than the limit', () => {
    const [version] = named('Many').versions;
    const versions = Array.from({ length: 50 }, (_, at) => ({ ...version!, name: `v${at + 1}` }));
    const { versions: _, ...rest } = named('Many');
    const count = UPSTREAM_LIMITS.maxAllVersions / 50 + 1;
    const entries = Array.from({ length: count }, (_, at) => ({
      ...rest,
      names: { kind: `Many${at}` },
      versions,
    }));
    expect(read(catalog(entries))).toEqual({
      problem: `its entries have ${count * 50} API versions; the limit is ${UPSTREAM_LIMITS.maxAllVersions}`,
    });
  });

  it('is small but would exceed the size limit when rendered', () => {
    let deep: unknown = Array.from({ length: 8_300 }, () => 'x');
    for (let depth = 0; depth < 50; depth++) deep = { a: deep };
    const { versions, ...rest } = named('Deep');
    const nested = [{ ...versions[0]!, schema: { openAPIV3Schema: { type: 'object', deep } } }];
    const text = catalog(
      Array.from({ length: 150 }, (_, at) => ({ ...rest, names: { kind: `Deep${at}` }, versions: nested })),
    );
    expect(text.length).toBeLessThan(6_000_000);
    expect(read(text)).toEqual({
      problem: `its entries exceed ${UPSTREAM_LIMITS.maxStoredBytes} bytes in normal form`,
    });
  });

  it('can be random bytes, without an exception', () => {
    for (const bytes of [new Uint8Array(), new Uint8Array([0xff, 0xfe, 0x00]), new Uint8Array(1_000)]) {
      expect(readUpstreamCatalog(bytes, 'x')).toHaveProperty('problem');
    }
  });
});
