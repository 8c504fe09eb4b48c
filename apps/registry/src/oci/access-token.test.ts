import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addKeyFile, type RegistryKey } from '../catalogs/sign/key-files.js';
import { signingKey } from '../catalogs/sign/registry-keys.js';
import { SERVER_LIMITS } from '../limits.js';
import { AccessTokens } from './access-token.js';

const NOW = Date.parse('2030-01-01T00:00:00Z');
const VALID = SERVER_LIMITS.accessTokenSeconds * 1000;
const claims = (now: number) => ({ access: [], hash: 'f00d', expires: (now + VALID) / 1000 });

describe('an access token', () => {
  let folder: string;
  let now: number;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'krmhub-keys-'));
    now = NOW;
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  const made = (at: number): Promise<RegistryKey> => addKeyFile(folder, new Date(at));
  const createTokens = (...keys: RegistryKey[]) =>
    new AccessTokens({ all: async () => keys, signing: async () => signingKey(keys, new Date(now)) });

  it('of one process is valid for all processes with the same registry keys, until it expires', async () => {
    const key = await made(NOW);
    const token = await createTokens(key).issue(claims(now));
    expect(await createTokens(key).read(token, now)).toEqual(claims(now));
    expect(await createTokens(key).read(token, now + VALID - 1)).toBeDefined();
    expect(await createTokens(key).read(token, now + VALID)).toBeUndefined();
    expect(await createTokens(await made(NOW + 1)).read(token, now)).toBeUndefined();
  });

  it('is refused if anything in it is changed', async () => {
    const tokens = createTokens(await made(NOW));
    const token = await tokens.issue(claims(now));
    const [payload, signature] = token.split('.') as [string, string];
    const other = Buffer.from(JSON.stringify({ ...claims(now), hash: 'beef' })).toString('base64url');
    for (const wrong of ['', '.', payload, `${other}.${signature}`, `${token}.x`, `${payload}.${payload}`]) {
      expect(await tokens.read(wrong, now)).toBeUndefined();
    }
  });

  it('outlives the key that signed it, but a retired key signs no others', async () => {
    const [old, next] = [await made(NOW), await made(NOW + 1_000)];
    const token = await createTokens(next, old).issue(claims(now));
    now = NOW + 1_000;
    // The clock of the process that issues is behind or ahead.
    const later = await createTokens(next, old).issue(claims(now));
    for (const one of [token, later]) {
      expect(await createTokens(next, old).read(one, NOW)).toBeDefined();
      expect(await createTokens(next, old).read(one, now)).toBeDefined();
    }
    const forged = await createTokens(old).issue(claims(NOW + 1_000 + VALID));
    expect(await createTokens(next, old).read(forged, NOW + 1_000 + VALID - 1)).toBeDefined();
    expect(await createTokens(next, old).read(forged, NOW + 1_000 + VALID)).toBeUndefined();
  });
});
