import { describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../limits.js';
import { Sessions } from './sessions.js';

const NOW = Date.parse('2030-01-01T00:00:00Z');

describe('sessions', () => {
  it('are limited per token; the oldest ends first', () => {
    const sessions = new Sessions();
    const other = sessions.begin({}, 'other', NOW);
    const all = Array.from(
      { length: SERVER_LIMITS.maxSessionsOfToken + 3 },
      () => sessions.begin({}, 'one', NOW).id,
    );
    const alive = all.filter((id) => sessions.find(id, NOW) !== undefined);
    expect(alive).toEqual(all.slice(3));
    expect(sessions.find(other.id, NOW)).toBeDefined();
  });

  it('are limited in total', () => {
    const sessions = new Sessions();
    const first = sessions.begin({}, 'first', NOW);
    for (let index = 1; index < SERVER_LIMITS.maxSessions; index++) sessions.begin({}, `token ${index}`, NOW);
    expect(sessions.find(first.id, NOW)).toBeDefined();
    sessions.begin({}, 'last', NOW);
    expect(sessions.size).toBe(SERVER_LIMITS.maxSessions);
    expect(sessions.find(first.id, NOW)).toBeUndefined();
  });

  it('make room for others when they expire', () => {
    const sessions = new Sessions();
    for (let index = 0; index < 50; index++) {
      sessions.begin({ expiresAt: new Date(NOW + 1_000).toISOString() }, `token ${index}`, NOW);
    }
    sessions.begin({}, 'later', NOW + 1_000);
    expect(sessions.size).toBe(1);
  });
});
