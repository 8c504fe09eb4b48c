import { compareReleases, newestRelease } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import { compareFunctionNames } from '../ports/function-name.js';
import type { ReleaseRecord, Selection } from '../ports/records.js';
import { matchesSelector, type Recipe, type RecipeSource, type Selector } from '../recipe/recipe.js';
import { renderCatalog, renderEntry } from '../render/render.js';
import {
  functionDefinition,
  functionRecord,
  functionVersion,
  lifecycleRecord,
  randomReleases,
  releaseRecord,
} from '../testing/records.js';
import { entryDefinition as entryOf } from './entry.js';
import { isSameSelection, selectFunction } from './select-function.js';

const EVERYTHING = recipe({ name: 'all' });

const entryDefinition = (selection: Selection, releases: readonly ReleaseRecord[]) =>
  entryOf(selection, new Map(releases.map(({ digest, definition }) => [digest, definition])), EVERYTHING);

function recipe(...sources: (Partial<RecipeSource> & { name: string })[]): Recipe {
  return { name: 'test', sources: sources.map((source) => ({ exclude: [], ...source })) };
}

function serving(release: string, versions: string[], overrides: Partial<ReleaseRecord> = {}): ReleaseRecord {
  const definition = functionDefinition({
    versions: versions.map((name) => functionVersion(name)),
    description: release,
  });
  return releaseRecord(release, definition, overrides);
}

/** `v1=all:1.2.0 v1beta1=all:0.9.0` */
function chosen(cut: Recipe, releases: ReleaseRecord[]): string {
  const { versions } = selectFunction(cut, functionRecord(releases));
  return versions.map(({ name, source, release }) => `${name}=${source}:${release}`).join(' ');
}

describe('the release of an API version', () => {
  it('is the newest release by precedence that serves it', () => {
    const releases = [
      serving('0.9.0', ['v1', 'v1beta1']),
      serving('0.10.0', ['v1']),
      serving('0.2.0', ['v1alpha1']),
    ];
    expect(chosen(EVERYTHING, releases)).toBe('v1=all:0.10.0 v1beta1=all:0.9.0 v1alpha1=all:0.2.0');
  });

  it('is a pre-release only if no other release serves the API version', () => {
    const releases = [
      serving('1.0.0', ['v1']),
      serving('2.0.0-rc.1', ['v1', 'v2']),
      serving('2.0.0-rc.2', ['v2']),
    ];
    expect(chosen(EVERYTHING, releases)).toBe('v2=all:2.0.0-rc.2 v1=all:1.0.0');
  });

  it('is not yanked, and the report lists the yanked release', () => {
    const yanked = { yanked: lifecycleRecord('broken') };
    const releases = [
      serving('1.0.0', ['v1']),
      serving('1.1.0', ['v1', 'v2'], yanked),
      serving('0.9.0', ['v1'], yanked),
    ];
    const selection = selectFunction(EVERYTHING, functionRecord(releases));
    expect(selection.versions.map(({ release }) => release)).toEqual(['1.0.0']);
    expect(selection.yanked).toEqual([{ release: '1.1.0', source: 'all' }]);
  });

  it('is absent if every release is yanked', () => {
    const selection = selectFunction(
      EVERYTHING,
      functionRecord([serving('1.0.0', ['v1'], { yanked: lifecycleRecord('x') })]),
    );
    expect(selection.versions).toEqual([]);
    expect(selection.yanked).toEqual([{ release: '1.0.0', source: 'all' }]);
  });

  it('is in the release range of its source, which matches only listed pre-releases', () => {
    const releases = [
      serving('1.0.0', ['v1']),
      serving('1.9.0', ['v1']),
      serving('2.0.0', ['v1']),
      serving('3.0.0-rc.1', ['v3']),
    ];
    expect(chosen(recipe({ name: 'a', release: '>=1.0.0 <2.0.0' }), releases)).toBe('v1=a:1.9.0');
    expect(chosen(recipe({ name: 'a', release: '>=5.0.0' }), releases)).toBe('');
    expect(chosen(recipe({ name: 'a', release: '>=3.0.0-0' }), releases)).toBe('v3=a:3.0.0-rc.1');
    expect(chosen(recipe({ name: 'a', release: '*' }), releases)).toBe('v1=a:2.0.0');
  });

  it('comes from the first source, and the report lists shadowed releases', () => {
    const releases = [serving('1.0.0', ['v1']), serving('2.0.0', ['v1', 'v2'])];
    const cut = recipe({ name: 'pinned', release: '1.x' }, { name: 'rest' });
    const selection = selectFunction(cut, functionRecord(releases));
    expect(chosen(cut, releases)).toBe('v2=rest:2.0.0 v1=pinned:1.0.0');
    expect(selection.shadowed).toEqual([
      { version: 'v1', source: 'rest', release: '2.0.0', by: { source: 'pinned', release: '1.0.0' } },
    ]);
  });

  it('comes from a later source if the first has only yanked releases', () => {
    const releases = [serving('1.0.0', ['v1'], { yanked: lifecycleRecord('x') }), serving('2.0.0', ['v1'])];
    const selection = selectFunction(
      recipe({ name: 'pinned', release: '1.x' }, { name: 'rest' }),
      functionRecord(releases),
    );
    expect(selection.versions).toMatchObject([{ source: 'rest', release: '2.0.0' }]);
    expect(selection.yanked).toEqual([{ release: '1.0.0', source: 'pinned' }]);
  });
});

