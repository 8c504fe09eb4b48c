import { expect, it } from 'vitest';
import { watchCaller } from './watch-caller.js';

it('ends when the program that runs the command has ended', async () => {
  let parent = 42;
  const signal = watchCaller(
    { waitForStop: () => new Promise(() => undefined), parentId: () => parent },
    'it',
  );
  const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
  expect(signal.aborted).toBe(false);
  parent = 1;
  await aborted;
  expect(signal.reason).toMatchObject({ code: 'unavailable', message: expect.stringContaining('has ended') });
});

it('ends when the user stops the command', async () => {
  const signal = watchCaller({ waitForStop: async () => undefined, parentId: () => 42 }, 'it');
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
  expect(signal.reason).toMatchObject({ message: 'it was stopped' });
});
