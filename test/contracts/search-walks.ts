import type { SearchPage, SearchQuery, SearchStore } from '@krmhub/catalog';
import { Random } from '@krmhub/yaml/testing/random';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import type { RegistryStoreHarness } from './registry-store.js';
import { AT, changeOf, type SampleFunction } from './sample-records.js';
import { cutUpstream } from './sample-upstream.js';

const WORDS = ['set', 'label', 'labels', 'name', 'namespace', 'chart', 'größe', 'map', 'http', 'v2'];
const TEXTS = [
  ...WORDS,
  'GRÖSSE',
  'lables',
  'set labels',
  'SetL',
  'labels name',
  'l',
  'common',
  'exampel',
  'fn',
  'field:label',
  'http namespace v2',
];
const IMAGES = ['registry.example.com/fn', 'registry.example.com/other:v1'];
const GROUPS = ['a.example.com', 'b.example.com'];

/** Makes functions with random fields of few words, so that most queries find functions with the same rank. */
export class RandomFunctions {
  readonly #random: Random;
  #count = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  next(): SampleFunction {
    const random = this.#random;
    const words = (most: number) => Array.from({ length: random.below(most + 1) }, () => random.pick(WORDS));
    const kind = words(3)
      .map((word) => word.replace('ö', 'oe').replace('ß', 'ss'))
      .map((word) => `${word[0]!.toUpperCase()}${word.slice(1)}`);
    const day = String(1 + random.below(5)).padStart(2, '0');
    return {
      group: random.pick(GROUPS),
      kind: `${kind.join('')}X${this.#count++}`,
      description: ['common', ...words(4)].join(' '),
      tags: [...new Set(words(3))],
      fields: words(3),
      readme: words(5).join(' '),
      publishedAt: `2030-01-${day}T00:00:00.00${random.below(3)}Z`,
      allYanked: random.chance(0.1),
      ...(random.chance(0.15) && { deprecated: { at: AT, by: 'someone', reason: 'old' } }),
    };
  }
}

export function randomQuery(random: Random): SearchQuery {
  const sort = random.pick(['relevance', 'relevance', 'relevance', 'name', 'newest'] as const);
  return {
    limit: random.pick([1, 2, 3, 7, 20, 100]),
    ...(random.chance(0.9) && { text: random.chance(0.1) ? random.pick(IMAGES) : random.pick(TEXTS) }),
    ...(sort !== 'relevance' && { sort }),
    ...(random.chance(0.3) && { tag: [random.pick(WORDS)] }),
    ...(random.chance(0.2) && { group: [random.pick(GROUPS)] }),
  };
}

export const names = ({ items }: SearchPage): string[] => items.map(({ group, kind }) => `${group}/${kind}`);

/** Follows `next` to the end. Fails if a page repeats a function, which also ends a walk that does not move. */
export async function walk(
  query: SearchQuery,
  page: (query: SearchQuery) => Promise<SearchPage>,
): Promise<string[]> {
  const seen: string[] = [];
  const sought: SearchQuery = { ...query };
  for (;;) {
    const found = await page(sought);
    const repeated = names(found).filter((name) => seen.includes(name));
    expect(repeated, `functions on two pages of ${JSON.stringify(query)}`).toEqual([]);
    if (found.next !== undefined) expect(found.items).toHaveLength(query.limit);
    seen.push(...names(found));
    if (found.next === undefined) return seen;
    expect(found.items.length).toBeGreaterThan(0);
    sought.cursor = found.next;
  }
}