describe('selectors', () => {
  const release = releaseRecord('1.0.0', functionDefinition({ tags: ['Mutator', 'labels'] }));
  const name = { group: 'example.com', kind: 'SetLabels' };

  it('match if every field matches', () => {
    const holds: Selector = {
      ...name,
      tags: ['mutator', 'LABELS'],
      publisher: 'Example Co',
      runtime: 'container',
      license: 'Apache-2.0',
    };
    expect(matchesSelector(holds, name, release)).toBe(true);
    const others = {
      group: 'other.com',
      kind: 'setlabels',
      tags: ['mutator', 'x'],
      publisher: 'X',
      runtime: 'exec',
      license: 'MIT',
    };
    for (const [field, value] of Object.entries(others)) {
      expect(matchesSelector({ ...holds, [field]: value }, name, release), field).toBe(false);
    }
  });

  it('are alternatives, and an exclusion wins', () => {
    const releases = [serving('1.0.0', ['v1'])];
    const match = [{ group: 'other.com' }, { kind: 'SetLabels' }];
    expect(chosen(recipe({ name: 'a', match }), releases)).toBe('v1=a:1.0.0');
    expect(chosen(recipe({ name: 'a', match: [{ group: 'other.com' }] }), releases)).toBe('');
    expect(chosen(recipe({ name: 'a', match, exclude: [{ publisher: 'Example Co' }] }), releases)).toBe('');
  });

  it('apply to each release, so an exclusion can select an older release', () => {
    const relicensed = functionDefinition({ versions: [functionVersion('v1', { license: 'BUSL-1.1' })] });
    const releases = [serving('1.0.0', ['v1']), releaseRecord('2.0.0', relicensed)];
    expect(chosen(recipe({ name: 'a', exclude: [{ license: 'BUSL-1.1' }] }), releases)).toBe('v1=a:1.0.0');
  });
});

describe('over seeded random releases', () => {
  const cuts = [
    EVERYTHING,
    recipe({ name: 'stable', release: '>=1.0.0 <2.0.0' }, { name: 'rest', exclude: [{ license: 'MIT' }] }),
    recipe({ name: 'tagged', match: [{ tags: ['mutator'] }, { publisher: 'Other Co' }] }, { name: 'rest' }),
  ];

  it('does not depend on the order of releases', () => {
    for (let seed = 0; seed < 300; seed++) {
      const random = new Random(seed);
      const releases = randomReleases(random);
      const other = random.shuffled(releases);
      for (const cut of cuts) {
        const [one, two] = [releases, other].map((list) =>
          selectFunction(cut, { ...functionRecord([]), releases: list }),
        );
        expect(two).toEqual(one);
        if (one!.versions.length === 0) continue;
        const [a, b] = [releases, other].map((list) => renderEntry(entryDefinition(one!, list)));
        expect(b).toEqual(a);
      }
    }
  });

  it('the default recipe selects the newest release of each API version', () => {
    for (let seed = 0; seed < 300; seed++) {
      const releases = randomReleases(new Random(seed));
      const standing = releases.filter(({ yanked }) => yanked === undefined);
      const { versions } = selectFunction(EVERYTHING, functionRecord(releases));
      const names = new Set(standing.flatMap((release) => release.versions));
      expect(new Set(versions.map(({ name }) => name))).toEqual(names);
      for (const { name, release } of versions) {
        const candidates = standing.filter((one) => one.versions.includes(name)).map((one) => one.release);
        expect(release).toBe(newestRelease(candidates));
      }
    }
  });

  it('an incremental build gives the same result as a full build', () => {
    const random = new Random(7);
    const kinds = ['A', 'B', 'C', 'D', 'E', 'F'];
    for (const cut of cuts) {
      const state = new Map<string, ReleaseRecord[]>();
      const places = new Map<string, string>();
      const place = (kind: string): string => {
        const releases = state.get(kind)!;
        const selection = selectFunction(cut, { ...functionRecord(releases), kind });
        return selection.versions.length === 0 ? '' : renderEntry(entryDefinition(selection, releases)).yaml;
      };
      for (let step = 0; step < 60; step++) {
        const kind = random.pick(kinds);
        state.set(kind, randomReleases(random));
        places.set(kind, place(kind));
      }
      const all = new Map([...state.keys()].map((kind) => [kind, place(kind)]));
      expect(places).toEqual(all);
    }
  });
});

