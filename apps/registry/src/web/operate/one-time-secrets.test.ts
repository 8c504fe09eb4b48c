import type { CreatedToken } from '@krmhub/api/model';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../limits.js';
import type { RegistryStore } from '../../store/registry-store.js';
import { openSqliteStore } from '../../store/sqlite/store.js';
import { tokenSessions } from '../../testing/operator-session.js';
import { OneTimeSecrets } from './one-time-secrets.js';

const NOW = Date.parse('2030-01-01T00:00:00Z');
const ACT = { at: new Date(NOW).toISOString(), by: 'admin' };
const { maxSecretsOfSession, secretMilliseconds } = SERVER_LIMITS;
const token = (id: string) => ({ id, secret: `secret of ${id}` }) as unknown as CreatedToken;

describe('the secret of a new token', () => {
  let store: RegistryStore;
  let secrets: OneTimeSecrets;
  beforeAll(async () => {
    store = await openSqliteStore(':memory:');
  });
  beforeEach(() => {
    secrets = new OneTimeSecrets(store);
  });
  afterAll(() => store.close());
  const session = () => tokenSessions(store).begin({ tokenHash: 'token' }, ACT);

  it('is taken once, and only by its session', async () => {
    const own = await session();
    await secrets.put(own, token('a'), NOW);
    expect(await secrets.take(await session(), 'a', NOW + 1)).toBeUndefined();
    expect(await secrets.take(own, 'b', NOW + 1)).toBeUndefined();
    expect(await secrets.take(own, 'a', NOW + 1)).toEqual(token('a'));
    expect(await secrets.take(own, 'a', NOW + 1)).toBeUndefined();
  });

  it('is not stored in a form that anybody without the cookie can read', async () => {
    const own = await session();
    const stored: unknown[] = [];
    const seen = new OneTimeSecrets({
      putSecret: async (...given) => {
        stored.push(given);
        await store.putSecret(...given);
      },
      takeSecret: (place) => store.takeSecret(place),
    });
    await seen.put(own, token('a'), NOW);
    for (const secret of ['secret of a', own.id]) expect(JSON.stringify(stored)).not.toContain(secret);
    await expect(seen.take({ ...own, id: `${own.id}x` }, 'a', NOW)).resolves.toBeUndefined();
    const [[place, { sealed, ...rest }, limits]] = stored as [Parameters<RegistryStore['putSecret']>];
    await store.takeSecret(place);
    await store.putSecret(place, { sealed: `A${sealed.slice(1)}B`, ...rest }, limits);
    await expect(seen.take(own, 'a', NOW)).rejects.toThrow();
  });

  it('is forgotten after secretMilliseconds', async () => {
    const own = await session();
    for (const id of ['a', 'b']) await secrets.put(own, token(id), NOW);
    expect(await secrets.take(own, 'a', NOW + secretMilliseconds - 1)).toEqual(token('a'));
    expect(await secrets.take(own, 'b', NOW + secretMilliseconds)).toBeUndefined();
  });

  it('waits with at most maxSecretsOfSession others: the oldest goes', async () => {
    const own = await session();
    for (let id = 0; id <= maxSecretsOfSession; id++) await secrets.put(own, token(`${id}`), NOW);
    expect(await secrets.take(own, '0', NOW + 1)).toBeUndefined();
    for (let id = 1; id <= maxSecretsOfSession; id++) {
      expect(await secrets.take(own, `${id}`, NOW + 1)).toEqual(token(`${id}`));
    }
  });
});
