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
