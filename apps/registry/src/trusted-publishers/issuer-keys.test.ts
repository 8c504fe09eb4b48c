import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { TestIssuer } from '../testing/test-issuer.js';
import { IssuerKeys, MAX_ISSUERS } from './issuer-keys.js';

it('are used while another client asks for an unknown key, and the issuer does not respond', async () => {
  const issuer = await TestIssuer.create('https://issuer.example.com');
  const known = issuer.keySet().keys[0]!.kid!;
  let now = Date.parse('2030-01-01T00:00:00.000Z');
  let isHanging = false;
  let asked = 0;
  const keys = new IssuerKeys({
    fetch: (url) => {
      asked += 1;
      return isHanging ? new Promise(() => undefined) : issuer.fetch(url);
    },
    clock: () => new Date(now),
  });
  expect((await keys.find(issuer.issuer, known)).keys).toHaveLength(1);
  now += 60_000;
  isHanging = true;
  void keys.find(issuer.issuer, 'unknown');
  expect(asked).toBe(3);
  const found = await Promise.race([
    keys.find(issuer.issuer, known),
    sleep(2_000, undefined, { ref: false }),
  ]);
  expect(found?.keys).toHaveLength(1);
});

it('of issuers that are used stay, however many others somebody names', async () => {
  const GITHUB = 'https://token.actions.githubusercontent.com';
  const server = 'https://github.example.com/_services/token';
  const issuers = new Map<string, TestIssuer>();
  for (const one of [GITHUB, server, 'https://other.example.com'])
    issuers.set(one, await TestIssuer.create(one));
  const asked: string[] = [];
  const keys = new IssuerKeys({
    fetch: async (url) => {
      const [, issuer] = [...issuers].find(([name]) => url.startsWith(`${name}/`)) ?? [];
      if (issuer === undefined) throw new Error('not found');
      asked.push(issuer.issuer);
      return issuer.fetch(url);
    },
    clock: () => new Date('2030-01-01T00:00:00.000Z'),
  });
  const find = (issuer: string) => keys.find(issuer, issuers.get(issuer)?.keySet().keys[0]?.kid ?? 'unknown');
  await find(GITHUB);
  for (let count = 0; count < 3; count += 1) {
    await find(server);
    for (let other = 0; other < 250; other += 1)
      await expect(find(`https://${count}.${other}.example.com`)).rejects.toThrow('cannot get the keys');
  }
  for (const issuer of [GITHUB, server]) await find(issuer);
  // Each was fetched once: its configuration, and its keys.
  expect(asked).toEqual([GITHUB, GITHUB, server, server]);
  await find('https://other.example.com');
  expect(asked).toHaveLength(6);
});

/** Issuers with one key set, and the times at which each was asked. A name with `away` does not respond. */
async function manyIssuers() {
  const { keys } = (await TestIssuer.create('https://issuer.example.com')).keySet();
  const clock = { now: Date.parse('2030-01-01T00:00:00.000Z') };
  const asked = new Map<string, number[]>();
  const sizes: number[] = [];
  let open = 0;
  const most = { open: 0 };
  const found: IssuerKeys = new IssuerKeys({
    fetch: async (url) => {
      const { origin, pathname } = new URL(url);
      sizes.push(found.size);
      open += 1;
      most.open = Math.max(most.open, open);
      const isConfiguration = pathname !== '/jwks';
      if (isConfiguration) asked.set(origin, [...(asked.get(origin) ?? []), clock.now]);
      await sleep(url.length % 3);
      open -= 1;
      sizes.push(found.size);
      if (origin.includes('away')) throw new Error('not found');
      const document = isConfiguration ? { issuer: origin, jwks_uri: `${origin}/jwks` } : { keys };
      return Buffer.from(JSON.stringify(document));
    },
    clock: () => new Date(clock.now),
  });
  const find = (name: string, id = keys[0]!.kid!, teams: string[] = []) =>
    found.find(`https://${name}.example.com`, id, teams).then(
      () => 'found',
      (error: { code: string }) => error.code,
    );
  return { find, asked, clock, sizes, most, size: () => found.size };
}

it('are remembered up to a limit, also if many issuers are asked at once', async () => {
  const { find, asked, sizes, most, size } = await manyIssuers();
  for (let round = 0; round < 5; round += 1)
    await Promise.all(Array.from({ length: 300 }, (_, one) => find(`${round}-${one}`)));
  expect(asked.size).toBeGreaterThanOrEqual(200);
  expect(Math.max(...sizes, size())).toBeLessThanOrEqual(MAX_ISSUERS);
  // Each can have sent as much as the limit of a response.
  expect(most.open).toBeLessThanOrEqual(MAX_ISSUERS);
});

it('of issuers that are used are found, and new issuers are asked, while others are asked for unknown keys', async () => {
  const { find, asked, clock } = await manyIssuers();
  for (let one = 0; one < 250; one += 1) expect(await find(`used-${one}`)).toBe('found');
  clock.now += 60_000;
  for (let turn = 0; turn < 20; turn += 1) {
    expect(await find('first', 'unknown')).toMatch(/unauthorized|unavailable/);
    expect(await find('second', 'unknown')).toMatch(/unauthorized|unavailable/);
  }
  for (const name of ['first', 'second']) expect(asked.get(`https://${name}.example.com`)).toHaveLength(1);
  expect(await find('used-249')).toBe('found');
  expect(asked.get('https://used-249.example.com')).toHaveLength(1);
});

it('of the issuers of one team take no places of other teams', async () => {
  const { find, asked, clock } = await manyIssuers();
  const ours = () => find('ours', undefined, ['ours']);
  const shared = () => find('shared', undefined, ['ours', 'rivals']);
  for (const name of ['ours', 'shared']) expect(await find(name, 'unknown', [name])).toBe('unauthorized');
  for (let round = 0; round < 3; round += 1) {
    for (let one = 0; one < 200; one += 1) {
      const name = `${one % 2 === 0 ? 'away-' : ''}${round}-${one}`;
      expect(await find(name, undefined, ['rivals'])).toBe(one % 2 === 0 ? 'unavailable' : 'found');
    }
    expect([await ours(), await shared()]).toEqual(['found', 'found']);
    for (let one = 0; one < 200; one += 1)
      await find(`${round}-both-${one}`, undefined, ['rivals', 'others']);
    expect([await ours(), await shared()]).toEqual(['found', 'found']);
    clock.now += 60_000;
  }
  for (const name of ['ours', 'shared']) expect(asked.get(`https://${name}.example.com`)).toHaveLength(1);
});

it('are asked for once in a minute for each issuer, whatever tokens name', async () => {
  const { find, asked, clock, sizes, size } = await manyIssuers();
  // A linear congruential generator: each run has the same order.
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  for (let round = 0; round < 60; round += 1) {
    const some = Array.from({ length: 1 + random(120) }, () => {
      const name = `${random(3) === 0 ? 'away-' : ''}${random(random(2) === 0 ? 10 : 600)}`;
      return random(3) === 0 ? find(name, 'unknown') : find(name);
    });
    await Promise.all(some);
    clock.now += random(15_000);
  }
  for (const times of asked.values())
    for (const [at, time] of times.slice(1).entries())
      expect(time - times[at]!).toBeGreaterThanOrEqual(60_000);
  expect([...asked.values()].some((times) => times.length > 1)).toBe(true);
  expect(Math.max(...sizes, size())).toBeLessThanOrEqual(MAX_ISSUERS);
});
