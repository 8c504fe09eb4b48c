import type { TokenRecord, TokenStore } from '@krmhub/catalog';
import { describe, expect, it } from 'vitest';
import { AT } from './sample-records.js';

const LATER = '2030-02-02T03:04:05.678Z';

/** The contract of every TokenStore. */
export function tokenContract(store: () => TokenStore): void {
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
      const { expiresAt: _, ...eternal } = { ...token, id: 'aaa', kind: 'login' as const };
      await store().createToken(eternal, 'beef');
      expect(await store().tokens()).toEqual([eternal, token]);
    });

    it('are stored by the first of several processes, unless one is enough', async () => {
      const first = (id: string, name = 'admin') =>
        store().createFirstToken({ ...token, id, name }, id, (known) => known.name === 'admin');
      expect(await first('ci', 'ci')).toBe(true);
      const stored = await Promise.all(['a', 'b', 'c'].map((id) => first(id)));
      expect(stored.filter(Boolean)).toHaveLength(1);
      expect(await store().tokens()).toHaveLength(2);
      expect(await first('d')).toBe(false);
    });

    it('record their use and are revoked', async () => {
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

    it('have the reason of their revocation, if it is known', async () => {
      await store().createToken(token, 'f00d');
      const revoked = { ...token, revokedAt: AT, revokedReason: 'reported as leaked' };
      expect(await store().revokeToken('abc', AT, { reason: 'reported as leaked' })).toEqual(revoked);
      expect(await store().revokeToken('abc', LATER, { by: 'admin', reason: 'another' })).toEqual(revoked);
      expect(await store().tokens()).toEqual([revoked]);
    });
  });
}
