import {
  type AccessDocument,
  AccessRules,
  NO_ACCESS,
  type OwnerClaim,
  type SearchPage,
  type SearchQuery,
  searchAccess,
} from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { NOT_VERIFIED } from '@krmhub/schema/facets';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import type { RegistryStoreHarness } from './registry-store.js';
import { AT, changeOf, type SampleFunction } from './sample-records.js';
import { cutUpstream, type SampleEntry } from './sample-upstream.js';
import { walk } from './search-walks.js';

const GROUPS = ['a.example.com', 'b.example.com', 'c.example.org', 'd.example.org'];
const PATTERNS = [...GROUPS, '*.example.com', '*.example.org', '*'];
const TEAMS = ['red', 'blue', 'green'];
const WORDS = ['labels', 'annotations', 'namespace', 'chart', 'quota', 'map'];
const TEXTS = [
  ...WORDS,
  'set',
  'set labels',
  'label',
  'lables',
  'setl',
  'kind:set chart',
  '"set quota"',
  'chart -map',
  'tag:map set',
  'zebras',
  'labels namespace',
  'herons of a quota chart',
];
const IMAGE = 'registry.example.com/fn';
const signer = { type: 'key' as const, fingerprint: sha256('someone') };

type Found = SearchPage['items'][number];

/** Functions of several groups that differ only in what says nothing about words: all match a query equally. */
async function publishTwins(
  store: RegistryStore,
  random: Random,
  { at, groups }: { at: number; groups: readonly string[] },
): Promise<string> {
  const words = (most: number) => Array.from({ length: random.below(most + 1) }, () => random.pick(WORDS));
  const name = ['set', ...words(2)].map((word) => `${word[0]!.toUpperCase()}${word.slice(1)}`).join('');
  const twin = {
    kind: `${name}X${at}`,
    description: ['common', ...words(3)].join(' '),
    tags: [...new Set(words(2))],
    publisher: random.pick(['kpt project', 'Blue Team']),
  };
  const upstream: SampleEntry[] = [];
  const readme = random.chance(0.4) ? `About ${words(3).join(' ')} of zebras.` : undefined;
  for (const group of groups.filter((one) => one.startsWith('late') || random.chance(0.6))) {
    if (readme === undefined && random.chance(0.25)) {
      upstream.push({ ...twin, group });
      continue;
    }
    const lifecycle = { at: AT, by: 'someone', reason: 'old' };
    const sample: SampleFunction = {
      ...twin,
      group,
      ...(readme !== undefined && { readme }),
      ...(random.chance(0.3) && { deprecated: lifecycle }),
      ...(random.chance(0.2) && { allYanked: true, yanked: lifecycle }),
      ...(random.chance(0.3) && { signers: [signer] }),
      ...(random.chance(0.3) && { runtime: { container: { image: `${IMAGE}@${sha256('fn')}` } } }),
      publishedAt: `2030-01-0${1 + random.below(9)}T00:00:00.000Z`,
    };
    await store.commitFunction(changeOf(sample));
  }
  if (upstream.length > 0) await cutUpstream(store, 'vendor', upstream);
  await store.synchronizeSearch();
  return twin.kind;
}

function randomOwners(random: Random): { document: AccessDocument; claims: OwnerClaim[] } {
  const some = <Item>(items: readonly Item[], chance: number) => items.filter(() => random.chance(chance));
  return {
    document: {
      ...NO_ACCESS,
      teams: TEAMS.map((name) => ({ name, displayName: `The ${name} team`, members: [] })),
      groups: some(PATTERNS.slice(0, -1), 0.3).map((pattern) => ({
        pattern,
        owner: random.pick(TEAMS),
        functions: [],
      })),
    },
    claims: some(GROUPS, 0.2).map((group) => ({
      group,
      team: random.pick(TEAMS),
      proof: random.pick(['dns', 'https'] as const),
    })),
  };
}

/** Returns how many pairs of equal match are from a verified owner on one side only. */
function expectVerifiedFirst(
  items: readonly Found[],
  isEqual: (one: Found, other: Found) => boolean,
): number {
  let pairs = 0;
  for (const [at, one] of items.entries()) {
    for (const later of items.slice(at + 1)) {
      if (!isEqual(one, later) || (one.owner === undefined) === (later.owner === undefined)) continue;
      pairs += 1;
      // Functions with only yanked releases are last, whoever owns them.
      const isLast = later.yanked && !one.yanked;
      expect(one.owner !== undefined || isLast, `${one.group}/${one.kind} before ${later.group}`).toBe(true);
    }
  }
  return pairs;
}

