import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { RwLock } from './rw-lock.js';

it('allows many readers or one writer', async () => {
  const gate = new RwLock();
  const order: string[] = [];
  const shared = (name: string, milliseconds: number) =>
    gate.read(async () => {
      order.push(`+${name}`);
      await setTimeout(milliseconds);
      order.push(`-${name}`);
    });
  const alone = (name: string) =>
    gate.write(async () => {
      order.push(`+${name}`);
      await setTimeout(1);
      order.push(`-${name}`);
    });
  await Promise.all([
    shared('a', 20),
    shared('b', 1),
    alone('C'),
    shared('d', 1),
    alone('E'),
    shared('f', 1),
  ]);
  expect(order.slice(0, 4)).toEqual(['+a', '+b', '-b', '-a']);
  expect(order.slice(4, 6)).toEqual(['+C', '-C']);
  // Waiting readers may enter together, but never during a write.
  expect(order[order.indexOf('+E') + 1]).toBe('-E');
  expect(order).toHaveLength(12);
});

it('works after a failure, and returns the result', async () => {
  const gate = new RwLock();
  await expect(gate.read(() => Promise.reject(new Error('shared')))).rejects.toThrow('shared');
  await expect(gate.write(() => Promise.reject(new Error('alone')))).rejects.toThrow('alone');
  expect(await gate.write(async () => 1)).toBe(1);
  expect(await gate.read(async () => 2)).toBe(2);
});
