import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import type { ExchangedToken } from '@krmhub/api/model';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AUDIENCE, TestIssuer } from '../testing/test-issuer.js';
import { openTestRegistry } from '../testing/test-registry.js';
import { findSigners } from './given-signers.js';

/** How often keys are read and signatures checked: what of a request takes longest, and what a client can measure. */
const counted = { keys: 0, signatures: 0 };
const { createPublicKey, verify } = crypto;
const use = (functions: object) => {
  Object.assign(crypto, functions);
  syncBuiltinESMExports();
};
beforeAll(() =>
  use({
    createPublicKey: (...all: Parameters<typeof createPublicKey>) => {
      counted.keys += 1;
      return createPublicKey(...all);
    },
    verify: (...all: Parameters<typeof verify>) => {
      counted.signatures += 1;
      return verify(...all);
    },
  }),
);
afterAll(() => use({ createPublicKey, verify }));
beforeEach(() => Object.assign(counted, { keys: 0, signatures: 0 }));

const ISSUER = 'https://ci.example.com';
const keyOf = (one: TestIssuer, kid: string) => ({ ...one.keySet().keys[0]!, kid });

describe('keys that owners gave', () => {
  it('are found by their signature, and cost the same whether there are any', async () => {
    const [signer, ...others] = await Promise.all([1, 2, 3].map(() => TestIssuer.create(ISSUER)));
    const token = await signer!.sign({}, { now: new Date() });
    const ec = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
    const given = [keyOf(signer!, 'a'), ...others.map((one) => keyOf(one, 'a'))];
    const costs = [];
    for (const [keys, found] of [
      [[], []],
      [given, [0]],
      [[...given].reverse(), [2]],
      [given.slice(1), []],
      // Of another type, too small, and no keys.
      [[{ ...ec, kid: 'a' }, { kty: 'RSA', kid: 'a', n: 'AQAB', e: 'AQAB' }, 1], []],
    ] as const) {
      Object.assign(counted, { keys: 0, signatures: 0 });
      const named = keys.map((one, at) => ({ given: one as never, at }));
      const signers = findSigners(token, { algorithm: 'RS256', keyId: 'a' }, { keys: named, atLeast: 3 });
      expect(signers.map(({ at }) => at)).toEqual(found);
      for (const { key } of signers) expect(Object.keys(key).sort()).toEqual(['e', 'kid', 'kty', 'n']);
      costs.push(counted.signatures);
    }
    expect(costs).toEqual([3, 3, 3, 3, 3]);
  });

  it('do not tell of a hidden group to who knows the ID of a key', async () => {
    const [serving, mine, ...theirs] = await Promise.all(
      [1, 2, 3, 4, 5].map(() => TestIssuer.create(ISSUER)),
    );
    const registry = await openTestRegistry({
      config: { publicUrl: AUDIENCE },
      fetchIssuer: (url) => serving!.fetch(url),
    });
    try {
      const add = async (group: string, subject: string, keys?: object[]) => {
        const settings = { provider: 'custom', issuer: ISSUER, settings: { subject } };
        const given = keys && { keys: JSON.stringify({ keys }) };
        const wanted = { group, ...settings, ...given };
        expect((await registry.send('POST', '/api/v1/trusted-publishers', wanted)).status).toBe(201);
      };
      const kid = mine!.keySet().keys[0]!.kid!;
      await add('a.example.com', 'mine', [keyOf(mine!, kid)]);
      for (const [at, one] of theirs.entries()) await add('secret.example.com', `s${at}`, [keyOf(one, kid)]);
      const cost = async (groups: string[], by: TestIssuer) => {
        const token = await by.sign(
          { aud: AUDIENCE, sub: 'mine' },
          { now: registry.parts.clock(), header: { kid } },
        );
        Object.assign(counted, { keys: 0, signatures: 0 });
        const { status } = await registry.send('POST', '/api/v1/oidc/token', { token, groups });
        return { status, ...counted };
      };
      // The first request fetches the keys of the issuer.
      await cost(['absent.example.com'], mine!);
      for (const by of [mine!, serving!]) {
        for (const others of [[], ['a.example.com']]) {
          const absent = await cost([...others, 'absent.example.com'], by);
          expect(absent.signatures).toBeGreaterThanOrEqual(3);
          expect(await cost([...others, 'secret.example.com'], by)).toEqual(absent);
          expect(await cost(['secret.example.com', ...others], by)).toEqual(absent);
        }
      }
      // Also if a client names many groups, a limited number of keys is checked.
      const many = Array.from({ length: 50 }, (_, at) => `absent${at}.example.com`);
      const absent = await cost(['absent.example.com', ...many], mine!);
      expect(absent.signatures).toBe(16);
      expect(await cost(['secret.example.com', ...many], mine!)).toEqual(absent);
      expect(await cost(['a.example.com', ...many], mine!)).toMatchObject({ status: 201, signatures: 16 });
      // A group that is named later counts with one that was checked and accepts the token, and not with any other.
      const few = many.slice(0, 20);
      const exchanged = async (groups: string[]) => {
        const token = await mine!.sign(
          { aud: AUDIENCE, sub: 'mine' },
          { now: registry.parts.clock(), header: { kid } },
        );
        const { status, body } = await registry.send<ExchangedToken>('POST', '/api/v1/oidc/token', {
          ...{ token, groups },
        });
        return status === 201 ? body.publishes : status;
      };
      await add('b.example.com', 'mine', [keyOf(mine!, kid)]);
      await add('other.example.com', 'other', [keyOf(mine!, kid)]);
      expect(await exchanged(['a.example.com', ...few, 'b.example.com'])).toEqual([
        ...['a.example.com', 'b.example.com'],
      ]);
      for (const earlier of ['other.example.com', 'absent.example.com'])
        expect(await exchanged([earlier, ...few, 'b.example.com'])).toBe(401);
    } finally {
      await registry.close();
    }
  });
});
