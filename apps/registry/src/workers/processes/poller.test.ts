import { pino } from 'pino';
import { expect, it } from 'vitest';
import { Poller } from './poller.js';

it('runs once at a time, and wholly after a call', async () => {
  const began: number[] = [];
  let end: () => void = () => undefined;
  let running = 0;
  const poller = new Poller({
    what: 'count',
    milliseconds: () => 1_000_000,
    log: pino({ level: 'silent' }),
    work: async () => {
      running += 1;
      began.push(running);
      await new Promise<void>((resolve) => {
        end = resolve;
      });
      running -= 1;
    },
  });
  const first = poller.now();
  await Promise.resolve();
  // These two arrived too late for the first run, and share the second.
  const [second, third] = [poller.now(), poller.now()];
  end();
  await first;
  await expect.poll(() => began.length).toBe(2);
  end();
  await Promise.all([second, third]);
  expect(began).toEqual([1, 1]);
  await poller.stop();
  await poller.now();
  expect(began.length).toBe(2);
});

it('repeats its work, and logs the first of several failures', async () => {
  const lines: string[] = [];
  let runs = 0;
  const poller = new Poller({
    what: 'follow',
    milliseconds: () => 1,
    log: pino({}, { write: (line) => void lines.push(line) }),
    work: async () => {
      runs += 1;
      throw new Error('unreachable');
    },
  });
  await expect.poll(() => runs).toBeGreaterThan(3);
  await poller.stop();
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
    'cannot follow; it is tried again',
  ]);
});

it('repeats a run that failed, however long it waits otherwise', async () => {
  let runs = 0;
  const poller = new Poller({
    what: 'follow',
    milliseconds: () => 1_000_000,
    log: pino({ level: 'silent' }),
    work: async () => {
      runs += 1;
      if (runs < 3) throw new Error('unreachable');
    },
  });
  poller.soon();
  await expect.poll(() => runs, { timeout: 10_000 }).toBe(3);
  await poller.stop();
});

it('asks before each wait how long it is', async () => {
  let wait = 1_000_000;
  let runs = 0;
  const poller = new Poller({
    what: 'follow',
    milliseconds: () => wait,
    log: pino({ level: 'silent' }),
    work: async () => {
      runs += 1;
    },
  });
  wait = 1;
  await poller.now();
  await expect.poll(() => runs).toBeGreaterThan(3);
  await poller.stop();
});