/** Search knows the owners of groups by the rules of each query, and nothing unverified passes for them. */
export function searchOwnersContract(harness: () => RegistryStoreHarness): void {
  describe('owners in a search', () => {
    it.each([51, 52])('rank, are counted, and are found by the rules of the query (%i)', async (seed) => {
      const random = new Random(seed);
      const { store } = harness();
      const kinds: string[] = [];
      for (let at = 0; at < 12; at += 1)
        kinds.push(await publishTwins(store, random, { at, groups: GROUPS }));
      let pairs = 0;
      let upstream = 0;
      for (let revision = 0; revision < 4; revision += 1) {
        const { document, claims } = randomOwners(random);
        const rules = new AccessRules(document, claims, `${seed} ${revision}`);
        const access = searchAccess({ rules });
        const search = (query: SearchQuery) => store.search({ ...query, access });
        const all = async (text: string): Promise<Found[]> => {
          const items: Found[] = [];
          await walk({ text, limit: 1 + random.below(9) }, async (query) => {
            const page = await search(query);
            items.push(...page.items);
            return page;
          });
          return items;
        };
        for (const text of [...TEXTS, ...kinds]) {
          const items = await all(text);
          pairs += expectVerifiedFirst(items, (one, other) => one.kind === other.kind);
        }
        pairs += expectVerifiedFirst(await all(IMAGE), () => true);
        // A function is from the owner once a release of it is published.
        const [published] = (await all('common')).filter(
          ({ group, release }) => release === undefined && rules.ownerOf(group) !== undefined,
        );
        if (published !== undefined) {
          upstream += 1;
          const { group, kind, description } = published;
          await store.commitFunction(changeOf({ group, kind, description }));
          const later = (await all('common')).find((one) => one.group === group && one.kind === kind);
          expect([published.owner, later?.owner]).toEqual([undefined, rules.groupOwner(group)]);
        }
        // A new group has its owner at once.
        const groups = [`late${revision}.example.org`, ...GROUPS];
        await publishTwins(store, random, { at: 100 + revision, groups });
        for (let count = 0; count < 12; count += 1) {
          const query: SearchQuery = {
            limit: 100,
            ...(count > 0 && random.chance(0.7) && { text: random.pick(TEXTS) }),
            ...(random.chance(0.3) && { tag: [random.pick(WORDS)] }),
            ...(random.chance(0.3) && { group: [random.pick(GROUPS), random.pick(GROUPS)] }),
          };
          await expectFacet(query, { search, rules });
        }
      }
      expect(pairs).toBeGreaterThan(100);
      expect(upstream).toBeGreaterThan(0);
    });

    it('are nobody without rules', async () => {
      const { store } = harness();
      await store.commitFunction(changeOf({ kind: 'SetLabels' }));
      const { items, facets } = await store.search({ text: 'labels', limit: 10 });
      expect(items[0]).not.toHaveProperty('owner');
      expect(facets.owner).toEqual([{ value: NOT_VERIFIED, count: 1 }]);
    });
  });
}

/** What the facet counts is what its links find, and what the items say. */
async function expectFacet(
  query: SearchQuery,
  { search, rules }: { search: (query: SearchQuery) => Promise<SearchPage>; rules: AccessRules },
): Promise<void> {
  const about = JSON.stringify(query);
  const { total, items, facets } = await search(query);
  for (const { group, release, owner } of items) {
    // An owner did not publish what only upstream catalogs have.
    expect(owner, about).toEqual(release === undefined ? undefined : rules.groupOwner(group));
  }
  expect(
    facets.owner.reduce((sum, { count }) => sum + count, 0),
    about,
  ).toBe(total);
  expect(facets.owner.map(({ value }) => value).indexOf(NOT_VERIFIED), about).toBeOneOf([
    -1,
    facets.owner.length - 1,
  ]);
  for (const { value, count, text } of facets.owner) {
    expect(text).toBe(value === NOT_VERIFIED ? undefined : `The ${value} team`);
    const found = await search({ ...query, owner: [value] });
    expect([value, found.total], about).toEqual([value, count]);
    for (const { owner } of found.items) expect(owner?.team ?? NOT_VERIFIED, about).toBe(value);
    expect(found.facets.owner, about).toEqual(facets.owner);
    // A text that finds nothing is corrected.
    if (count === total) continue;
    const typed = await search({ ...query, text: `${query.text ?? ''} -owner:"${value}"` });
    expect([value, typed.total], about).toEqual([value, total - count]);
  }
}
