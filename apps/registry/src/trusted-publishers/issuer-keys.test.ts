import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { TestIssuer } from '../testing/test-issuer.js';
import { IssuerKeys } from './issuer-keys.js';

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
