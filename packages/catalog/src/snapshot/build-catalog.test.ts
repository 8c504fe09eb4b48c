import { type FunctionDefinition, SNAPSHOT_RENDITIONS, sha256 } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import type { Recipe, RecipeSource, Selector } from '../recipe/recipe.js';
import { renderCatalog, renderEntry } from '../render/render.js';
import { functionDefinition, functionVersion, randomReleases, releaseRecord } from '../testing/records.js';
import { readUpstreamCatalog } from '../upstream/read-upstream.js';
import {
  type BuildInputs,
  type BuildSource,
  buildCatalog,
  builtCatalogPieces,
  type KnownEntry,
} from './build-catalog.js';
import { renderReport, renderSnapshot } from './render-snapshot.js';

const CLOCK = '2030-01-10T00:00:00.000Z';
const DAYS = ['2030-01-01', '2030-01-05', '2030-01-08', '2030-01-09'].map((day) => `${day}T00:00:00.000Z`);
const GROUPS = ['banana.co', 'melon.co', 'example.com'];
const KINDS = ['Split', 'SPLIT', 'Peel', 'SetLabels'];

/** As a copy of a catalog gives them. */
function known(definitions: readonly FunctionDefinition[], firstSeen = DAYS[0]!): KnownEntry[] {
  const bytes = [...renderCatalog('catalog.yaml', { name: 'theirs' }, definitions.map(renderEntry))].join('');
  const read = readUpstreamCatalog(new TextEncoder().encode(bytes), 'theirs.yaml');
  if ('problem' in read) throw new Error(read.problem);
  return read.entries.map(({ facts, rendered: { json } }) => ({ facts, json, firstSeen }));
}

function source(entries: readonly KnownEntry[], former: readonly KnownEntry[] = []): BuildSource {
  const reported = { source: 'x', url: 'https://x.example/c.yaml', state: 'current' as const };
  return { entries, former, signatures: [], reported: { ...reported, invalid: [], invalidEntries: 0 } };
}

const upstream = (name: string, more: Partial<RecipeSource> = {}): RecipeSource => ({
  name,
  catalog: { url: `https://${name}.example/c.yaml`, refreshSeconds: 3_600 },
  exclude: [],
  ...more,
});

const inputs = (sources: Record<string, BuildSource>, functions: BuildInputs['functions'] = []) => ({
  clock: CLOCK,
  functions,
  sources: new Map(Object.entries(sources)),
});

describe('a full build', () => {
  const split = functionDefinition({ group: 'banana.co', names: { kind: 'Split' } });
  const peel = functionDefinition({ group: 'melon.co', names: { kind: 'Peel' } });
  const theirs = functionDefinition({
    group: 'banana.co',
    names: { kind: 'SPLIT' },
    versions: [functionVersion('v1'), functionVersion('v2')],
  });
  const release = releaseRecord('1.0.0', split);
  const own = { group: 'banana.co', kind: 'Split', releases: [release] };
  const recipe: Recipe = {
    name: 'platform',
    labels: { team: 'platform' },
    sources: [{ name: 'ours', exclude: [] }, upstream('theirs')],
  };

  it('treats kinds that differ in case as one function, and the registry owns its groups', () => {
    const built = buildCatalog(recipe, inputs({ theirs: source(known([theirs, peel])) }, [own]));
    expect(built.functions.map(({ group, kind }) => `${group}/${kind}`)).toEqual([
      'banana.co/Split',
      'melon.co/Peel',
    ]);
    expect(built.functions[0]!.refused?.map(({ version, reasons }) => [version, reasons[0]!.code])).toEqual([
      ['v2', 'claim'],
      ['v1', 'claim'],
    ]);
    expect(built.count).toBe(2);
    const snapshot = JSON.parse(
      renderSnapshot(
        {
          ...built,
          serial: 1,
          previous: null,
          functions: built.count,
          createdAt: CLOCK,
        },
        built.functions,
      ),
    ) as { entries: { versions: unknown[] }[] };
    expect(snapshot.entries[0]!.versions).toEqual([
      { name: 'v1', source: 'ours', release: '1.0.0', definition: release.digest },
    ]);
  });

  it('has the bytes and digests of its entries in every format', () => {
    const built = buildCatalog(recipe, inputs({ theirs: source(known([peel])) }, [own]));
    for (const form of SNAPSHOT_RENDITIONS) {
      const text = [...builtCatalogPieces(built, form)].join('');
      const header = { name: 'platform', labels: { team: 'platform' } };
      expect(text).toBe([...renderCatalog(form, header, [split, peel].map(renderEntry))].join(''));
      expect(built.digests[form]).toBe(sha256(text));
    }
  });

  it('lists fully refused functions only in the report', () => {
    const policy = { deny: [{ group: 'banana.co' }] };
    const built = buildCatalog({ ...recipe, policy }, inputs({ theirs: source([]) }, [own]));
    expect(built.count).toBe(0);
    expect([...builtCatalogPieces(built, 'catalog.yaml')].join('')).toContain('krmFunctions: []');
    expect(renderReport({ ...built, serial: 1 }, built.functions)).toContain('"code":"denied"');
  });

  it('uses the previous entry while the current one is too young, and no removed entry', () => {
    const young = upstream('theirs', {
      catalog: { url: 'https://theirs.example/c.yaml', refreshSeconds: 3_600, minimumAgeSeconds: 86_401 },
    });
    const goneAt = '2030-01-09T00:00:00.000Z';
    const before = known([{ ...split, description: 'before' }], DAYS[1]).map((one) => ({ ...one, goneAt }));
    const gone = known([peel], DAYS[1]).map((one) => ({ ...one, goneAt }));
    const built = buildCatalog(
      { ...recipe, sources: [young] },
      inputs({ theirs: source(known([split], DAYS[3]), [...gone, ...before]) }),
    );
    expect(built.functions).toHaveLength(1);
    expect(built.functions[0]!.versions[0]!.definition).toBe(before[0]!.facts.definition);
    expect(built.functions[0]!.refused![0]!.reasons[0]!.code).toBe('minimum-age');
    expect([...builtCatalogPieces(built, 'catalog.yaml')].join('')).toContain('before');
  });

  it('throws if the entries of a source are missing', () => {
    expect(() => buildCatalog(recipe, inputs({}))).toThrow(RangeError);
  });
});

