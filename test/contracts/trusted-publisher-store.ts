import type {
  TokenExchange,
  TokenRecord,
  TokenStore,
  TrustedPublisher,
  TrustedPublisherStore,
} from '@krmhub/catalog';
import { describe, expect, it } from 'vitest';
import { AT } from './sample-records.js';

const LATER = '2030-02-02T03:04:05.678Z';

/** The contract of every TrustedPublisherStore. */
export function trustedPublisherContract(store: () => TrustedPublisherStore & TokenStore): void {
  const publisher: TrustedPublisher = {
    id: 'one',
    group: 'example.com',
    provider: 'github',
    issuer: 'https://issuer.example.com',
    settings: { repository: "it's/Functions", workflow: 'release.yml' },
    pins: {},
    createdAt: AT,
    createdBy: 'admin',
    pendingUntil: LATER,
  };
  const token: TokenRecord = {
    id: 'abc',
    name: 'example/functions',
    scopes: ['publish'],
    groups: ['example.com'],
    repositories: [],
    run: { provider: 'github', workflow: 'example/functions release.yml', commit: 'c0ffee' },
    createdAt: AT,
    createdBy: 'example/functions',
    expiresAt: LATER,
  };
  const exchange = (key: string, more: Partial<TokenExchange> = {}): TokenExchange => ({
    used: { issuer: publisher.issuer, key, issuedAt: AT, until: LATER },
    publishers: [{ id: 'one', pins: { repositoryId: '1' } }],
    token: { ...token, id: key },
    hash: key,
    origin: {},
    ...more,
  });

  describe('trusted publishers', () => {
    it('are listed by group and time, and removed', async () => {
      const other = { ...publisher, id: 'two', group: 'a.example.com', kind: 'SetLabels', team: 'platform' };
      const keyed = { ...publisher, id: 'three', createdAt: LATER, keys: '{}' };
      for (const one of [keyed, publisher, other]) await store().addTrustedPublisher(one);
      expect(await store().trustedPublishers()).toEqual([other, publisher, keyed]);
      expect(await store().trustedPublishers({ group: 'example.com' })).toEqual([publisher, keyed]);
      expect(await store().trustedPublishers({ id: 'two' })).toEqual([other]);
      const elsewhere = { ...publisher, id: 'four', issuer: 'https://other.example.com' };
      await store().addTrustedPublisher(elsewhere);
      const act = { at: LATER, by: 'admin' };
      expect(await store().removeTrustedPublisher('four', act)).toBe(true);
      expect(await store().removeTrustedPublisher('two', act)).toBe(true);
      expect(await store().removeTrustedPublisher('two', act)).toBe(false);
      expect(await store().trustedPublishers()).toEqual([publisher, keyed]);
    });

    it('of a token are those of its issuer, without keys or with its key, the newest first in each group', async () => {
      const { issuer } = publisher;
      const pendingUntil = '2030-03-03T00:00:00.000Z';
      const one = { ...publisher, pendingUntil };
      const keysOf = (...kids: string[]) => JSON.stringify({ keys: kids.map((kid) => ({ kty: 'EC', kid })) });
      const b = { ...one, id: 'b', group: 'b.example.com', createdAt: LATER };
      const given = { ...one, id: 'given', keys: keysOf('x', 'it"s'), team: 'red' };
      const newer = { ...one, id: 'newer', keys: keysOf('x'), createdAt: LATER, team: 'red' };
      const other = { ...one, id: 'other', issuer: 'https://other.example.com' };
      for (const added of [b, one, given, newer, other]) await store().addTrustedPublisher(added);
      const all = (keyId: string, limit = 10) =>
        store().publishersOfToken({ issuer, keyId, at: AT }, { limit });
      expect(await all('x', 1)).toHaveLength(3);
      expect(await all('x')).toEqual([b, newer, given, one]);
      expect(await all('it"s')).toEqual([b, given, one]);
      expect(await all('y')).toEqual([b, one]);
      const of = (...named: string[]) =>
        store().publishersOfToken({ issuer, keyId: 'x', at: AT }, { named, keyed: named.slice(0, 1) });
      expect(await of('b.example.com', 'example.com')).toEqual([b, one]);
      expect(await of('b.example.com', 'absent.example.com')).toEqual([b]);
      expect(await of('example.com')).toEqual([newer, given, one]);
      expect(await of('absent.example.com')).toEqual([]);
      const expired = { issuer, keyId: 'x', at: pendingUntil };
      expect(await store().publishersOfToken(expired, { limit: 10 })).toEqual([]);
      const named = ['example.com', 'b.example.com'];
      expect(await store().publishersOfToken(expired, { named, keyed: named })).toEqual([]);
      const teams = async (since: string) =>
        (await store().issuerTeams({ issuer, since })).sort(
          (a, b) => Number(a.isServed) - Number(b.isServed),
        );
      expect(await teams(AT)).toEqual([{ team: 'red', isServed: false }, { isServed: true }]);
      expect(await teams(pendingUntil)).toEqual([]);
      const standing = { ...publisher, id: 'standing', group: 'c.example.com', team: 'blue' };
      await store().addTrustedPublisher({ ...standing, pendingUntil: '2031-01-01T00:00:00.000Z' });
      expect(await teams(pendingUntil)).toEqual([{ team: 'blue', isServed: true }]);
      expect(await store().issuerTeams({ issuer: 'none', since: AT })).toEqual([]);
      const ended = (at: string, groups?: string[], since = AT) =>
        store().endedPublishers({ issuer, at, since }, groups);
      expect(await ended(AT)).toEqual([]);
      expect(await ended(pendingUntil)).toEqual([b, one]);
      expect(await ended(pendingUntil, ['absent.example.com', 'example.com'])).toEqual([one]);
      expect(await ended(pendingUntil, [])).toEqual([]);
      expect(await ended('2030-04-04T00:00:00.000Z', undefined, pendingUntil)).toEqual([]);
    });

    it('that were not used in time make place for others of the group', async () => {
      const used = { ...publisher, id: 'used' };
      await store().addTrustedPublisher(used);
      expect(await store().exchangeToken(exchange('a', { publishers: [{ id: 'used', pins: {} }] }))).toBe(
        'done',
      );
      await store().addTrustedPublisher(publisher);
      await store().addTrustedPublisher({ ...publisher, id: 'elsewhere', group: 'a.example.com' });
      const late = { ...publisher, id: 'late', createdAt: LATER, pendingUntil: '2030-03-03T00:00:00.000Z' };
      const seen: string[] = [];
      await store().addTrustedPublisher(late, {}, (others) => seen.push(...others.map(({ id }) => id)));
      expect(seen).toEqual(['used']);
      const left = (await store().trustedPublishers()).map(({ id }) => id);
      expect(left).toEqual(['elsewhere', 'used', 'late']);
      expect((await store().tokenByHash('a'))?.revokedAt).toBeUndefined();
    });

    it('are reviewed beside the others of the group, as of one at a time', async () => {
      await store().addTrustedPublisher({ ...publisher, id: 'elsewhere', group: 'a.example.com' });
      await store().addTrustedPublisher({ ...publisher, id: 'of red', group: 'b.example.com', team: 'red' });
      const counts: number[] = [];
      const only = (others: readonly TrustedPublisher[], ofTeam: number) => {
        counts.push(ofTeam);
        if (others.length > 0) throw new Error('there is another one');
      };
      const added = await Promise.allSettled(
        ['one', 'two', 'three'].map((id) =>
          store().addTrustedPublisher({ ...publisher, id, team: 'red' }, undefined, only),
        ),
      );
      expect(added.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected']);
      expect(counts).toEqual([1, 2, 2]);
      expect(await store().trustedPublishers({ group: publisher.group })).toHaveLength(1);
    });

    it('exchange each token of a provider once, and are pinned by the first', async () => {
      await store().addTrustedPublisher(publisher);
      const outcomes = await Promise.all([1, 2, 3].map(() => store().exchangeToken(exchange('jti'))));
      expect(outcomes.sort()).toEqual(['done', 'used', 'used']);
      expect(await store().tokenByHash('jti')).toEqual({ ...token, id: 'jti' });
      const { pendingUntil: _, ...pinned } = publisher;
      expect(await store().trustedPublishers()).toEqual([
        { ...pinned, pins: { repositoryId: '1' }, lastUsedAt: AT },
      ]);
      const elsewhere = {
        used: { issuer: 'https://other.example.com', key: 'jti', issuedAt: AT, until: LATER },
      };
      expect(await store().exchangeToken(exchange('other', elsewhere))).toBe('done');
    });

    it('exchange nothing once they are removed, or pinned by another', async () => {
      await store().addTrustedPublisher(publisher);
      expect(await store().exchangeToken(exchange('first'))).toBe('done');
      const other = [{ id: 'one', pins: { repositoryId: '2' } }];
      expect(await store().exchangeToken(exchange('second', { publishers: other }))).toBe('changed');
      await store().removeTrustedPublisher('one', { at: LATER, by: 'admin' });
      expect(await store().exchangeToken(exchange('second'))).toBe('changed');
      expect(await store().tokenByHash('second')).toBeUndefined();
    });

    it('take the usable tokens of their workflow with them, and no others', async () => {
      await store().addTrustedPublisher(publisher);
      expect(await store().exchangeToken(exchange('of it'))).toBe('done');
      const elsewhere = { token: { ...token, id: 'else', groups: ['b.example.com'] } };
      expect(await store().exchangeToken(exchange('else', elsewhere))).toBe('done');
      const { run: _, ...robot } = token;
      await store().createToken({ ...robot, id: 'robot' }, 'robot');
      expect(await store().tokenByHash('of it')).not.toHaveProperty('revokedAt');
      const at = '2030-01-15T00:00:00.000Z';
      await store().removeTrustedPublisher('one', { at, by: 'admin' });
      const revoked = {
        revokedAt: at,
        revokedBy: 'admin',
        revokedReason: 'the trusted publisher one was removed',
      };
      expect(await store().tokenByHash('of it')).toEqual({ ...token, id: 'of it', ...revoked });
      for (const hash of ['else', 'robot'])
        expect(await store().tokenByHash(hash), hash).not.toHaveProperty('revokedAt');
    });

    it('forget used tokens that have expired, and tokens of workflows a day later', async () => {
      await store().addTrustedPublisher(publisher);
      const { run: _, ...robot } = token;
      await store().createToken({ ...robot, id: 'kept', expiresAt: AT }, 'kept');
      expect(await store().exchangeToken(exchange('jti'))).toBe('done');
      const atTime = (at: string) => ({
        token: { ...token, id: at, createdAt: at, expiresAt: at },
        hash: at,
      });
      expect(await store().exchangeToken(exchange('jti', atTime('2030-02-02T03:04:05.678Z')))).toBe('used');
      expect(await store().exchangeToken(exchange('jti', atTime('2030-02-02T03:04:05.679Z')))).toBe('done');
      const kept = async () => (await store().tokens()).map(({ id }) => id);
      expect(await kept()).toEqual(expect.arrayContaining(['jti', 'kept']));
      expect(await store().exchangeToken(exchange('next', atTime('2030-02-04T00:00:00.000Z')))).toBe('done');
      expect((await kept()).sort()).toEqual(['2030-02-04T00:00:00.000Z', 'kept']);
    });
  });
}
