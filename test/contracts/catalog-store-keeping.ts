import type { TokenRecord } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { CatalogStoreHarness } from './catalog-store.js';
import { AT, changeOf, foundAfter } from './sample-records.js';

const LATER = '2030-02-02T03:04:05.678Z';

export function keepingContract(harness: () => CatalogStoreHarness): void {
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

  describe('tokens', () => {
    it('are found by the hash of their secret', async () => {
      await store().createToken(token, 'f00d');
      expect(await store().tokenByHash('f00d')).toEqual(token);
      expect(await store().tokenByHash('F00D')).toBeUndefined();
      expect(await store().tokenByHash('')).toBeUndefined();
      await expect(store().createToken({ ...token, id: 'other' }, 'f00d')).rejects.toThrow();
      const { expiresAt: _, ...eternal } = { ...token, id: 'aaa' };
      await store().createToken(eternal, 'beef');
      expect(await store().tokens()).toEqual([eternal, token]);
    });

    it('are used and revoked', async () => {
      await store().createToken(token, 'f00d');
      await store().touchToken('abc', LATER);
      await store().touchToken('abc', AT);
      await store().touchToken('none', AT);
      expect(await store().tokenByHash('f00d')).toEqual({ ...token, lastUsedAt: LATER });
      const revoked = { ...token, lastUsedAt: LATER, revokedAt: AT };
      expect(await store().revokeToken('abc', AT)).toEqual(revoked);
      expect(await store().revokeToken('abc', LATER)).toEqual(revoked);
      expect(await store().tokenByHash('f00d')).toEqual(revoked);
      expect(await store().revokeToken('none', AT)).toBeUndefined();
    });

    it('say why they were revoked, where that is known', async () => {
      await store().createToken(token, 'f00d');
      const revoked = { ...token, revokedAt: AT, revokedReason: 'reported as leaked' };
      expect(await store().revokeToken('abc', AT, 'reported as leaked')).toEqual(revoked);
      expect(await store().revokeToken('abc', LATER, 'another')).toEqual(revoked);
      expect(await store().tokens()).toEqual([revoked]);
    });
  });

  describe('forms', () => {
    const [one, two, gzip, shared] = ['one', 'two', 'gzip', 'shared'].map((text) => sha256(text)) as [
      ReturnType<typeof sha256>,
      ReturnType<typeof sha256>,
      ReturnType<typeof sha256>,
      ReturnType<typeof sha256>,
    ];

    it('are remembered by digest and coding', async () => {
      await store().rememberForms([
        { digest: one, coding: 'identity', blob: one },
        { digest: one, coding: 'gzip', blob: shared },
      ]);
      await store().rememberForms([{ digest: one, coding: 'gzip', blob: gzip }]);
      expect(await store().storedForm(one, 'identity')).toBe(one);
      expect(await store().storedForm(one, 'gzip')).toBe(gzip);
      expect(await store().storedForm(one, 'br')).toBeUndefined();
      expect(await store().storedForm(two, 'identity')).toBeUndefined();
    });

    it('are forgotten, and give up the blobs that nothing else names', async () => {
      const change = changeOf({ kind: 'Fn' });
      change.release.readme = two;
      await store().commitFunction(change);
      await store().rememberForms([
        { digest: one, coding: 'identity', blob: one },
        { digest: one, coding: 'gzip', blob: shared },
        { digest: gzip, coding: 'gzip', blob: shared },
        { digest: two, coding: 'identity', blob: two },
        { digest: two, coding: 'br', blob: change.release.digest },
      ]);
      expect(await store().forgetForms([one, two])).toEqual([one]);
      expect(await store().storedForm(one, 'identity')).toBeUndefined();
      expect(await store().forgetForms([one])).toEqual([]);
      expect(await store().forgetForms([gzip, gzip])).toEqual([shared]);
    });
  });

  describe('profiles of snapshots', () => {
    const [snapshot, text, report, other] = ['snapshot', 'text', 'report', 'other'].map((one) =>
      sha256(one),
    ) as [
      ReturnType<typeof sha256>,
      ReturnType<typeof sha256>,
      ReturnType<typeof sha256>,
      ReturnType<typeof sha256>,
    ];
    const form = { snapshot, profile: 'porch', revision: 1, digest: text, report } as const;
    const keep = async (...digests: ReturnType<typeof sha256>[]) =>
      store().rememberForms(digests.map((digest) => ({ digest, coding: 'identity', blob: digest })));

    it('are found by snapshot and profile', async () => {
      expect(await store().profileForm(snapshot, 'porch')).toBeUndefined();
      await keep(text, report);
      expect(await store().rememberProfileForm(form)).toEqual([]);
      expect(await store().profileForm(snapshot, 'porch')).toEqual(form);
      expect(await store().profileForm(snapshot, 'kep')).toBeUndefined();
      expect(await store().profileForm(text, 'porch')).toBeUndefined();
    });

    it('give up what they replace, but not what another one has', async () => {
      await keep(text, report, other);
      await store().rememberProfileForm(form);
      await store().rememberProfileForm({ ...form, profile: 'kep', digest: other });
      const newer = { ...form, revision: 2, digest: other };
      expect(await store().rememberProfileForm(newer)).toEqual([text]);
      expect(await store().profileForm(snapshot, 'porch')).toEqual(newer);
      expect(await store().storedForm(text, 'identity')).toBeUndefined();
      expect(await store().storedForm(report, 'identity')).toBe(report);
      expect(await store().rememberProfileForm(newer)).toEqual([]);
    });

    it('are forgotten with their snapshot, all of them', async () => {
      await keep(text, report, other);
      await store().rememberProfileForm(form);
      await store().rememberProfileForm({ ...form, profile: 'kep' });
      await store().rememberProfileForm({ ...form, snapshot: other, digest: other });
      expect(await store().forgetProfileForms([snapshot])).toEqual([text]);
      expect(await store().profileForm(snapshot, 'kep')).toBeUndefined();
      expect(await store().profileForm(other, 'porch')).toMatchObject({ report });
      expect((await store().forgetProfileForms([other, snapshot])).sort()).toEqual([other, report].sort());
    });
  });

  describe('keeping', () => {
    it('says that it can be written', async () => {
      await store().check();
    });

    it('has everything after a restart', async ({ skip }) => {
      const { reopen } = harness();
      if (reopen === undefined) return skip('this store keeps nothing');
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
      await store().rememberForms([{ digest: sha256('a'), coding: 'br', blob: sha256('b') }]);
      const reopened = await reopen();
      expect(await reopened.release('example.com', 'SetLabels', '1.0.0')).toEqual(change.release);
      expect((await reopened.search({ text: 'labels', limit: 1 })).items).toEqual([foundAfter(change)]);
      expect(await reopened.tokenByHash('f00d')).toEqual(token);
      expect(await reopened.catalog('c')).toMatchObject({ recipe: 'r' });
      expect(await reopened.storedForm(sha256('a'), 'br')).toBe(sha256('b'));
      expect(await reopened.lastEvent()).toBe(2);
      expect((await reopened.commitFunction(changeOf({ kind: 'Next' }))).sequence).toBe(3);
    });
  });
}
