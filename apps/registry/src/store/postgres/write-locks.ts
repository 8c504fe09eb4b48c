/**
 * Locks of writes, all of which end with the transaction. A write takes them in this order, so none waits for one that
 * waits for it:
 * 1. The write lock: alone, or shared by writes that each change one function.
 * 2. For the latter, the locks of its functions by their numbers.
 * 3. For the latter, the number lock, with which it inserts all its rows and commits, so that numbers have no gaps and
 *    are committed in their order. Nobody waits for another process meanwhile, only for the server.
 */

import { createHash } from 'node:crypto';

const WRITE_LOCK = 0x6b726d;
const NUMBER_LOCK = 0x6b726e;
/** Class of the locks of functions, by the hash of the name. */
const FUNCTION_LOCKS = 0x6b726d66;

/**
 * Writers of all processes wait for each other, so that work sees what it would see in SQLite: no other writer beside
 * it. Migrations take the same lock.
 */
export const TAKE_WRITE_LOCK = `SELECT pg_advisory_xact_lock(${WRITE_LOCK})`;
export const TAKE_NUMBER_LOCK = `SELECT pg_advisory_xact_lock(${NUMBER_LOCK})`;
/** Whatever the default of the database is: at a higher level, work would see the state before it had the lock. */
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED';
export const BEGIN_WRITE = `${BEGIN}; ${TAKE_WRITE_LOCK}`;

/** Returns the ID of the process that writes; undefined for a program that no process counts on, such as a migration. */
export type WritingProcess = () => string | undefined;

/** Begins a write that fails if the other processes removed this one. */
export function beginWrite(process: WritingProcess): string {
  const id = process();
  // The lock is taken first, and then the function sees the state after the wait: it is volatile, and in PL/pgSQL.
  return id === undefined ? BEGIN_WRITE : `${BEGIN_WRITE}, ${callRequireProcess(id)}`;
}

/** As `beginWrite`, beside others that change other functions. */
export function beginWriteBeside(process: WritingProcess, functions: readonly string[]): string {
  const id = process();
  const taken = [
    `pg_advisory_xact_lock_shared(${WRITE_LOCK})`,
    ...(id === undefined ? [] : [callRequireProcess(id)]),
    ...[...new Set(functions.map(lockNumber))]
      .sort((a, b) => a - b)
      .map((number) => `pg_advisory_xact_lock(${FUNCTION_LOCKS}, ${number})`),
  ];
  return `${BEGIN}; SELECT ${taken.join(', ')}`;
}

export function requireProcess(id: string): string {
  return `SELECT ${callRequireProcess(id)}`;
}

const callRequireProcess = (id: string) => `require_process('${id}')`;
const lockNumber = (name: string) => createHash('sha256').update(name).digest().readInt32BE();
