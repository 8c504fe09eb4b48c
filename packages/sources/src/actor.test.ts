import { describe, expect, it } from 'vitest';
import { actorName, TOKEN_USER } from './actor.js';
import type { SourceCredentials } from './context.js';

const TOKEN = 'krmhub_secret';
const basic = (username: string, password: string): SourceCredentials => ({ username, password });

describe('who asks a server', () => {
  it('has one name for a token, however it is sent', async () => {
    const name = await actorName('krm.example.com', { token: TOKEN });
    expect(await actorName('krm.example.com', basic(TOKEN_USER, TOKEN))).toBe(name);
    expect(name).not.toContain('secret');
  });

  it('has another name for other credentials, and for another server', async () => {
    const names = await Promise.all([
      actorName('krm.example.com', { token: TOKEN }),
      actorName('krm.example.com', { token: `${TOKEN}2` }),
      actorName('krm.example.com:8443', { token: TOKEN }),
      actorName('krm.example.com', basic('alice', TOKEN)),
      // Some servers take a token as the user name.
      actorName('krm.example.com', basic('bob', TOKEN)),
      actorName('krm.example.com', basic(TOKEN, 'x-oauth-basic')),
    ]);
    expect(new Set(names).size).toBe(names.length);
  });
});
