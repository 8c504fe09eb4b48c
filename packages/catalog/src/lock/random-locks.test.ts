import { sha256 } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { expect, it } from 'vitest';
import { lockedFunction } from '../testing/locks.js';
import type { Lock, LockedCatalog, LockedFunction } from './lock.js';
import { planLock } from './plan-lock.js';
import { readLock } from './read-lock.js';
import { writeLock } from './write-lock.js';

const RANGES = [
  '~1.2',
  '^1 || ^2',
  '>=1.0.0, <2',
  '*',
  '1',
  'x',
  '~1.2 # no comment',
  '"quoted"',
  'null',
  '> 1: 2',
];
const TIMES = ['2030-01-02T03:04:05.678Z', '2030-01-02T03:04:05Z', 'a time', '2030'];

function randomLock(random: Random): Lock {
  const catalogs = Array.from({ length: 1 + random.below(3) }, (_, at): LockedCatalog => {
    const reference = `https://hub.example.com/catalogs/c${at}`;
    return random.chance(0.7) ? { reference, name: `c${at}`, serial: 5 + random.below(9) } : { reference };
  });
  const functions = Array.from({ length: random.below(6) }, (_, at): LockedFunction => {
    const { reference, serial } = random.pick(catalogs);
    return lockedFunction({
      catalog: reference,
      kind: `Fn${at}`,
      definition: sha256(String(random.next())),
      ...(serial !== undefined && random.chance(0.4) && { serial: 1 + random.below(4) }),
      ...(random.chance(0.6) && { range: random.pick(RANGES) }),
      ...(random.chance(0.3) && { ignoredMinAge: { minAge: '72h', publishedAt: random.pick(TIMES) } }),
    });
  });
  const used = new Set(functions.map(({ catalog }) => catalog));
  return { catalogs: catalogs.filter(({ reference }) => used.has(reference)), functions };
}

it.each([1, 2, 3])('a lock is read as it was written, and stays if nothing changes (seed %i)', (seed) => {
  const random = new Random(seed);
  for (let run = 0; run < 150; run += 1) {
    const lock = randomLock(random);
    const text = writeLock(lock);
    const { lock: read, diagnostics } = readLock(new TextEncoder().encode(text), 'krmhub.lock');
    expect(diagnostics).toEqual([]);
    expect(writeLock(read!)).toBe(text);
    const uses = random.shuffled(read!.functions).map((fn) => ({ fn }));
    expect(writeLock(planLock(uses, read))).toBe(text);
  }
});
