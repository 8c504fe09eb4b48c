import { expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../limits.js';
import { KeyedMutex } from './keyed-mutex.js';

it('runs work with the same key in order, and limits the number of waiters', async () => {
  const mutex = new KeyedMutex();
  const done: number[] = [];
  let open: () => void = () => undefined;
  const blocked = new Promise<void>((resolve) => {
    open = resolve;
  });
  const { maxLockWaiters } = SERVER_LIMITS;
  const taken = Array.from({ length: maxLockWaiters + 1 }, (_, number) =>
    mutex.run('a', async () => {
      await blocked;
      done.push(number);
      if (number === 1) throw new Error('a fault');
    }),
  );
  const settled = Promise.allSettled(taken);
  await expect(mutex.run('a', async () => undefined)).rejects.toMatchObject({ code: 'unavailable' });
  expect(await mutex.run('b', async () => 'of another thing')).toBe('of another thing');
  open();
  const outcomes = await settled;
  expect(done).toEqual(taken.map((_, number) => number));
  expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  expect(await mutex.run('a', async () => 'again')).toBe('again');
});
