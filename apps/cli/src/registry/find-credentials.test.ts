import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { temporaryFolder, testIo } from '../testing/command-line.js';
import { saveToken } from './credentials.js';
import { ociCredentials } from './find-credentials.js';

let home: string;
const homes: string[] = [];
beforeEach(() => {
  home = temporaryFolder();
  homes.push(home);
});
afterAll(() => {
  for (const one of homes) rmSync(one, { recursive: true, force: true });
});

const found = (registry: string, env: Record<string, string> = {}) => {
  const url = new URL(`${registry.startsWith('localhost') ? 'http' : 'https'}://${registry}`);
  return ociCredentials({ env: { HOME: home, ...env } }, url, { name: registry });
};
const token = (password: string) => ({ username: 'krmhub', password });

it('sends KRMHUB_TOKEN only to the origin of KRMHUB_REGISTRY', async () => {
  const env = { KRMHUB_REGISTRY: 'https://krm.example.com/path', KRMHUB_TOKEN: 'secret' };
  expect(await found('krm.example.com', env)).toEqual(token('secret'));
  expect(await found('krm.example.com:8443', env)).toBeUndefined();
  expect(await found('example.com', env)).toBeUndefined();
  expect(await found('localhost:8080', env)).toBeUndefined();
  expect(await found('localhost:8080', { KRMHUB_TOKEN: 'secret' })).toEqual(token('secret'));
  expect(
    await found('krm.example.com', { KRMHUB_REGISTRY: 'no address', KRMHUB_TOKEN: 'secret' }),
  ).toBeUndefined();
});

it('uses the saved token of the origin', async () => {
  const io = testIo({ env: { HOME: home } });
  await saveToken(io, new URL('https://krm.example.com'), 'saved');
  await saveToken(io, new URL('http://localhost:9000'), 'here');
  expect(await found('krm.example.com')).toEqual(token('saved'));
  expect(await found('localhost:9000')).toEqual(token('here'));
  expect(await found('other.example.com')).toBeUndefined();
  const env = { KRMHUB_REGISTRY: 'http://localhost:1', KRMHUB_TOKEN: 'secret' };
  expect(await found('krm.example.com', env)).toEqual(token('saved'));
});

it('prefers the token of its registry to that of docker login, also if docker has it from krmhub', async () => {
  mkdirSync(path.join(home, '.docker'));
  const write = (config: object) =>
    writeFileSync(path.join(home, '.docker/config.json'), JSON.stringify(config));
  const env = { KRMHUB_REGISTRY: 'https://krm.example.com', KRMHUB_TOKEN: 'secret' };
  const auths = { 'krm.example.com': { username: 'somebody', password: 'else' } };
  write({ auths });
  expect(await found('krm.example.com', env)).toEqual(token('secret'));
  expect(await found('krm.example.com')).toEqual({ username: 'somebody', password: 'else' });
  write({ auths, credHelpers: { 'krm.example.com': 'krmhub' } });
  expect(await found('krm.example.com')).toBeUndefined();
});

it.each([
  ['docker.io', 'registry-1.docker.io'],
  ['docker.io', 'index.docker.io'],
  ['R.Example.com', 'r.example.com:443'],
])('allows the token services of a registry in any spelling: %s for %s', async (listed, registry) => {
  const env = { KRMHUB_TOKEN_SERVICES: `${listed}=https://auth.example.com` };
  mkdirSync(path.join(home, '.docker'));
  const auths = { [registry]: { username: 'u', password: 'p' } };
  writeFileSync(path.join(home, '.docker/config.json'), JSON.stringify({ auths }));
  expect(await found(registry, env)).toMatchObject({ tokenServices: ['https://auth.example.com'] });
});

it('allows the token services in KRMHUB_TOKEN_SERVICES for their registry', async () => {
  mkdirSync(path.join(home, '.docker'));
  const auths = {
    'a.example.com': { username: 'u', password: 'p' },
    'b.example.com:5000': { username: 'u', password: 'p', identitytoken: 't' },
    'c.example.com': { username: 'u', password: 'p' },
  };
  writeFileSync(path.join(home, '.docker/config.json'), JSON.stringify({ auths }));
  const env = {
    KRMHUB_TOKEN_SERVICES: 'a.example.com=https://auth.example.com, b.example.com:5000=https://b.example.com',
  };
  expect(await found('a.example.com', env)).toMatchObject({ tokenServices: ['https://auth.example.com'] });
  expect(await found('b.example.com:5000', env)).toEqual({
    identityToken: 't',
    tokenServices: ['https://b.example.com'],
  });
  expect(await found('c.example.com', env)).toEqual({ username: 'u', password: 'p' });
  expect(await found('d.example.com', env)).toBeUndefined();
  for (const invalid of ['https://auth.example.com', 'a.example.com=auth.example.com', 'a=https://b/path']) {
    await expect(found('a.example.com', { KRMHUB_TOKEN_SERVICES: invalid })).rejects.toMatchObject({
      code: 'usage',
    });
  }
});
