import { RevisionConflict } from '@krmhub/catalog';
import { expect, it } from 'vitest';
import { SERVER_LIMITS } from '../limits.js';
import { retryOnConflict } from './retry-on-conflict.js';

const exhausted = () => {
  throw new Error('too many concurrent updates');
};

it('runs work again after each conflict, from the state of then', async () => {
  const steps: string[] = [];
  const work = async (attempt: number) => {
    steps.push(`attempt ${attempt}`);
    if (attempt < 2) throw new RevisionConflict('changed meanwhile');
    return 'stored';
  };
  const onConflict = async () => void steps.push('reload');
  expect(await retryOnConflict(work, { onConflict, exhausted })).toBe('stored');
  expect(steps).toEqual(['attempt 0', 'reload', 'attempt 1', 'reload', 'attempt 2']);
});

it('rejects with other errors at once, and ends after the limit', async () => {
  await expect(retryOnConflict(() => Promise.reject(new Error('no disk')), { exhausted })).rejects.toThrow(
    'no disk',
  );
  let attempts = 0;
  const conflict = () => {
    attempts += 1;
    return Promise.reject(new RevisionConflict('changed meanwhile'));
  };
  await expect(retryOnConflict(conflict, { exhausted })).rejects.toThrow('too many concurrent updates');
  expect(attempts).toBe(SERVER_LIMITS.planAttempts);
  expect(await retryOnConflict(conflict, { attempts: 1, exhausted: () => 'nothing' })).toBe('nothing');
});
