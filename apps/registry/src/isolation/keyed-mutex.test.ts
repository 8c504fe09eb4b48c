import { expect, it } from 'vitest';
import { SERVER_LIMITS } from '../limits.js';
import { Turns } from './keyed-mutex.js';

it('takes work on a thing one after the other, so much and no more', async () => {
  const turns = new Turns();
  const done: number[] = [];
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const { maxTurnsWaiting } = SERVER_LIMITS;
  const taken = Array.from({ length: maxTurnsWaiting + 1 }, (_, number) =>
    turns.take('a', async () => {
      await gate;
      done.push(number);
      if (number === 1) throw new Error('a fault');
    }),
  );
  const settled = Promise.allSettled(taken);
  await expect(turns.take('a', async () => undefined)).rejects.toMatchObject({ code: 'unavailable' });
  expect(await turns.take('b', async () => 'of another thing')).toBe('of another thing');
  open();
  const outcomes = await settled;
  expect(done).toEqual(taken.map((_, number) => number));
  expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  expect(await turns.take('a', async () => 'again')).toBe('again');
});
