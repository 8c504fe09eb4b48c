import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { dataPaths } from '../../apps/registry/src/store/data-folder.js';
import { listThreads, type ServerUnderFault, startServer } from './server.js';
import { type Attached, attach, type Call, calls } from './strace.js';
import { fillLog, type Ledger, newLedger, work } from './workload.js';

/** A point where a fault is injected: the n-th call of that name by that thread. */
export interface Point {
  /**
   * `start` is every thread of a server on an empty folder, from its first instruction on; `checkpoint` moves the log
   * of the database into it.
   */
  phase: 'start' | 'main' | 'cut' | 'pool' | 'checkpoint';
  /** Index of the server's thread, in the order of their start; -1 for the only one that writes the database file. */
  thread: number;
  call: string;
  nth: number;
}

/** The calls that write data to a disk, by phase: all phases but `start` are threads that make them. */
const CALLS = {
  /** SQLite, sockets and the log. */
  main: ['pwrite64', 'write', 'writev'],
  /** SQLite again, for builds. */
  cut: ['pwrite64', 'fsync'],
  /** Files of blobs, and the log of SQLite; `write` is also how this thread notifies the other. */
  pool: ['openat', 'write', 'mkdir', 'fsync', 'fdatasync', 'rename'],
  /** Of the database file. */
  checkpoint: ['pwrite64', 'fsync'],
  start: ['mkdir', 'openat', 'write', 'pwrite64', 'fsync', 'rename', 'link', 'unlink'],
} as const;

/** The calls whose failure is a disk failure, not one of the machine itself. */
export const FAILING: Record<Exclude<Point['phase'], 'start'>, readonly string[]> = {
  main: ['pwrite64'],
  cut: ['pwrite64', 'fsync'],
  pool: ['openat', 'mkdir', 'fsync', 'fdatasync', 'rename'],
  checkpoint: CALLS.checkpoint,
};

export const pointName = ({ phase, call, nth }: Point) => `${phase} ${call} ${nth}`;

/** Requests that reach the points of a phase. Returns their statuses. */
export function workOf(
  { phase }: Point,
  server: ServerUnderFault,
  ledger: Ledger,
  round: number,
): Promise<number[]> {
  return phase === 'checkpoint' ? fillLog(server, ledger, round) : work(server, ledger, round);
}

/** Injects a fault, as strace names it, at a point of a running server. */
export function attachAt(
  { thread, call, nth }: Point,
  server: ServerUnderFault,
  { trace, fault, every = '' }: { trace: string; fault: string; every?: string },
): Promise<Attached> {
  const inject = ['-e', `trace=${call}`, '-e', `inject=${call}:${fault}:when=${nth}${every}`];
  return thread < 0
    ? attach(server.pid, trace, [...ofDatabaseFile(server), ...inject])
    : attach(listThreads(server.pid)[thread]!, trace, inject);
}

/** The calls of all threads on the database file. */
const ofDatabaseFile = ({ data }: ServerUnderFault) => ['-f', '-P', dataPaths(data).database];

/** Every point in a start on an empty folder, in a round of work, and in a checkpoint, from one trace of each. */
export async function allPoints(scratch: string): Promise<Point[]> {
  mkdirSync(scratch, { recursive: true });
  const started = path.join(scratch, 'start.trace');
  const traced = `trace=${[...new Set(Object.values(CALLS).flat())].join(',')}`;
  const data = path.join(scratch, 'data');
  const first = await startServer(data, ['strace', '-f', '--seccomp-bpf', '-o', started, '-e', traced]);
  await first?.stop('SIGTERM');
  const server = await startServer(data);
  if (server === undefined) throw new Error('the server does not start without a fault');
  try {
    const ledger = newLedger();
    // The first publish has extra work that most publishes do not.
    for (let round = 0; round < 6; round++) await work(server, ledger, round);
    const threads = listThreads(server.pid);
    const worked = path.join(scratch, 'work.trace');
    const attached = await attach(server.pid, worked, ['-f', '-e', traced]);
    await work(server, ledger, 6);
    await waitForAsyncWork();
    await attached.detach();
    const trace = calls(worked);
    const moved = path.join(scratch, 'checkpoint.trace');
    const ofCheckpoint = [...ofDatabaseFile(server), '-e', `trace=${CALLS.checkpoint.join(',')}`];
    const moving = await attach(server.pid, moved, ofCheckpoint);
    await fillLog(server, ledger, 7);
    await waitForAsyncWork();
    await moving.detach();
    // Only SQLite writes at an offset, and only blobs are renamed.
    const first = String(server.pid);
    const main = trace.filter(({ thread }) => thread === first);
    const cut = busiest(
      trace.filter(({ thread }) => thread !== first),
      'pwrite64',
    );
    const pool = busiest(trace, 'rename');
    const ofThread = (made: readonly Call[]) => threads.indexOf(Number(made[0]?.thread));
    const of = (made: readonly Call[]) => trace.filter(({ thread }) => thread === made[0]?.thread);
    return [
      ...CALLS.start.flatMap((call) => points('start', call, busiest(calls(started), call), 0)),
      ...CALLS.main.flatMap((call) => points('main', call, of(main), ofThread(main))),
      ...CALLS.cut.flatMap((call) => points('cut', call, of(cut), ofThread(cut))),
      ...CALLS.pool.flatMap((call) => points('pool', call, of(pool), ofThread(pool))),
      ...CALLS.checkpoint.flatMap((call) => points('checkpoint', call, calls(moved), -1)),
    ];
  } finally {
    await server.stop();
  }
}

function points(phase: Point['phase'], call: string, made: readonly Call[], thread: number): Point[] {
  return made.filter(({ name }) => name === call).map((_, at) => ({ phase, thread, call, nth: at + 1 }));
}

/** The calls of that name by the thread that makes most of them: strace counts per thread. */
function busiest(trace: readonly Call[], call: string): Call[] {
  const made = trace.filter(({ name }) => name === call);
  const byThread = [...new Set(made.map(({ thread }) => thread))].map((one) =>
    made.filter(({ thread }) => thread === one),
  );
  return byThread.sort((a, b) => b.length - a.length)[0] ?? [];
}

/**
 * Returns about this many points: every call of every phase has the same share, spread evenly over all of
 * its points.
 */
export function spreadPoints(points: readonly Point[], count: number): Point[] {
  const kinds = [...new Set(points.map(({ phase, call }) => `${phase} ${call}`))];
  const share = Math.ceil(count / kinds.length);
  return kinds.flatMap((kind) => {
    const places = points.filter(({ phase, call }) => `${phase} ${call}` === kind);
    return Array.from(
      { length: share },
      (_, at) => places[Math.floor(((at + 0.5) * places.length) / share)]!,
    );
  });
}

/** Waits for work after a response, such as an asynchronous build. */
export function waitForAsyncWork(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 150));
}
