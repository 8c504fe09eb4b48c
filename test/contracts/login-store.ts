import type { AuditStore, TokenRecord, TokenStore } from '@krmhub/catalog';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import type { LoginRequestRecord, LoginStore } from '../../apps/registry/src/store/login-store.js';
import { AT } from './sample-records.js';

const EXPIRES = '2030-02-02T03:14:05.678Z';
const ACT = { at: AT, by: 'alice', origin: { address: '192.0.2.7' } };
const APPROVAL = { user: 'one', by: 'alice', scopes: ['read', "it's"], days: 30 };
const LIMITS = { max: 4, maxOfNetwork: { waiting: 3, ended: 9 } };

/** The contract of every LoginStore. */
export function loginContract(store: () => LoginStore & TokenStore & AuditStore): void {
  const request = (name: string, more: Partial<LoginRequestRecord> = {}): LoginRequestRecord => ({
    hash: `hash of ${name}`,
    code: `CODE-${name}`,
    client: 'a "laptop" of Ada’s',
    address: '2001:db8::1',
    network: '2001:db8::/64',
    createdAt: AT,
    expiresAt: EXPIRES,
    state: 'pending',
    publicKey: 'key',
    ...more,
  });
  const token = (id: string): TokenRecord => ({
    ...{ id, name: 'laptop', scopes: ['read'], groups: ['*'], repositories: ['*'] },
    ...{ createdAt: AT, createdBy: 'alice' },
  });
  const add = (name: string, more?: Partial<LoginRequestRecord>) =>
    store().addLoginRequest(request(name, more), LIMITS);
  const use = (name: string, id = name, at = AT) =>
    store().useLogin({ hash: `hash of ${name}`, at }, { record: token(id), hash: `token ${id}`, origin: {} });
  const waiting = async (...names: string[]) => {
    const found = await Promise.all(names.map((name) => store().loginRequest({ code: `CODE-${name}` })));
    return found.flatMap((one) => one?.code.slice(5) ?? []);
  };

  describe('logins of programs', () => {
    it('are found by code and hash, answered once, and used once', async () => {
      expect(await add('a')).toBe('added');
      expect(await store().loginRequest({ code: 'CODE-a' })).toEqual(request('a'));
      expect(await use('a')).toBe(false);
      expect(await store().answerLogin('CODE-a', APPROVAL, ACT)).toBe(true);
      expect(await store().loginRequest({ hash: 'hash of a' })).toEqual(
        request('a', { state: 'approved', approval: APPROVAL }),
      );
      for (const answer of [APPROVAL, 'denied'] as const) {
        expect(await store().answerLogin('CODE-a', answer, ACT)).toBe(false);
      }
      expect([await use('a'), await use('a', 'again')]).toEqual([true, false]);
      expect((await store().tokens()).map(({ id }) => id)).toEqual(['a']);
      expect(await store().tokenByHash('token a')).toEqual(token('a'));
      expect((await store().loginRequest({ code: 'CODE-a' }))?.state).toBe('used');
    });

    it('give nothing once they are denied or have expired', async () => {
      for (const name of ['denied', 'late', 'open']) await add(name);
      expect(await store().answerLogin('CODE-denied', 'denied', ACT)).toBe(true);
      expect(await store().answerLogin('CODE-late', APPROVAL, ACT)).toBe(true);
      expect(await store().answerLogin('CODE-open', APPROVAL, { ...ACT, at: EXPIRES })).toBe(false);
      expect(await store().answerLogin('CODE-none', APPROVAL, ACT)).toBe(false);
      expect(await Promise.all([use('denied'), use('late', 'late', EXPIRES), use('none')])).toEqual([
        false,
        false,
        false,
      ]);
      expect(await store().tokens()).toEqual([]);
    });

    it('are answered and used by one of many that do so at once', async () => {
      const random = new Random(7);
      for (const name of ['x', 'y', 'z']) {
        await add(name);
        const answers = Array.from({ length: 6 }, () => (random.chance(0.5) ? 'denied' : APPROVAL));
        const done = await Promise.all(
          answers.map((answer) => store().answerLogin(`CODE-${name}`, answer, ACT)),
        );
        expect(done.filter(Boolean)).toHaveLength(1);
        const uses = await Promise.all([1, 2, 3, 4].map((count) => use(name, `${name}${count}`)));
        const { state } = (await store().loginRequest({ code: `CODE-${name}` }))!;
        const isUsed = state === 'used';
        expect(uses.filter(Boolean)).toHaveLength(isUsed ? 1 : 0);
        expect((await store().tokens()).filter(({ id }) => id.startsWith(name))).toHaveLength(isUsed ? 1 : 0);
      }
    });

    it('wait within limits; the oldest end first, and expired ones do not count', async () => {
      const at = (second: number) => ({ createdAt: `2030-02-02T03:04:0${second}.000Z` });
      for (const [index, name] of ['a', 'b', 'c'].entries()) expect(await add(name, at(index))).toBe('added');
      expect(await add('d', at(4))).toBe('too-many');
      expect(await add('e', { network: 'other', code: 'CODE-a' })).toBe('same-code');
      for (const name of ['f', 'g']) expect(await add(name, { network: 'other', ...at(5) })).toBe('added');
      expect(await waiting('a', 'b', 'c', 'd', 'f', 'g')).toEqual(['b', 'c', 'f', 'g']);
      expect(await add('h', { createdAt: EXPIRES })).toBe('added');
      expect(await waiting('b', 'c', 'f', 'g', 'h')).toEqual(['h']);
      // Those that were answered end first, also if they are newer than others.
      for (const [index, name] of ['i', 'j'].entries())
        expect(await add(name, { network: 'other', ...at(6 + index) })).toBe('added');
      expect(await store().answerLogin('CODE-j', 'denied', ACT)).toBe(true);
      for (const [index, name] of ['k', 'l'].entries())
        expect(await add(name, { network: 'third', ...at(8 + index) })).toBe('added');
      expect(await waiting('h', 'i', 'j', 'k', 'l')).toEqual(['h', 'i', 'k', 'l']);
    });

    it('wait within the limit of a site, whose networks have a common beginning', async () => {
      const site = { networks: '2001:db8:1:', max: { waiting: 2, ended: 2 } };
      const begin = (name: string, network: string) =>
        store().addLoginRequest(request(name, { network }), {
          max: 9,
          maxOfNetwork: { waiting: 3, ended: 9 },
          site,
        });
      for (const name of ['a', 'b']) expect(await begin(name, '2001:db8:12:0::/64')).toBe('added');
      for (const name of ['c', 'd']) expect(await begin(name, `2001:db8:1:${name}::/64`)).toBe('added');
      expect(await begin('e', '2001:db8:1:e::/64')).toBe('too-many');
      // Those that ended do not wait.
      expect(await store().answerLogin('CODE-c', 'denied', ACT)).toBe(true);
      expect(await begin('e', '2001:db8:1:e::/64')).toBe('added');
      expect(await store().answerLogin('CODE-e', APPROVAL, ACT)).toBe(true);
      expect(await begin('g', '2001:db8:1:e::/64')).toBe('too-many');
      expect(await use('e')).toBe(true);
      expect(await begin('g', '2001:db8:1:e::/64')).toBe('too-many');
      expect(await add('f', { network: '2001:db8:1:f::/64' })).toBe('added');
      // Also of one network.
      const ofOne = { max: 9, maxOfNetwork: { waiting: 3, ended: 1 } };
      const addAlone = (name: string) => store().addLoginRequest(request(name, { network: 'alone' }), ofOne);
      for (const name of ['h', 'i']) expect(await addAlone(name)).toBe('added');
      expect(await store().answerLogin('CODE-h', 'denied', ACT)).toBe(true);
      expect(await addAlone('j')).toBe('too-many');
    });

    it('are in the audit log with their answer, and without the code', async () => {
      for (const name of ['a', 'b']) await add(name);
      await store().answerLogin('CODE-a', APPROVAL, ACT);
      await store().answerLogin('CODE-b', 'denied', ACT);
      const { rows } = await store().auditRows({}, { limit: 10 });
      const { client, address } = request('a');
      expect(rows.map(({ action, actor, object, detail }) => ({ action, actor, object, detail }))).toEqual([
        { action: 'login.deny', actor: 'alice', object: 'login', detail: { client, address } },
        {
          ...{ action: 'login.approve', actor: 'alice', object: 'login' },
          detail: { client, address, scopes: "read it's", days: 30 },
        },
      ]);
    });
  });
}