/** Walks through all pages of searches, each page in any of the processes. */
export function searchWalksContract(harness: () => RegistryStoreHarness): void {
  const store = (): RegistryStore => harness().store;

  describe('walks through the pages of a search', () => {
    let random: Random;
    let functions: RandomFunctions;
    let processes: (SearchStore & { close(): Promise<void> })[];
    const anyProcess = () => random.pick([store(), ...processes]);
    const publish = (sample: SampleFunction) => store().commitFunction(changeOf(sample));
    const upstream = async () => {
      const { group = '', kind, tags = [], description = '' } = functions.next();
      await cutUpstream(store(), 'platform', [{ group, kind, tags, description }]);
    };
    const synchronize = async () => {
      for (const one of [store(), ...processes]) await one.synchronizeSearch();
    };
    const fill = async (seed: number, count: number) => {
      random = new Random(seed);
      functions = new RandomFunctions(random);
      for (let at = 0; at < count; at += 1) await publish(functions.next());
      for (let at = 0; at < 8; at += 1) await upstream();
      await synchronize();
    };
    beforeEach(async () => {
      const other = await harness().join?.();
      processes = other === undefined ? [] : [other];
    });
    afterEach(async () => {
      for (const one of processes) await one.close();
    });

    it.each([11, 12, 13])('show each function once, in the order of one page (%i)', async (seed) => {
      await fill(seed, 80);
      for (let count = 0; count < 60; count += 1) {
        const query = randomQuery(random);
        const whole = await store().search({ ...query, limit: 100 });
        const walked = await walk(query, (one) => anyProcess().search(one));
        expect(walked, JSON.stringify(query)).toEqual(names(whole));
        expect(walked).toHaveLength(whole.total);
      }
    });

    it.each([21, 22])('show what is there all the time once, whatever changes between (%i)', async (seed) => {
      await fill(seed, 60);
      for (let count = 0; count < 25; count += 1) {
        const query = randomQuery(random);
        const before = names(await store().search({ ...query, limit: 100 }));
        const walked = await walk({ ...query, limit: Math.min(query.limit, 20) }, async (one) => {
          const found = await anyProcess().search(one);
          if (random.chance(0.3)) await publish(functions.next());
          if (random.chance(0.2)) await upstream();
          await synchronize();
          return found;
        });
        expect(
          walked.filter((name) => before.includes(name)),
          JSON.stringify(query),
        ).toEqual(before);
      }
    });

    it('end for more functions with a tag than a page has', async () => {
      for (let at = 0; at < 45; at += 1) await publish({ kind: `Fn${at}`, tags: ['labels'] });
      for (let at = 0; at < 3; at += 1) await publish({ kind: `LabelsFn${at}`, tags: [] });
      await synchronize();
      const query = { text: 'labels', limit: 20 };
      expect(await walk(query, (one) => store().search(one))).toHaveLength(48);
    });

    it('end above a thousand results', async () => {
      for (let at = 0; at < 1_050; at += 1)
        await publish({ kind: `Fn${at}`, tags: at % 2 ? ['labels'] : [], description: 'Labels.' });
      await synchronize();
      expect(await walk({ text: 'labels', limit: 100 }, (one) => store().search(one))).toHaveLength(1_050);
    });

    it('continue with the corrected words, even if a function has the misspelled ones now', async () => {
      for (let at = 0; at < 5; at += 1) await publish({ kind: `SetLabels${at}` });
      await synchronize();
      const first = await store().search({ text: 'lables', limit: 2 });
      await publish({ kind: 'Lables' });
      await synchronize();
      const rest = await store().search({ text: 'lables', limit: 100, cursor: first.next! });
      expect([first.corrected, rest.corrected]).toEqual(['labels', 'labels']);
      expect([...first.items, ...rest.items].map(({ kind }) => kind)).toEqual(
        Array.from({ length: 5 }, (_, at) => `SetLabels${at}`),
      );
    });

    it('continue with what runs an image, or with words, as the first page', async () => {
      for (let at = 0; at < 5; at += 1) await publish({ kind: `RegistryExampleComTool${at}` });
      await synchronize();
      const text = 'registry.example.com/tool';
      const first = await store().search({ text, limit: 2 });
      expect(first.total).toBe(5);
      await publish({
        kind: 'Runs',
        runtime: { container: { image: 'registry.example.com/tool:v1' } },
      });
      await synchronize();
      expect((await store().search({ text, limit: 2 })).total).toBe(1);
      const rest = await store().search({ text, limit: 100, cursor: first.next! });
      expect(rest.items).toHaveLength(3);
    });
  });
}
