import { KrmhubError } from '@krmhub/schema';
import type pg from 'pg';
import type { Sql } from '../sql/sql.js';
import { MORE_THAN_ONE, type Work } from '../sql/statement.js';
import { type PendingWrite, writeQueue } from '../sql/write-queue.js';
import { type CountStatements, Session } from './session.js';
import { type Transactions, writeBeside } from './write-beside.js';
import { beginWrite, type WritingProcess } from './write-locks.js';

/** Writes of one transaction. */
const MAX_WRITES_TOGETHER = 8;
const BEGIN_READ = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';

/** Runs work in PostgreSQL. */
export function postgresSql(
  pool: pg.Pool,
  process: WritingProcess = () => undefined,
  count: CountStatements = () => undefined,
): Sql {
  const transactions = { pool, process, count };
  const alone = writeQueue<Work<unknown>>(MAX_WRITES_TOGETHER, (writes) =>
    counted(count, transaction(transactions, writes)),
  );
  const beside = writeQueue<Work<unknown>>(MAX_WRITES_TOGETHER, (writes) =>
    counted(count, writeBeside(transactions, writes)),
  );
  return {
    read: (work) => counted(count, read(pool, count, work())),
    readOne: (work) => counted(count, readOne(pool, count, work())),
    write: ((work, options) => (options?.of === undefined ? alone : beside)(work, options)) as Sql['write'],
    // The server syncs its log before others see what a transaction wrote.
    durable: async () => undefined,
  };
}

async function counted<Result>(count: CountStatements, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof KrmhubError && FAILURES.includes(error.code)) count(0, true);
    throw error;
  }
}
const FAILURES: readonly string[] = ['unavailable', 'storage-full'];

/** A read of one statement waits once for the server: BEGIN is sent with the statement, and nobody waits for COMMIT. */
async function read<Result>(pool: pg.Pool, count: CountStatements, work: Work<Result>): Promise<Result> {
  const step = work.next();
  if (step.done) return step.value;
  const { session, begun } = await Session.open(pool, count, async (opened) => {
    const [began, first] = await Promise.allSettled([opened.query(BEGIN_READ), opened.take(step.value)]);
    if (began.status === 'rejected') throw began.reason;
    if (first.status === 'rejected') throw first.reason;
    return { rows: first.value };
  });
  try {
    const result = await session.run(work, begun);
    session.commit().catch(() => session.rollBack());
    return result;
  } catch (error) {
    await session.rollBack();
    throw error;
  }
}

/** Without a transaction: a statement sees one state. */
async function readOne<Result>(pool: pg.Pool, count: CountStatements, work: Work<Result>): Promise<Result> {
  const step = work.next();
  if (step.done) return step.value;
  const { session, begun } = await Session.open(pool, count, (opened) => opened.take(step.value));
  session.release();
  const end = work.next(begun);
  if (!end.done) throw new Error(MORE_THAN_ONE);
  return end.value;
}

/** Returns what settles each of the writes once the transaction is stored. */
async function transaction(
  { pool, process, count }: Transactions,
  writes: readonly PendingWrite<Work<unknown>>[],
): Promise<(() => void)[]> {
  const alone = writes.length === 1;
  const { session } = await Session.open(pool, count, (opened) =>
    opened.query(alone ? beginWrite(process) : `${beginWrite(process)}; SAVEPOINT work`),
  );
  const settled: (() => void)[] = [];
  try {
    for (const [at, { work, resolve, reject }] of writes.entries()) {
      let end = 'RELEASE SAVEPOINT work';
      try {
        const result = await session.run(work());
        settled.push(() => resolve(result));
      } catch (error) {
        if (alone || session.isBroken) throw error;
        settled.push(() => reject(error));
        end = 'ROLLBACK TO SAVEPOINT work; RELEASE SAVEPOINT work';
      }
      if (alone) await session.commit();
      else if (at === writes.length - 1) await session.commit(`${end}; COMMIT`);
      else await session.query(`${end}; SAVEPOINT work`);
    }
    return settled;
  } catch (error) {
    await session.rollBack();
    throw error;
  }
}
