import type { SearchQuery } from '@krmhub/catalog';
import { beforeEach, describe, expect, it } from 'vitest';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import { changeOf } from './sample-records.js';
import { FUNCTIONS } from './searched-functions.js';

/** Pages of a search, and texts without words. */
export function searchPagesContract(store: () => RegistryStore): void {
  const search = (query: Partial<SearchQuery> = {}) => store().search({ limit: 100, ...query });
  const kinds = async (query: Partial<SearchQuery> = {}) =>
    (await search(query)).items.map(({ kind }) => kind);

  describe('search', () => {
    beforeEach(async () => {
      for (const sample of FUNCTIONS) await store().commitFunction(changeOf(sample));
    });

    it.each([
      {},
      { text: 'sets' },
      { tag: ['mutator'] },
      { text: 'labels', group: ['example.com'] },
      { sort: 'newest' as const },
      { sort: 'newest' as const, text: 'sets' },
      { sort: 'name' as const, text: 'sets' },
    ])('pages through %j without gaps or repetitions', async (query) => {
      const whole = await kinds(query);
      const paged: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await search({ ...query, limit: 2, ...(cursor !== undefined && { cursor }) });
        expect(page.items.length).toBeLessThanOrEqual(2);
        expect(page.total).toBe(whole.length);
        paged.push(...page.items.map(({ kind }) => kind));
        cursor = page.next;
      } while (cursor !== undefined && paged.length < 100);
      expect(paged).toEqual(whole);
    });

    it('continues at the same point after a publish between two pages', async () => {
      const first = await search({ limit: 4 });
      await store().commitFunction(changeOf({ kind: 'AAA' }));
      const rest = await kinds({ cursor: first.next! });
      expect([...first.items.map(({ kind }) => kind), ...rest]).toHaveLength(FUNCTIONS.length);
      expect(rest).not.toContain('AAA');
    });

    it('refuses a cursor that is malformed or of another search', async () => {
      const { next } = await search({ text: 'sets', limit: 1 });
      const forged = [1, [], ['x'], {}, ['', 0, 'a', 'b'], null].map((value) =>
        Buffer.from(JSON.stringify(value)).toString('base64url'),
      );
      for (const cursor of ['', 'x', '%', '\u0000', next!.slice(1), 'A'.repeat(100_000), ...forged]) {
        await expect(search({ text: 'sets', cursor })).rejects.toMatchObject({ code: 'invalid-request' });
      }
      await expect(search({ text: 'other', cursor: next! })).rejects.toMatchObject({
        code: 'invalid-request',
      });
      await expect(search({ text: 'sets', sort: 'newest', cursor: next! })).rejects.toMatchObject({
        code: 'invalid-request',
      });
      await expect(search({ text: 'sets', tag: ['a'], cursor: next! })).rejects.toMatchObject({
        code: 'invalid-request',
      });
    });

    it.each([
      '"',
      '""',
      "'",
      '*',
      '*a',
      'a*',
      '^labels',
      'labels^2',
      'kind:labels',
      '{kind tags} : labels',
      'labels OR',
      'AND',
      'NOT labels',
      'NEAR(labels set, 2)',
      '(labels',
      'labels)',
      'a AND (b',
      '+ -',
      '- labels',
      'la\u0000bels',
      '\ud800',
      '\ud800labels',
      '\u0301',
      '漢字',
      '%',
      '_',
      '__proto__',
      'constructor',
      '\u{1F34C}',
      'x'.repeat(100_000),
      'a '.repeat(50_000),
      '"labels" "set',
      ';--',
      '\u202elabels',
      'ABC'.repeat(10_000),
    ])('never fails on hostile text (%#)', async (text) => {
      const page = await search({ text });
      expect(page.total).toBeGreaterThanOrEqual(page.items.length);
      await search({
        tag: [text],
        kind: [text],
        group: [text],
        publisher: [text],
        runtime: [text],
        license: [text],
        catalog: [text],
        signedBy: [text],
      });
    });

    it('finds nothing for text without words', async () => {
      expect(await search({ text: '*** "' })).toMatchObject({ total: 0, items: [] });
    });
  });
}
