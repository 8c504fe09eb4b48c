import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Turns } from './turns.js';

it('runs one piece of work per turn of the event loop, in order', async () => {
  const turns = new Turns();
  const done: number[] = [];
  const all = Promise.all([1, 2, 3].map((piece) => turns.run(() => done.push(piece))));
  const counts: number[] = [];
  while (done.length < 3) {
    await nextTurn();
    counts.push(done.length);
  }
  await all;
  expect(done).toEqual([1, 2, 3]);
  expect(counts.every((count, at) => count - (counts[at - 1] ?? 0) <= 1)).toBe(true);
});

it('returns results and failures, and goes on after a failure', async () => {
  const turns = new Turns();
  const failing = turns.run(() => {
    throw new Error('it fails');
  });
  const next = turns.run(() => 'result');
  await expect(failing).rejects.toThrow('it fails');
  expect(await next).toBe('result');
  expect(await turns.run(() => 'later')).toBe('later');
});

it('lets turns pass while connections arrive, but not for ever', async () => {
  const turns = new Turns();
  const done: number[] = [];
  const all = Promise.all([1, 2].map((piece) => turns.run(() => done.push(piece))));
  for (let turn = 0; turn < 10; turn++) {
    turns.postpone();
    await nextTurn();
  }
  expect(done).toEqual([]);
  let passed = 10;
  for (; done.length < 2; passed++) {
    turns.postpone();
    await nextTurn();
  }
  expect(passed).toBeGreaterThan(100);
  expect(passed).toBeLessThan(150);
  await all;
});
