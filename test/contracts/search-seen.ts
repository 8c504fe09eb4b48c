import {
  type AccessDocument,
  AccessRules,
  type Actor,
  ANONYMOUS,
  can,
  INSIDER,
  NO_ACCESS,
  type SearchQuery,
  searchAccess,
  VISIBILITIES,
} from '@krmhub/catalog';
import { Random } from '@krmhub/yaml/testing/random';
import { afterEach, describe, expect, it } from 'vitest';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import { openSqliteStore } from '../../apps/registry/src/store/sqlite/store.js';
import type { RegistryStoreHarness } from './registry-store.js';
import { changeOf, type SampleFunction } from './sample-records.js';
import { cutUpstream, type SampleEntry } from './sample-upstream.js';
import { names, walk } from './search-walks.js';

const GROUPS = ['a.example.com', 'b.example.com', 'c.example.org', 'd.example.org'];
const PATTERNS = [...GROUPS, '*.example.com', '*.example.org', '*'];
const CATALOGS = ['default', 'one', 'two'];
const WORDS = ['labels', 'labelz', 'annotations', 'namespace', 'chart', 'quota', 'quote', 'map'];
const TEXTS = [
  ...WORDS,
  'lables',
  'labelx',
  'quotas',
  'namespase',
  'set labels',
  'chart quota',
  'set',
  'q',
  'zebra',
  'heron chart',
];
const TEAMS = ['red', 'blue'];

/** What a registry has. */
interface Content {
  functions: SampleFunction[];
  /** Entries of catalogs: of functions of the registry, and of upstream functions. */
  catalogs: Map<string, SampleEntry[]>;
}

function randomContent(random: Random): Content {
  const words = (most: number) => Array.from({ length: random.below(most + 1) }, () => random.pick(WORDS));
  const kindOf = (at: number | string) =>
    `${['Set', ...words(2)].map((word) => `${word[0]!.toUpperCase()}${word.slice(1)}`).join('')}X${at}`;
  const sample = (at: number | string) => ({
    group: random.pick(GROUPS),
    kind: kindOf(at),
    description: ['common', ...words(3)].join(' '),
    tags: [...new Set(words(2))],
    publisher: random.pick(['One', 'Two', 'one']),
  });
  const functions = Array.from({ length: 30 }, (_, at) => ({
    ...sample(at),
    ...(random.chance(0.5) && {
      readme: `It is about ${words(3).join(' ')} of ${random.pick(['zebras', 'herons'])}.`,
    }),
    publishedAt: `2030-01-0${1 + random.below(5)}T00:00:00.000Z`,
  }));
  const both = Array.from({ length: 4 }, (_, at) => sample(`All${at}`));
  // Each catalog has its own entry of these.
  const named = Array.from({ length: 4 }, (_, at) => ({
    group: random.pick(GROUPS),
    kind: kindOf(`Each${at}`),
  }));
  const catalogs = new Map(
    CATALOGS.map((catalog) => {
      const upstream = Array.from({ length: 5 }, (_, at) => sample(`${catalog}${at}`));
      const ours = functions
        .filter(() => random.chance(0.3))
        .map(({ group, kind }): SampleEntry => ({ group, kind }));
      const each = named
        .filter(() => random.chance(0.7))
        .map(({ group, kind }, at) => ({
          ...sample(at),
          group,
          kind: random.chance(0.2) ? `${kind.slice(0, 3)}${kind.slice(3).toLowerCase()}` : kind,
        }));
      return [catalog, [...upstream, ...ours, ...each, ...both.filter(() => random.chance(0.5))]];
    }),
  );
  return { functions, catalogs };
}

async function fill(store: RegistryStore, { functions, catalogs }: Content): Promise<void> {
  for (const sample of functions) await store.commitFunction(changeOf(sample));
  for (const [catalog, entries] of catalogs) {
    if (entries.length > 0) await cutUpstream(store, catalog, entries);
  }
  await store.synchronizeSearch();
}

function randomAccess(random: Random, { functions }: Content): AccessDocument {
  const some = <Item>(items: readonly Item[], chance: number) => items.filter(() => random.chance(chance));
  return {
    ...NO_ACCESS,
    teams: TEAMS.map((name) => ({ name, members: [] })),
    groups: some(PATTERNS, 0.5).map((pattern) => ({
      pattern,
      ...(random.chance(0.3) && { owner: random.pick(TEAMS) }),
      ...(random.chance(0.8) && { visibility: random.pick(VISIBILITIES) }),
      functions: some(functions, 0.1).map(({ kind }) => ({ kind, visibility: random.pick(VISIBILITIES) })),
    })),
    catalogs: some(['*', ...CATALOGS], 0.5).map((pattern) => ({
      pattern,
      visibility: random.pick(VISIBILITIES),
    })),
    grants: some([...PATTERNS, ...PATTERNS], 0.3).map((group) => ({
      team: random.pick(TEAMS),
      may: ['read'],
      in: random.chance(0.5) ? { group } : { catalog: random.pick(CATALOGS) },
    })),
  };
}

