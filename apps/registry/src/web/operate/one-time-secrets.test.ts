import type { CreatedToken } from '@krmhub/api/model';
import { describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../limits.js';
import { OneTimeSecrets } from './one-time-secrets.js';
import type { Session } from './sessions.js';

const { maxSecretsOfSession, secretMilliseconds } = SERVER_LIMITS;
const session = () => ({}) as Session;
const token = (id: string) => ({ id, secret: `secret of ${id}` }) as unknown as CreatedToken;

describe('the secret of a new token', () => {
  it('is taken once, and only by its session', () => {
    const secrets = new OneTimeSecrets();
    const own = session();
    secrets.put(own, token('a'), 0);
    expect(secrets.take(session(), 'a', 1)).toBeUndefined();
    expect(secrets.take(own, 'b', 1)).toBeUndefined();
    expect(secrets.take(own, 'a', 1)).toEqual(token('a'));
    expect(secrets.take(own, 'a', 1)).toBeUndefined();
  });

  it('is forgotten after secretMilliseconds', () => {
    const secrets = new OneTimeSecrets();
    const own = session();
    for (const id of ['a', 'b']) secrets.put(own, token(id), 1_000);
    expect(secrets.take(own, 'a', 999 + secretMilliseconds)).toEqual(token('a'));
    expect(secrets.take(own, 'b', 1_000 + secretMilliseconds)).toBeUndefined();
  });

  it('waits with at most maxSecretsOfSession others: the oldest goes', () => {
    const secrets = new OneTimeSecrets();
    const own = session();
    for (let id = 0; id <= maxSecretsOfSession; id++) secrets.put(own, token(`${id}`), 0);
    expect(secrets.take(own, '0', 1)).toBeUndefined();
    for (let id = 1; id <= maxSecretsOfSession; id++) {
      expect(secrets.take(own, `${id}`, 1)).toEqual(token(`${id}`));
    }
  });
});
