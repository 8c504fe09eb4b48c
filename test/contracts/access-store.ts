import {
  type AccessStore,
  type DecidedThrough,
  type OwnerClaimStore,
  RevisionConflict,
  type TokenRecord,
  type TokenStore,
  type TrustedPublisher,
  type TrustedPublisherStore,
} from '@krmhub/catalog';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import { seed } from '../seed.js';
import { AT } from './sample-records.js';

const BEFORE = '2029-01-01T00:00:00.000Z';
const LATER = '2030-02-02T03:04:05.678Z';
const TEAMS = ['a', 'b', "c's", 'd'];
const REASON = 'the team was removed';

/** The contract of every AccessStore: what ends with a team. */
export function accessContract(
  store: () => AccessStore & OwnerClaimStore & TokenStore & TrustedPublisherStore,
): void {
  const apply = (text: string, expectedRevision: number, teams?: readonly string[]) =>
    store().applyAccess({
      ...{ text, expectedRevision, appliedAt: AT, appliedBy: 'admin' },
      event: { type: 'access.applied', at: AT, by: 'admin' },
      ...(teams && { teams }),
    });
  const state = async () => ({
    tokens: await store().tokens(),
    publishers: await store().trustedPublishers(),
    claims: await store().ownerClaims(),
  });

  async function fill(random: Random): Promise<void> {
    const maybe = <Field extends string>(field: Field, values: readonly string[]) =>
      random.chance(0.7) ? ({ [field]: random.pick(values) } as Record<Field, string>) : {};
    for (let count = 0; count < 12; count += 1) {
      const id = String(count).padStart(2, '0');
      const limits = { scopes: ['publish'], groups: ['*'], repositories: [] };
      const token: TokenRecord = {
        ...{ id, name: `token ${id}`, ...limits, createdAt: AT, createdBy: 'admin' },
        ...maybe('team', TEAMS),
        ...maybe('expiresAt', [BEFORE, LATER]),
      };
      await store().createToken(token, id);
      if (random.chance(0.2)) await store().revokeToken(id, BEFORE, { by: 'other', reason: 'lost' });
      const publisher: TrustedPublisher = {
        ...{ id, group: `g${id}.example.com`, provider: 'github', issuer: 'https://issuer.example.com' },
        ...{ settings: {}, pins: {}, createdAt: AT, createdBy: 'admin' },
        ...maybe('team', TEAMS),
      };
      await store().addTrustedPublisher(publisher);
      const claim = { group: `c${id}.example.com`, team: random.pick(TEAMS), proof: 'dns' } as const;
      await store().putOwnerClaim({ ...claim, claimedAt: AT, claimedBy: 'admin', checkedAt: AT });
    }
  }

  describe('an Access document', () => {
    it('is not applied if an event that it depends on came later', async () => {
      await apply('first', 0);
      await apply('second', 1);
      const decide = (event: number, ...types: DecidedThrough['types']) =>
        store().applyAccess({
          ...{ text: 'third', expectedRevision: 2, appliedAt: AT, appliedBy: 'admin' },
          event: { type: 'access.applied', at: AT, by: 'admin' },
          decided: { event, types },
        });
      await expect(decide(1, 'catalog.applied', 'access.applied')).rejects.toThrow(RevisionConflict);
      expect(await store().access()).toMatchObject({ text: 'second', revision: 2 });
      await decide(1, 'catalog.applied', 'catalog.restored');
      expect(await store().access()).toMatchObject({ text: 'third', revision: 3 });
    });

    it(`ends what belongs to other teams, and nothing else (seed ${seed})`, async () => {
      const random = new Random(seed);
      await fill(random);
      const before = await state();
      // Tokens of recent requests are not read again.
      for (const { id } of before.tokens) await store().tokenByHash(id);
      await apply('first', 0);
      expect(await state()).toEqual(before);
      const kept = TEAMS.filter(() => random.chance(0.5));
      const ends = ({ team }: { team?: string }) => team !== undefined && !kept.includes(team);
      await expect(apply('late', 0, kept)).rejects.toThrow(RevisionConflict);
      expect(await state()).toEqual(before);
      await apply('second', 1, kept);
      const isUsable = ({ revokedAt, expiresAt = LATER }: TokenRecord) =>
        revokedAt === undefined && expiresAt > AT;
      const revoked = { revokedAt: AT, revokedBy: 'admin', revokedReason: REASON };
      const tokens = before.tokens.map((one) => (ends(one) && isUsable(one) ? { ...one, ...revoked } : one));
      expect(await state()).toEqual({
        tokens,
        publishers: before.publishers.filter((one) => !ends(one)),
        claims: before.claims.filter((one) => !ends(one)),
      });
      for (const token of tokens) expect(await store().tokenByHash(token.id)).toEqual(token);
      await apply('third', 2, []);
      const { publishers, claims } = await state();
      expect(claims).toEqual([]);
      expect(publishers).toEqual(before.publishers.filter(({ team }) => team === undefined));
    });
  });
}
