import { expect, it } from 'vitest';
import { shareWork } from './shared-work.js';

it('runs work once under a key until it has ended, also if it fails', async () => {
  const running = new Map<string, Promise<number>>();
  let started = 0;
  const start = async () => {
    started += 1;
    return started;
  };
  const share = (key: string) => shareWork(running, key, start);
  expect(await Promise.all([share('a'), share('a'), share('b')])).toEqual([1, 1, 2]);
  expect(await share('a')).toBe(3);
  const fail = () => shareWork(running, 'a', () => Promise.reject(new Error('broken')));
  await Promise.all([expect(fail()).rejects.toThrow('broken'), expect(share('a')).rejects.toThrow('broken')]);
  expect(await share('a')).toBe(4);
  expect(running.size).toBe(0);
});