describe('with random recipes and sources', () => {
  const selectors = (random: Random): Selector[] =>
    Array.from({ length: 1 + random.below(2) }, () =>
      random.pick<Selector>([
        { group: random.pick(GROUPS) },
        { kind: random.pick(KINDS) },
        { tags: [random.pick(['mutator', 'validator'])] },
        { license: 'MIT' },
      ]),
    );
  const randomRecipe = (random: Random): Recipe => ({
    name: 'random',
    sources: Array.from({ length: 1 + random.below(4) }, (_, at) => ({
      name: `s${at}`,
      exclude: random.chance(0.3) ? selectors(random) : [],
      ...(random.chance(0.4) ? { match: selectors(random) } : {}),
      ...(random.chance(0.3) ? { rewrite: [{ from: 'registry.example.com/', to: 'mirror.co/' }] } : {}),
      ...(random.chance(0.7)
        ? {
            catalog: {
              url: `https://s${at}.example/c.yaml`,
              refreshSeconds: 60,
              ...(random.chance(0.5) ? { minimumAgeSeconds: random.pick([86_400, 259_200, 432_000]) } : {}),
            },
          }
        : random.chance(0.5)
          ? { release: '>=0.9.0' }
          : {}),
    })),
    ...(random.chance(0.5)
      ? { policy: { ...(random.chance(0.5) ? { licenses: ['MIT'] } : { deny: selectors(random) }) } }
      : {}),
  });
  const randomDefinitions = (random: Random, description: string): FunctionDefinition[] =>
    GROUPS.flatMap((group) =>
      random.some(KINDS, 0.5).map((kind) =>
        functionDefinition({
          group,
          names: { kind },
          description,
          tags: random.some(['mutator', 'validator'], 0.5),
          versions: ['v1', ...random.some(['v1beta1', 'v2'], 0.5)].map((name) =>
            functionVersion(name, { license: random.pick(['MIT', 'Apache-2.0']) }),
          ),
        }),
      ),
    );

  it('does not depend on the order of the input', () => {
    let taken = 0;
    let refused = 0;
    for (let seed = 0; seed < 100; seed++) {
      const random = new Random(seed);
      const recipe = randomRecipe(random);
      const functions = GROUPS.flatMap((group) =>
        random.some(['Split', 'Peel', 'SetLabels'], 0.4).map((kind) => ({
          group,
          kind,
          releases: randomReleases(random),
        })),
      );
      const sources = recipe.sources
        .filter(({ catalog }) => catalog !== undefined)
        .map(({ name }) => ({
          name,
          entries: randomDefinitions(random, name).flatMap((one) => known([one], random.pick(DAYS))),
          former: randomDefinitions(random, `former ${name}`)
            .flatMap((one) => known([one], DAYS[0]))
            .map((one) => ({ ...one, goneAt: random.pick(DAYS) })),
        }))
        .map(({ name, entries, former }) => ({ name, entries: each(entries), former: each(former) }));
      const build = (order: Random | undefined) => {
        const mixed = <Item>(items: readonly Item[]): Item[] => order?.shuffled(items) ?? [...items];
        const built = buildCatalog(recipe, {
          clock: CLOCK,
          functions: mixed(functions).map((fn) => ({ ...fn, releases: mixed(fn.releases) })),
          sources: new Map(
            mixed(sources).map(({ name, entries, former }) => [name, source(mixed(entries), mixed(former))]),
          ),
        });
        taken += built.count;
        refused += built.functions.filter((fn) => fn.refused !== undefined).length;
        return { built, report: renderReport({ ...built, serial: 0 }, built.functions) };
      };
      const expected = build(undefined);
      for (let turn = 0; turn < 3; turn++) expect(build(random), `seed ${seed}`).toEqual(expected);
    }
    expect(taken).toBeGreaterThan(500);
    expect(refused).toBeGreaterThan(200);
  });

  /** Catalogs name each function once. */
  const each = (entries: readonly KnownEntry[]): KnownEntry[] => [
    ...new Map(entries.map((one) => [`${one.facts.group}/${one.facts.kind.toLowerCase()}`, one])).values(),
  ];
});
