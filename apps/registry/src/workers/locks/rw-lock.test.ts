import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { RwLock } from './rw-lock.js';

it('allows many readers or one writer', async () => {
  const lock = new RwLock();
  const order: string[] = [];
  const read = (name: string, milliseconds: number) =>
    lock.read(async () => {
      order.push(`+${name}`);
      await setTimeout(milliseconds);
      order.push(`-${name}`);
    });
  const write = (name: string) =>
    lock.write(async () => {
      order.push(`+${name}`);
      await setTimeout(1);
      order.push(`-${name}`);
    });
  await Promise.all([read('a', 20), read('b', 1), write('C'), read('d', 1), write('E'), read('f', 1)]);
  expect(order.slice(0, 4)).toEqual(['+a', '+b', '-b', '-a']);
  expect(order.slice(4, 6)).toEqual(['+C', '-C']);
  // Waiting readers may enter together, but never during a write.
  expect(order[order.indexOf('+E') + 1]).toBe('-E');
  expect(order).toHaveLength(12);
});

it('works after a failure, and returns the result', async () => {
  const lock = new RwLock();
  await expect(lock.read(() => Promise.reject(new Error('shared')))).rejects.toThrow('shared');
  await expect(lock.write(() => Promise.reject(new Error('alone')))).rejects.toThrow('alone');
  expect(await lock.write(async () => 1)).toBe(1);
  expect(await lock.read(async () => 2)).toBe(2);
});
