import type { TokenRecord } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { RegistryStoreHarness } from './registry-store.js';
import { AT, changeOf, foundAfter } from './sample-records.js';

const LATER = '2030-02-02T03:04:05.678Z';

/** The persistence of a store. */
export function lifecycleContract(harness: () => RegistryStoreHarness): void {
  const store = () => harness().store;
  const token: TokenRecord = {
    id: 'abc',
    name: "ci's",
    scopes: ['publish', 'yank'],
    groups: ['*.example.com'],
    repositories: [],
    createdAt: AT,
    createdBy: 'admin',
    expiresAt: LATER,
  };

  describe('persistence', () => {
    it('reports that it is writable', async () => {
      await store().check();
    });

    it('has everything after a restart', async ({ skip }) => {
      const { reopen } = harness();
      if (reopen === undefined) return skip('this store is not persistent');
      const change = changeOf({ kind: 'SetLabels', tags: ['mutator'] });
      await store().commitFunction(change);
      await store().createToken(token, 'f00d');
      await store().applyRecipe({
        name: 'c',
        recipe: 'r',
        expectedRecipe: undefined,
        at: AT,
        by: 'x',
        event: { type: 'catalog.applied', at: AT, by: 'x' },
      });
      await store().recordProfileBlobs([{ digest: sha256('a'), coding: 'br', blob: sha256('b') }]);
      const reopened = await reopen();
      expect(await reopened.release('example.com', 'SetLabels', '1.0.0')).toEqual(change.release);
      expect((await reopened.search({ text: 'labels', limit: 1 })).items).toEqual([foundAfter(change)]);
      expect(await reopened.tokenByHash('f00d')).toEqual(token);
      expect(await reopened.catalog('c')).toMatchObject({ recipe: 'r' });
      expect(await reopened.profileBlob(sha256('a'), 'br')).toBe(sha256('b'));
      expect(await reopened.lastEvent()).toBe(2);
      expect((await reopened.commitFunction(changeOf({ kind: 'Next' }))).sequence).toBe(3);
    });
  });
}
