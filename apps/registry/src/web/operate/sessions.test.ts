import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../limits.js';
import type { RegistryStore } from '../../store/registry-store.js';
import { openSqliteStore } from '../../store/sqlite/store.js';
import { tokenSessions } from '../../testing/operator-session.js';
import type { Sessions } from './sessions.js';

const NOW = Date.parse('2030-01-01T00:00:00Z');
const ACT = { at: new Date(NOW).toISOString(), by: 'admin' };

describe('sessions', () => {
  let store: RegistryStore;
  let sessions: Sessions;
  beforeEach(async () => {
    store = await openSqliteStore(':memory:');
    sessions = tokenSessions(store);
  });
  afterEach(() => store.close());

  const findAlive = async (ids: readonly string[]) => {
    const found = await Promise.all(ids.map((id) => sessions.find(id, NOW)));
    return ids.filter((_, at) => found[at] !== undefined);
  };

  it('are limited per token; the oldest ends first', async () => {
    const other = await sessions.begin({ tokenHash: 'other' }, ACT);
    const all: string[] = [];
    for (let index = 0; index < SERVER_LIMITS.maxSessionsOfToken + 3; index++) {
      all.push((await sessions.begin({ tokenHash: 'one' }, ACT)).id);
    }
    expect(await findAlive(all)).toEqual(all.slice(3));
    expect(await sessions.find(other.id, NOW)).toEqual(other);
  });

  it('are limited in total', async () => {
    const ids = await Promise.all(
      Array.from({ length: SERVER_LIMITS.maxSessions }, async (_, index) => {
        return (await sessions.begin({ tokenHash: `token ${index}` }, ACT)).id;
      }),
    );
    expect(await findAlive(ids)).toEqual(ids);
    const last = await sessions.begin({ tokenHash: 'last' }, ACT);
    expect(await findAlive([...ids, last.id])).toEqual([...ids.slice(1), last.id]);
  });

  it('expire', async () => {
    const expiresAt = new Date(NOW + 1_000).toISOString();
    const { id } = await sessions.begin({ tokenHash: 'token' }, ACT, { expiresAt });
    expect(await sessions.find(id, NOW + 999)).toBeDefined();
    expect(await sessions.find(id, NOW + 1_000)).toBeUndefined();
  });

  it('are the same in all processes, until one of them ends them', async () => {
    const other = tokenSessions(store);
    const session = await sessions.begin({ tokenHash: 'token' }, ACT);
    expect(await other.find(session.id, NOW)).toEqual(session);
    await other.end(session.id);
    expect(await sessions.find(session.id, NOW)).toBeUndefined();
  });
});
