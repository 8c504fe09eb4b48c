/** Writes that each change one function, side by side with those of other functions. */

import { KrmhubError } from '@krmhub/schema';
import type pg from 'pg';
import type { LastChanges, Step, Work } from '../sql/statement.js';
import type { PendingWrite } from '../sql/write-queue.js';
import { isRetryable } from './errors.js';
import { type CountStatements, isOneStatement, Session } from './session.js';
import { beginWriteBeside, TAKE_NUMBER_LOCK, type WritingProcess } from './write-locks.js';

export interface Transactions {
  pool: pg.Pool;
  process: WritingProcess;
  count: CountStatements;
}

type Write = PendingWrite<Work<unknown>>;

/** Attempts of a transaction that the server rolls back because of others beside it. */
const MAX_ATTEMPTS = 5;

/** The server rolled a transaction back because of a statement. Nothing of it is stored. */
class RolledBack {
  readonly reason: unknown;

  constructor(reason: unknown) {
    this.reason = reason;
  }
}

/**
 * Returns what settles each of the writes once the transaction is stored. If a statement of one fails, each runs in a
 * transaction of its own.
 */
export async function writeBeside(
  transactions: Transactions,
  writes: readonly Write[],
): Promise<(() => void)[]> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transaction(transactions, writes);
    } catch (error) {
      if (!(error instanceof RolledBack)) throw error;
      const { reason } = error;
      if (isRetryable(reason) && attempt < MAX_ATTEMPTS) continue;
      // What is wrong with the server is so for all.
      const isOfServer = reason instanceof KrmhubError && reason.code !== 'invalid-request';
      if (writes.length === 1 || isOfServer) throw reason;
      return eachAlone(transactions, writes);
    }
  }
}

async function eachAlone(transactions: Transactions, writes: readonly Write[]): Promise<(() => void)[]> {
  const settled: (() => void)[] = [];
  for (const write of writes) {
    const settle = writeBeside(transactions, [write]).catch((error) => [() => write.reject(error)]);
    settled.push(...(await settle));
  }
  return settled;
}

/** Work in a transaction with others: first all read, then all change. */
class Lane {
  readonly write: Write;
  readonly #work: Work<unknown>;
  #step: IteratorResult<Step, unknown> | undefined;
  #failure: { reason: unknown } | undefined;

  constructor(write: Write) {
    this.write = write;
    this.#work = write.work();
    this.next(undefined);
  }

  /** What it reads next; undefined if it has read everything. */
  get reading(): Step | undefined {
    const step = this.#next();
    return step === undefined || 'last' in step ? undefined : step;
  }

  get changes(): LastChanges | undefined {
    const step = this.#next();
    return step !== undefined && 'last' in step ? step : undefined;
  }

  next(rows: unknown): void {
    try {
      this.#step = this.#work.next(rows);
      const step = this.#next();
      if (step === undefined || 'last' in step || ('method' in step && step.method !== 'run')) return;
      throw new Error('work beside others changes something before its last changes');
    } catch (reason) {
      this.#failure = { reason };
    }
  }

  #next(): Step | undefined {
    return this.#failure !== undefined || this.#step?.done !== false ? undefined : this.#step.value;
  }

  settle(): void {
    if (this.#failure !== undefined) this.write.reject(this.#failure.reason);
    else if (this.#step?.done) this.write.resolve(this.#step.value);
    else this.write.reject(new Error('work beside others goes on after its last changes'));
  }
}

async function transaction(
  { pool, process, count }: Transactions,
  writes: readonly Write[],
): Promise<(() => void)[]> {
  const lanes = writes.map((write) => new Lane(write));
  const begin = beginWriteBeside(
    process,
    writes.map(({ of }) => of!),
  );
  const read = (session: Session, before: () => Promise<unknown>[] = () => []) =>
    session.together(() => [
      ...before(),
      ...lanes.flatMap(({ reading }) => (reading ? [session.take(reading)] : [])),
    ]);
  const opened = await Session.open(pool, count, async (session) => {
    const [began, ...results] = await read(session, () => [session.query(begin)]);
    if (began!.status === 'rejected') throw began!.reason;
    return results;
  });
  const { session } = opened;
  try {
    for (let results = opened.begun; results.length > 0; results = await read(session)) {
      const rows = valuesOf(session, results);
      for (const lane of lanes.filter(({ reading }) => reading !== undefined)) lane.next(rows.shift());
    }
    const changing = lanes.filter(({ changes }) => changes !== undefined);
    if (changing.length > 0) await commit(session, changing);
    await session.rollBack();
    return lanes.map((lane) => () => lane.settle());
  } catch (error) {
    await session.rollBack();
    throw error;
  }
}

/** Inserts and commits in one round trip, so that the number lock is held for no longer than the server needs. */
async function commit(session: Session, lanes: readonly Lane[]): Promise<void> {
  const changes = lanes.map((lane) => lane.changes!);
  const send = [
    () => session.query(TAKE_NUMBER_LOCK),
    ...changes.map((one) => () => session.take(one)),
    () => session.query('COMMIT'),
  ];
  const results: PromiseSettledResult<unknown>[] = [];
  // Changes of several statements, which are rare, wait for the answers.
  if (changes.every(isOneStatement))
    results.push(...(await session.together(() => send.map((one) => one()))));
  else for (const one of send) results.push(...(await session.together(() => [one()])));
  const [, ...rows] = valuesOf(session, results);
  session.committed(rows.pop() as pg.QueryResult);
  for (const [at, lane] of lanes.entries()) lane.next(rows[at]);
}

/** Throws RolledBack if a statement failed and the connection can be used: then the server committed nothing. */
function valuesOf(session: Session, results: readonly PromiseSettledResult<unknown>[]): unknown[] {
  const failed = results.find((result) => result.status === 'rejected');
  if (failed === undefined) return results.map((result) => (result as PromiseFulfilledResult<unknown>).value);
  if (session.isBroken) throw failed.reason;
  session.discard(failed.reason as Error);
  throw new RolledBack(failed.reason);
}
