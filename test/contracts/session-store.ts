import { describe, expect, it } from 'vitest';
import type { SessionStore } from '../../apps/registry/src/store/session-store.js';
import type { SettingStore } from '../../apps/registry/src/store/setting-store.js';
import { AT } from './sample-records.js';

const LATER = '2030-02-02T03:04:05.678Z';
const LIMITS = { maxOfToken: 2, max: 3 };

/** The contract of every SessionStore and SettingStore. */
export function sessionContract(store: () => SessionStore & SettingStore): void {
  const begin = (hash: string, tokenHash: string, { expiresAt = LATER, now = AT } = {}) =>
    store().beginSession({ hash, tokenHash, expiresAt }, LIMITS, { at: now, by: 'admin' });
  const alive = async (...hashes: string[]) => {
    const found = await Promise.all(hashes.map((hash) => store().session(hash)));
    return found.flatMap((one) => (one === undefined ? [] : [one.hash]));
  };

  describe('sessions', () => {
    it('begin within the limits, and end', async () => {
      for (const hash of ['a', 'b', 'c']) await begin(hash, 'one');
      expect(await alive('a', 'b', 'c')).toEqual(['b', 'c']);
      for (const hash of ['d', 'e']) await begin(hash, 'two');
      expect(await alive('b', 'c', 'd', 'e')).toEqual(['c', 'd', 'e']);
      expect(await store().session('d')).toEqual({ hash: 'd', tokenHash: 'two', expiresAt: LATER });
      for (const hash of ['d', 'd', 'none']) await store().endSession(hash);
      expect(await alive('c', 'd', 'e')).toEqual(['c', 'e']);
      await expect(begin('c', 'three')).rejects.toThrow();
    });

    it('end when they expire, before others do', async () => {
      await begin('long', 'one');
      await begin('short', 'one', { expiresAt: '2030-01-05T00:00:00.000Z' });
      await begin('new', 'one', { now: '2030-01-05T00:00:00.000Z' });
      expect(await alive('long', 'short', 'new')).toEqual(['long', 'new']);
    });

    it('have secrets, each taken once', async () => {
      const put = (session: string, token: string, { sealed = token, expiresAt = LATER, now = AT } = {}) =>
        store().putSecret({ session, token }, { sealed, expiresAt }, { now, max: 2 });
      const take = async (session: string, token: string) =>
        (await store().takeSecret({ session, token }))?.sealed;
      for (const hash of ['a', 'b']) await begin(hash, 'one');
      for (const token of ['1', '2', '3']) await put('a', token);
      await put('b', '2', { sealed: 'of b' });
      expect([await take('a', '1'), await take('c', '2')]).toEqual([undefined, undefined]);
      expect(await store().takeSecret({ session: 'a', token: '2' })).toEqual({
        sealed: '2',
        expiresAt: LATER,
      });
      expect([await take('a', '2'), await take('b', '2')]).toEqual([undefined, 'of b']);
      await put('b', '4', { expiresAt: AT });
      await put('a', '5');
      expect([await take('b', '4'), await take('a', '3')]).toEqual([undefined, '3']);
      await store().endSession('a');
      await begin('a', 'one');
      expect(await take('a', '5')).toBeUndefined();
      await put('none', '6');
      await begin('none', 'two');
      expect(await take('none', '6')).toBeUndefined();
    });
  });

  describe('settings', () => {
    it('change only from the value that is given', async () => {
      expect(await store().setting('blob-store')).toBeUndefined();
      const first = await Promise.all(
        ['a', 'b'].map((value) => store().changeSetting('blob-store', undefined, value)),
      );
      const [value] = first;
      expect(first).toEqual([value, value]);
      expect(await store().changeSetting('blob-store', 'z', 'c')).toBe(value);
      expect(await store().changeSetting('blob-store', value, 'c')).toBe('c');
      expect(await store().setting('blob-store')).toBe('c');
      expect(await store().setting('registry-key')).toBeUndefined();
      expect(await store().changeSetting('registry-key', undefined, 'k')).toBe('k');
    });
  });
}