function randomActor(random: Random, { functions }: Content): Actor {
  if (random.chance(0.3)) return random.pick([ANONYMOUS, INSIDER]);
  return {
    name: 'someone',
    id: String(random.below(1_000)),
    scopes: random.pick([['read'], ['publish'], ['admin'], ['push']]),
    groups: random.chance(0.3)
      ? functions.filter(() => random.chance(0.3)).map(({ group, kind }) => `${group}/${kind.toLowerCase()}`)
      : [random.pick(PATTERNS)],
    repositories: [random.pick(['*', 'catalogs/*', 'catalogs/one'])],
    ...(random.chance(0.4) && { teams: [random.pick(TEAMS)] }),
    isInside: true,
  };
}

function readable({ functions, catalogs }: Content, rules: AccessRules, actor: Actor): Content {
  const sees = ({ group = '', kind }: SampleEntry) => can(rules, actor, 'read', { group, kind }).allowed;
  const seesCatalog = (catalog: string) => can(rules, actor, 'read', { catalog }).allowed;
  const visible = functions.filter(sees);
  return {
    functions: visible,
    catalogs: new Map(
      [...catalogs].map(([catalog, entries]) => [catalog, seesCatalog(catalog) ? entries.filter(sees) : []]),
    ),
  };
}

function randomQuery(random: Random): SearchQuery {
  const sort = random.pick(['relevance', 'relevance', 'name', 'newest'] as const);
  const text = [random.pick(TEXTS), ...(random.chance(0.2) ? [`-${random.pick(WORDS)}`] : [])].join(' ');
  const within = random.chance(0.2) ? ` -catalog:${random.pick(CATALOGS)}` : '';
  return {
    limit: random.pick([2, 7, 100]),
    ...(random.chance(0.8) && { text: `${text}${within}` }),
    ...(sort !== 'relevance' && { sort }),
    ...(random.chance(0.2) && { tag: [random.pick(WORDS)] }),
    ...(random.chance(0.2) && { group: [random.pick(GROUPS)] }),
    ...(random.chance(0.3) && { catalog: [random.pick(CATALOGS)] }),
  };
}

/** A search sees what its actor may read, and nothing of it depends on anything else. */
export function searchSeenContract(harness: () => RegistryStoreHarness): void {
  describe('a search of an actor', () => {
    const opened: RegistryStore[] = [];
    afterEach(async () => {
      for (const store of opened.splice(0)) await store.close();
    });

    it.each([41, 42, 44])('is one of a registry with only what it may read (%i)', async (seed) => {
      const random = new Random(seed);
      const content = randomContent(random);
      const { store } = harness();
      await fill(store, content);
      let hidden = 0;
      for (let revision = 0; revision < 4; revision += 1) {
        const document = randomAccess(random, content);
        const actor = randomActor(random, content);
        const rules = new AccessRules(document, [], String(revision));
        const owned = searchAccess({ rules });
        const access = { ...owned, actor };
        const seen = readable(content, rules, actor);
        hidden += content.functions.length - seen.functions.length;
        const less = await openSqliteStore(':memory:');
        opened.push(less);
        await fill(less, seen);
        for (let count = 0; count < 25; count += 1) {
          const query = count === 0 ? { limit: 100 } : randomQuery(random);
          const about = JSON.stringify([query, document, actor]);
          const found = await store.search({ ...query, access });
          expect(found, about).toEqual(await less.search({ ...query, access: owned }));
          const walked = await walk({ ...query, access }, (one) => store.search(one));
          expect(walked, about).toEqual(names(await less.search({ ...query, access: owned, limit: 100 })));
          const name = { group: random.pick(GROUPS), kind: `Set${random.pick(WORDS)}` };
          const near = await store.nearFunctions({ ...name, access });
          expect(near, about).toEqual(await less.nearFunctions(name));
        }
      }
      expect(hidden).toBeGreaterThan(0);
    });

    it('continues with a page of another actor', async () => {
      const { store } = harness();
      await fill(store, randomContent(new Random(5)));
      const document: AccessDocument = {
        ...NO_ACCESS,
        groups: [{ pattern: '*.example.com', visibility: 'internal', functions: [] }],
      };
      const access = searchAccess({ rules: new AccessRules(document, [], '1'), actor: ANONYMOUS });
      const all = names(await store.search({ limit: 100 }));
      const seen = names(await store.search({ limit: 100, access }));
      expect(seen.length).toBeGreaterThan(0);
      for (let limit = 1; limit < all.length; limit += 3) {
        const { next, items } = await store.search({ limit });
        const rest = await store.search({ limit: 100, cursor: next!, access });
        const shown = items.map(({ group, kind }) => `${group}/${kind}`);
        expect(names(rest)).toEqual(seen.filter((name) => !shown.includes(name)));
      }
    });
  });
}
