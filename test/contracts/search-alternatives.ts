import type { SearchQuery } from '@krmhub/catalog';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import type { RegistryStoreHarness } from './registry-store.js';
import { AT } from './sample-records.js';
import { cutUpstream, type SamplePlace } from './sample-upstream.js';
import { names, walk } from './search-walks.js';

const CATALOGS = ['default', 'one', 'two'];
const KINDS = Array.from({ length: 6 }, (_, at) => `Common${at}`);
/** More than a build updates in search at once, so rows of these builds are stale until search is synchronized. */
const FILLER: SamplePlace[] = Array.from({ length: 51 }, (_, at) => ({ kind: `Filler${at}` }));
const QUERIES: SearchQuery[] = [{ limit: 2 }, { limit: 2, text: 'common' }, { limit: 2, sort: 'name' }];

/** A search finds a function once, also while rows of entries that catalogs no longer have are in the index. */
export function searchAlternativesContract(harness: () => RegistryStoreHarness): void {
  const store = (): RegistryStore => harness().store;
  const check = async (about: string): Promise<void> => {
    for (const query of QUERIES) {
      const whole = await store().search({ ...query, limit: 100 });
      const found = names(whole);
      expect(new Set(found.map((name) => name.toLowerCase())).size, about).toBe(found.length);
      expect(whole.total, about).toBe(found.length);
      // Each function has a kind of its own.
      expect(
        whole.facets.kind.filter((kind) => kind.count !== 1),
        about,
      ).toEqual([]);
      expect(
        whole.facets.group.map(({ count }) => count),
        about,
      ).toEqual(found.length === 0 ? [] : [found.length]);
      expect(await walk(query, (one) => store().search(one)), about).toEqual(found);
    }
  };
  const remove = (name: string) =>
    store().deleteCatalog({
      name,
      deletion: { at: AT, by: 'admin', reason: 'merged', restorableUntil: '2032-01-01T00:00:00.000Z' },
      event: { type: 'catalog.deleted', at: AT, by: 'admin', catalog: name },
    });

  describe('an upstream function of several catalogs', () => {
    it.each([1, 2])('is found once after any sequence of builds and deletions (%i)', async (seed) => {
      const random = new Random(seed);
      const deleted = new Set<string>();
      for (let step = 0; step < 10; step += 1) {
        const catalog = random.pick(CATALOGS.filter((name) => !deleted.has(name)));
        const last = step === 5 || step === 8;
        if (last && (await store().catalog(catalog)) !== undefined) {
          await remove(catalog);
          deleted.add(catalog);
        } else {
          const places = KINDS.filter(() => random.chance(0.6)).map(
            (kind): SamplePlace => ({
              kind,
              description: `Common ${step} of ${catalog}.`,
            }),
          );
          const filler = random.chance(0.6)
            ? FILLER.map((place) => ({ ...place, description: `Common ${step}.` }))
            : [];
          await cutUpstream(store(), catalog, [...places, ...filler]);
        }
        await check(`step ${step} before`);
        if (random.chance(0.4)) await store().synchronizeSearch();
        await check(`step ${step} after`);
      }
    });
  });
}
