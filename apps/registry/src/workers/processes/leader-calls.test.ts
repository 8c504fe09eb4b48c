import { setImmediate } from 'node:timers/promises';
import { KrmhubError } from '@krmhub/schema';
import { expect, it, vi } from 'vitest';
import { LeaderCalls, type Led } from './leader-calls.js';
import type { CallOutcome, CallRows, LeaderCall } from './shared-database.js';

/** The rows of a database, of which tests can lose some. */
function memoryRows() {
  const calls = new Map<string, { call: LeaderCall; outcome?: CallOutcome }>();
  let status: unknown;
  let remind: () => void = () => undefined;
  const rows: CallRows = {
    add: async (call) => void calls.set(call.id, { call }),
    remind: async () => remind(),
    open: async () => [...calls.values()].filter(({ outcome }) => !outcome).map(({ call }) => call),
    settle: async (id, outcome) => {
      const row = calls.get(id);
      // As another process reads it.
      if (row !== undefined) row.outcome = JSON.parse(JSON.stringify(outcome)) as CallOutcome;
    },
    outcomes: async (ids) =>
      ids.flatMap((id) => (calls.has(id) ? [{ id, outcome: calls.get(id)!.outcome }] : [])),
    delete: async (ids) => {
      for (const id of ids) calls.delete(id);
    },
    deleteOld: async () => undefined,
    putStatus: async (put) => {
      status = put;
    },
    status: async () => (status === undefined ? undefined : { status, age: 0 }),
  };
  const onRemind = (look: () => void) => {
    remind = look;
  };
  return { rows, calls, onRemind };
}

const led = (methods: Led['methods'], status: unknown = {}): Led => ({ methods, status: () => status });
const notLed = led({});
const calling = (rows: CallRows, leads: () => boolean) =>
  new LeaderCalls(rows, { leads, hasLeader: () => true });
const leading = (rows: CallRows) => calling(rows, () => true);
const following = (rows: CallRows) => calling(rows, () => false);
const isAnswered = ({ outcome }: { outcome?: CallOutcome }) => outcome !== undefined;

it('calls the leader, and rejects with its errors', async () => {
  const { rows, calls } = memoryRows();
  const [leader, other] = [leading(rows), following(rows)];
  const work = led(
    {
      double: async ({ value }: { value: number }) => value * 2,
      fail: async () => {
        throw new KrmhubError('not-found', 'source a/b not found', { hint: 'List them.' });
      },
    },
    { caughtUp: true },
  );
  const doubled = other.call('double', { value: 21 }, 60_000);
  const failed = other.call('fail', {}, 60_000);
  failed.catch(() => undefined);
  await vi.waitFor(() => expect(calls.size).toBe(2));
  await leader.look(work);
  await vi.waitFor(() => expect([...calls.values()].every(isAnswered)).toBe(true));
  await other.look(notLed);
  expect(await doubled).toBe(42);
  await expect(failed).rejects.toMatchObject({
    code: 'not-found',
    message: 'source a/b not found',
    hint: 'List them.',
  });
  expect(other.currentStatus).toEqual({ caughtUp: true });
  await vi.waitFor(() => expect(calls.size).toBe(0));
});

it.each(['does not lead any more', 'stops'])('has a new leader answer what one that %s left', async (end) => {
  const { rows, calls } = memoryRows();
  let leads = true;
  const first = calling(rows, () => leads);
  const [second, other] = [leading(rows), following(rows)];
  const result = other.call('work', {}, 60_000);
  await vi.waitFor(() => expect(calls.size).toBe(1));
  let fail: (reason: Error) => void = () => undefined;
  const work = new Promise<never>((_, reject) => {
    fail = reject;
  });
  await first.look(led({ work: () => work }));
  // Its work stops without a result.
  if (end === 'stops') first.close();
  else leads = false;
  fail(new KrmhubError('unavailable', 'still being built'));
  await setImmediate();
  expect([...calls.values()].some(isAnswered)).toBe(false);
  await second.look(led({ work: async () => 'of the second' }));
  await vi.waitFor(() => expect([...calls.values()].every(isAnswered)).toBe(true));
  await other.look(notLed);
  expect(await result).toBe('of the second');
});

it('rejects a call that nobody answers, that was lost, or whose process stops', async () => {
  const { rows, calls } = memoryRows();
  const other = following(rows);
  await expect(other.call('work', {}, 1)).rejects.toMatchObject({
    code: 'unavailable',
    message: 'the registry has no leader now to build catalogs and sync sources',
  });
  const unanswered = { code: 'unavailable', message: 'the answer of the leader of this registry was lost' };
  const lost = other.call('work', {}, 60_000);
  lost.catch(() => undefined);
  await vi.waitFor(() => expect(calls.size).toBe(1));
  calls.clear();
  await other.look(notLed);
  await expect(lost).rejects.toMatchObject(unanswered);
  const stopped = other.call('work', {}, 60_000);
  stopped.catch(() => undefined);
  await vi.waitFor(() => expect(calls.size).toBe(1));
  other.close();
  await expect(stopped).rejects.toMatchObject(unanswered);
});

it('has all processes look again while it waits: a look may have failed', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
  try {
    const { rows, onRemind } = memoryRows();
    const [leader, other] = [leading(rows), following(rows)];
    let reminded = 0;
    onRemind(async () => {
      reminded += 1;
      // The server cannot be reached the first time.
      if (reminded === 1) return;
      await leader.look(led({ work: async () => 'done' }));
      await setImmediate();
      await other.look(notLed);
    });
    const result = other.call('work', {}, 60_000);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(await result).toBe('done');
    const counted = reminded;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(reminded).toBe(counted);
  } finally {
    vi.useRealTimers();
  }
});

it('tells a leader that is slow from none', async () => {
  const { rows } = memoryRows();
  const [leader, other] = [leading(rows), following(rows)];
  await leader.look(led({ work: () => new Promise(() => undefined) }));
  await other.look(notLed);
  await expect(other.call('work', {}, 1)).rejects.toMatchObject({
    code: 'unavailable',
    message: 'the leader of this registry did not answer in time',
  });
});
