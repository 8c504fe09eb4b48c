import { expect, it } from 'vitest';
import { Database, driverFor } from './driver.js';

it.each([
  ['20.17.0', 'better-sqlite3'],
  ['22.0.0', 'better-sqlite3-13'],
  ['24.19.0', 'better-sqlite3-13'],
  ['26.1.0', 'better-sqlite3-13'],
])('on Node %s uses the driver %s', (version, driver) => {
  expect(driverFor(version)).toBe(driver);
});

it('survives the garbage collection of statements', () => {
  const client = new Database(':memory:');
  for (let index = 0; index < 100_000; index++) client.prepare(`SELECT ${index}`).get();
  expect(client.prepare('SELECT 1').pluck().get()).toBe(1);
  client.close();
});
