import { Worker } from 'node:worker_threads';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../limits.js';
import { Thread } from './thread.js';

/** Responds to each call; to `hold` only after `release`. */
const SCRIPT = `
const { parentPort } = require('node:worker_threads');
const held = [];
parentPort.on('message', ({ id, method, input }) => {
  if (method === 'fail') throw new Error('a fault');
  if (method === 'hold') held.push(id);
  else parentPort.postMessage({ id, result: input });
  if (method === 'release') for (const one of held.splice(0)) parentPort.postMessage({ id: one, result: 'held' });
});`;

let thread: Thread;
const logged: { thread?: string; msg: string }[] = [];

function start(): Thread {
  thread = new Thread({
    name: 'a thread',
    start: () => new Worker(SCRIPT, { eval: true, execArgv: [] }),
    log: pino({}, { write: (line: string) => logged.push(JSON.parse(line)) }),
  });
  return thread;
}

afterEach(() => thread.close());

describe('Thread', () => {
  it('accepts a limited number of calls, and more after responses', async () => {
    start();
    const { maxThreadCalls } = SERVER_LIMITS;
    const waiting = Array.from({ length: maxThreadCalls - 1 }, () => thread.call('hold'));
    await expect(thread.call('echo', 'the last that fits')).resolves.toBe('the last that fits');
    const filling = thread.call('hold');
    await expect(thread.call('echo')).rejects.toMatchObject({ code: 'unavailable' });
    expect(thread.pending).toBe(maxThreadCalls);
    await thread.close();
    const ended = await Promise.allSettled([...waiting, filling]);
    expect(ended.filter(({ status }) => status === 'rejected')).toHaveLength(maxThreadCalls);

    start();
    const held = [thread.call('hold'), thread.call('hold')];
    await thread.call('release');
    expect(await Promise.all(held)).toEqual(['held', 'held']);
    expect(thread.pending).toBe(0);
  });

  it('rejects pending calls when the thread fails, and restarts it', async () => {
    start();
    const held = thread.call('hold');
    const failing = thread.call('fail');
    await expect(held).rejects.toMatchObject({ code: 'unavailable' });
    await expect(failing).rejects.toMatchObject({ code: 'unavailable' });
    expect(logged).toContainEqual(
      expect.objectContaining({ thread: 'a thread', msg: 'a worker thread failed' }),
    );
    await expect(thread.call('echo')).rejects.toMatchObject({ code: 'unavailable' });
    await expect.poll(() => thread.call('echo', 'again').catch(() => undefined)).toBe('again');
  });

  it('rejects calls after it is closed', async () => {
    start();
    await thread.close();
    await expect(thread.call('echo')).rejects.toMatchObject({ code: 'unavailable' });
  });
});
