import type { TokenStore, UserRecord, UserStore } from '@krmhub/catalog';
import { describe, expect, it } from 'vitest';
import type { SessionStore } from '../../apps/registry/src/store/session-store.js';
import type { SettingStore } from '../../apps/registry/src/store/setting-store.js';
import { AT } from './sample-records.js';

const LATER = '2030-02-02T03:04:05.678Z';
const LIMITS = { maxOfOne: 2, max: 3 };

/** The contract of every SessionStore and SettingStore. */
export function sessionContract(store: () => SessionStore & SettingStore & UserStore & TokenStore): void {
  const begin = (hash: string, tokenHash: string, { expiresAt = LATER, now = AT } = {}) =>
    store().beginSession({ hash, tokenHash, createdAt: now, expiresAt }, LIMITS, { at: now, by: 'admin' });
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
      expect(await store().session('d')).toEqual({
        ...{ hash: 'd', tokenHash: 'two', createdAt: AT, expiresAt: LATER },
      });
      for (const hash of ['d', 'd', 'none']) await store().endSession(hash);
      expect(await alive('c', 'd', 'e')).toEqual(['c', 'e']);
      await expect(begin('c', 'three')).rejects.toThrow();
      const next = { hash: 'f', tokenHash: 'two', createdAt: AT, expiresAt: LATER };
      await store().beginSession(next, { ...LIMITS, replaces: 'e' }, { at: AT, by: 'admin' });
      expect(await alive('c', 'e', 'f')).toEqual(['c', 'f']);
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

  const FOUND = { issuer: 'https://sso.example.com', subject: 'a', name: 'Alice', groups: ['ops'] };
  const ACT = { at: AT, by: 'admin' };
  const confirm = (subject = 'a', found = {}) =>
    store().confirmUser({ ...FOUND, subject, ...found }, { at: AT, isSignIn: true });

  describe('users', () => {
    it('are one for each issuer and subject, with what was last said', async () => {
      const alice = await confirm();
      const expected = { ...FOUND, id: alice.id, createdAt: AT, confirmedAt: AT, signedInAt: AT };
      expect(alice).toEqual(expected);
      const news = { name: 'Alice B.', email: 'a@example.com', groups: [] };
      const said = await store().confirmUser({ ...FOUND, ...news }, { at: LATER, isSignIn: false });
      expect(said).toEqual({ ...expected, ...news, confirmedAt: LATER });
      expect(await confirm()).toEqual(expected);
      const others = [await confirm('b'), await confirm('a', { issuer: 'https://other.example.com' })];
      const all = [alice, ...others].sort((one, other) => (one.id < other.id ? -1 : 1));
      const pages = [];
      for (let after: string | undefined; ; ) {
        const [one] = await store().users({ ...(after === undefined ? {} : { after }), limit: 1 });
        if (one === undefined) break;
        pages.push(one);
        after = one.id;
      }
      expect(pages).toEqual(all);
      expect([await store().user(alice.id), await store().user('none')]).toEqual([alice, undefined]);
    });

    it('are added up to a limit, and known ones are confirmed at it', async () => {
      const enter = (subject: string, name = 'Alice') =>
        store().confirmUser({ ...FOUND, subject, name }, { at: AT, isSignIn: true, maxUsers: 2 });
      await enter('a');
      await enter('b');
      await expect(enter('c')).rejects.toMatchObject({
        code: 'forbidden',
        hint: expect.stringContaining('KRMHUB_MAX_USERS'),
      });
      expect((await enter('a', 'Alice B.')).name).toBe('Alice B.');
      expect(await store().users({ limit: 10 })).toHaveLength(2);
    });

    it('are found by a text in the name or the address, in pages', async () => {
      const named: UserRecord[] = [];
      for (let number = 0; number < 30; number++) {
        const name = ['Zoë', 'Anna', 'ANNA Z.'][number % 3]!;
        const email = number % 2 === 0 ? `zo${number}@example.com` : undefined;
        named.push(await confirm(`${number}`, { name, ...(email === undefined ? {} : { email }) }));
      }
      for (const text of ['anna', 'ZOË', 'zo1', '@EXAMPLE', '_', '%', 'z', 'nobody']) {
        const has = ({ name, email = '' }: (typeof named)[number]) =>
          [name, email].some((one) => one.toLowerCase().includes(text.toLowerCase()));
        const expected = named
          .filter(has)
          .map(({ id }) => id)
          .sort();
        const found: string[] = [];
        for (let after: string | undefined; ; after = found.at(-1)) {
          const page = await store().users({ after, limit: 4, text });
          found.push(...page.map(({ id }) => id));
          if (page.length < 4) break;
        }
        expect([text, found]).toEqual([text, expected]);
      }
    });

    it('do not end the sessions of other providers, or of tokens', async () => {
      await begin('token', 'one');
      const beginOf = async (subject: string, issuer: string) => {
        const { id: user } = await confirm(subject, { issuer });
        const session = { hash: `${issuer} ${subject}`, user, createdAt: AT, expiresAt: LATER };
        await store().beginSession(session, LIMITS, ACT);
        return session.hash;
      };
      const staff = await beginOf('a', 'https://staff.example.com');
      const hostile: string[] = [];
      for (const subject of ['1', '2', '3', '4', '5'])
        hostile.push(await beginOf(subject, 'https://guests.example.com'));
      const left = ['token', staff, ...hostile.slice(-LIMITS.max)];
      expect(await alive('token', staff, ...hostile)).toEqual(left);
      for (const hash of ['t2', 't3', 't4']) await begin(hash, hash);
      expect(await alive('token', 't2', ...left)).toEqual(['t2', ...left.slice(1)]);
    });

    it('are suspended with their sessions and tokens, whatever the provider says', async () => {
      const [alice, bob] = [await confirm(), await confirm('b')];
      const limits = { scopes: ['read'], groups: ['*'], repositories: [], createdAt: AT, createdBy: 'a' };
      await store().createToken({ id: 't', name: 't', ...limits, user: alice }, 'hash');
      expect(await store().tokenByHash('hash')).toEqual({ id: 't', name: 't', ...limits, user: alice });
      for (const [hash, user] of [
        ['a1', alice.id],
        ['a2', alice.id],
        ['b1', bob.id],
      ] as const)
        await store().beginSession({ hash, user, createdAt: AT, expiresAt: LATER }, LIMITS, ACT);
      expect((await store().sessionsOfUser(alice.id)).map(({ hash }) => hash)).toEqual(['a2', 'a1']);
      const suspended = await store().suspendUser(alice.id, true, ACT);
      expect(suspended).toEqual({ ...alice, suspendedAt: AT, suspendedBy: 'admin' });
      expect(await alive('a1', 'a2', 'b1')).toEqual(['b1']);
      expect((await store().tokenByHash('hash'))?.user?.suspendedAt).toBe(AT);
      // Whoever signs in meanwhile was read before.
      const late = { hash: 'late', user: alice.id, createdAt: AT, expiresAt: LATER };
      const instead = { ...LIMITS, replaces: 'b1' };
      await expect(store().beginSession(late, instead, ACT)).rejects.toMatchObject({ code: 'forbidden' });
      const another = store().createToken({ id: 'u', name: 'u', ...limits, user: alice }, 'other');
      await expect(another).rejects.toMatchObject({ code: 'forbidden' });
      expect(await alive('late', 'b1')).toEqual(['b1']);
      expect((await confirm()).suspendedAt).toBe(AT);
      expect(await store().suspendUser(alice.id, false, ACT)).toEqual(alice);
      expect((await store().tokenByHash('hash'))?.user).toEqual(alice);
      expect((await store().tokensOfUser(alice.id)).map(({ id }) => id)).toEqual(['t']);
      expect(await store().tokensOfUser(bob.id)).toEqual([]);
      expect(await store().suspendUser('none', true, ACT)).toBeUndefined();
    });
  });

  describe('sessions of users', () => {
    it('are ended together, except one', async () => {
      const { id: user } = await confirm();
      for (const hash of ['a', 'b'])
        await store().beginSession({ hash, user, createdAt: AT, expiresAt: LATER }, LIMITS, ACT);
      expect(await store().endSessionsOfUser(user, ACT, 'a')).toBe(1);
      expect(await alive('a', 'b')).toEqual(['a']);
      expect(await store().endSessionsOfUser(user, ACT)).toBe(1);
      expect(await alive('a', 'b')).toEqual([]);
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