describe('the entry of several releases', () => {
  const older = (overrides = {}) =>
    releaseRecord(
      '1.0.0',
      functionDefinition({
        description: 'old',
        versions: [functionVersion('v1beta1', overrides)],
        maintainers: ['old@example.com'],
      }),
    );
  const newer = releaseRecord(
    '2.0.0',
    functionDefinition({
      description: 'new',
      home: 'https://example.com',
      maintainers: ['new@example.com'],
      tags: ['fresh'],
    }),
  );

  it('takes function fields from the newest release', () => {
    const releases = [older(), newer];
    const entry = entryDefinition(selectFunction(EVERYTHING, functionRecord(releases)), releases);
    expect(entry).toMatchObject({
      description: 'new',
      home: 'https://example.com',
      maintainers: ['new@example.com'],
      tags: ['fresh'],
    });
    expect(entry.versions.map(({ name }) => name)).toEqual(['v1', 'v1beta1']);
  });

  it('keeps the maintainers of an API version from another release', () => {
    const listMaintainers = (release: ReleaseRecord) => {
      const releases = [release, newer];
      return entryDefinition(selectFunction(EVERYTHING, functionRecord(releases)), releases).versions[1]!
        .maintainers;
    };
    expect(listMaintainers(older())).toEqual(['old@example.com']);
    expect(listMaintainers(older({ maintainers: ['own@example.com'] }))).toEqual(['own@example.com']);
    expect(listMaintainers(older({ maintainers: ['new@example.com'] }))).toBeUndefined();
  });

  it('throws for missing releases and for an empty selection', () => {
    const selection = selectFunction(EVERYTHING, functionRecord([newer]));
    expect(() => entryDefinition(selection, [older()])).toThrow(/the definition of API version v1/);
    expect(() => entryDefinition({ ...selection, versions: [] }, [newer])).toThrow(RangeError);
  });
});

it('API versions of one rank have one order', () => {
  const releases = [serving('1.0.0', ['v01']), serving('2.0.0', ['v1']), serving('3.0.0', ['v001'])];
  const orders = [releases, [...releases].reverse()].map((list) =>
    selectFunction(EVERYTHING, { ...functionRecord([]), releases: list }).versions.map(({ name }) => name),
  );
  expect(orders[1]).toEqual(orders[0]);
});

describe('comparing', () => {
  it('detects every difference of two selections', () => {
    const releases = [serving('1.0.0', ['v1']), serving('2.0.0', ['v1'], { yanked: lifecycleRecord('x') })];
    const one = selectFunction(EVERYTHING, functionRecord(releases));
    expect(isSameSelection(one, structuredClone(one))).toBe(true);
    expect(isSameSelection(one, { ...one, yanked: [] })).toBe(false);
    expect(isSameSelection(one, { ...one, versions: [] })).toBe(false);
    expect(isSameSelection(one, { ...one, kind: 'Other' })).toBe(false);
  });

  it('sorts functions by code units, not by locale', () => {
    const names = ['b.com/A', 'a.com/b', 'a.com/B', 'a.com/Ab', 'a-b.com/A'].map((name) => {
      const [group, kind] = name.split('/');
      return { group: group!, kind: kind! };
    });
    expect(names.sort(compareFunctionNames).map(({ group, kind }) => `${group}/${kind}`)).toEqual([
      'a-b.com/A',
      'a.com/Ab',
      'a.com/B',
      'a.com/b',
      'b.com/A',
    ]);
  });

  it('catalogs of the same releases have the same bytes', () => {
    const bytes = (releases: ReleaseRecord[]) => {
      const entry = renderEntry(
        entryDefinition(selectFunction(EVERYTHING, functionRecord(releases)), releases),
      );
      return [...renderCatalog('catalog.yaml', { name: 'default' }, [entry])].join('');
    };
    const releases = [serving('1.0.0', ['v1']), serving('2.0.0', ['v2', 'v1beta1'])];
    expect(bytes([...releases].sort((a, b) => compareReleases(a.release, b.release)))).toBe(
      bytes(releases.reverse()),
    );
  });
});
