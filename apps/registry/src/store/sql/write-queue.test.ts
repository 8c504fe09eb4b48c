import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { writeQueue } from './write-queue.js';

/** Returns what `transactions` has after writes of these names; a name in capitals is a large write. */
async function runTransactions(names: readonly string[], max: number): Promise<string[]> {
  const transactions: string[] = [];
  const write = writeQueue<string>(max, async (writes) => {
    transactions.push(writes.map(({ work }) => work()).join(''));
    return writes.map(
      ({ resolve, work }) =>
        () =>
          resolve(work()),
    );
  });
  const isLarge = (name: string) => name === name.toUpperCase();
  // A part is alone too.
  const option = (at: number) => (at % 2 === 0 ? 'isLarge' : 'isPart');
  const written = names.map((name, at) => write(() => name, { [option(at)]: isLarge(name) }));
  expect(await Promise.all(written)).toEqual(names);
  return transactions;
}

it('stores writes together, and large ones alone, in their order', async () => {
  expect(await runTransactions(['a', 'b', 'c', 'd', 'e'], 3)).toEqual(['abc', 'de']);
  expect(await runTransactions(['a', 'b', 'C', 'd', 'E', 'F', 'g', 'h'], 3)).toEqual([
    ...['ab', 'C', 'd', 'E', 'F', 'gh'],
  ]);
});

it('stores writes together that follow each other turn by turn', async () => {
  const transactions: number[][] = [];
  const write = writeQueue<number>(3, async (writes) => {
    const given = writes.map(({ work }) => work());
    transactions.push(given);
    return writes.map(
      ({ resolve }, at) =>
        () =>
          resolve(given[at]),
    );
  });
  const written: Promise<unknown>[] = [];
  for (const one of [1, 2, 3, 4, 5]) {
    written.push(write(() => one));
    await setImmediate();
  }
  expect(await Promise.all(written)).toEqual([1, 2, 3, 4, 5]);
  // A write that follows no other one.
  await write(() => 6);
  expect(transactions).toEqual([[1, 2, 3], [4, 5], [6]]);
});

it('rejects each write of a transaction that fails, and goes on', async () => {
  let isFirst = true;
  const write = writeQueue<string>(2, async (writes) => {
    if (isFirst) {
      isFirst = false;
      throw new Error('the disk is full');
    }
    return writes.map(
      ({ resolve, work }) =>
        () =>
          resolve(work()),
    );
  });
  const results = await Promise.allSettled(['a', 'b', 'c'].map((name) => write(() => name)));
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
});
