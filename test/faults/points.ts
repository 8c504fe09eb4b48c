import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { startServer, threadsOf } from './server.js';
import { attach, type Call, calls } from './strace.js';
import { newLedger, work } from './workload.js';

/** One place at which a fault is injected: the n-th call of that name by that thread. */
export interface Point {
  /** `start` is every thread of a server on an empty folder, from its first instruction on. */
  phase: 'start' | 'main' | 'pool';
  call: string;
  nth: number;
}

/** The calls by which data reaches a disk, by the thread that makes them. */
const CALLS = {
  /** SQLite, sockets and the log. */
  main: ['pwrite64', 'fsync', 'write', 'writev'],
  /** Files of blobs and forms; `write` is also how this thread tells the other that something is done. */
  pool: ['openat', 'write', 'fsync', 'rename'],
  start: ['mkdir', 'openat', 'write', 'pwrite64', 'fsync', 'rename', 'link', 'unlink'],
} as const;

/** The calls whose failure is a disk's failure, and not one of the machine itself. */
export const FAILING: Record<'main' | 'pool', readonly string[]> = {
  main: ['pwrite64', 'fsync'],
  pool: ['openat', 'fsync', 'rename'],
};

export const placeName = ({ phase, call, nth }: Point) => `${phase} ${call} ${nth}`;

/** Every place in a start on an empty folder, and in a round of work, as one trace of each shows them. */
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
    // What a first publish alone does is not what most publishes do.
    for (let round = 0; round < 6; round++) await work(server, ledger, round);
    const threads = threadsOf(server.pid);
    const worked = path.join(scratch, 'work.trace');
    const attached = await attach(server.pid, worked, ['-f', '-e', traced]);
    await work(server, ledger, 6);
    await attached.detach();
    const trace = calls(worked);
    if (!trace.some(({ thread, name }) => thread === String(threads.pool) && name === 'rename')) {
      throw new Error('the thread that was taken for the one of files renames none');
    }
    const of = (phase: 'main' | 'pool') => trace.filter(({ thread }) => thread === String(threads[phase]));
    return [
      ...points('start', busiest(calls(started))),
      ...points('main', of('main')),
      ...points('pool', of('pool')),
    ];
  } finally {
    await server.stop();
  }
}

function points(phase: Point['phase'], made: readonly Call[]): Point[] {
  return CALLS[phase].flatMap((call) =>
    Array.from({ length: made.filter(({ name }) => name === call).length }, (_, at) => ({
      phase,
      call,
      nth: at + 1,
    })),
  );
}

/** strace counts calls for each thread: per name, those of the thread that makes most of them. */
function busiest(trace: readonly Call[]): Call[] {
  return CALLS.start.flatMap((call) => {
    const made = trace.filter(({ name }) => name === call);
    const threads = [...new Set(made.map(({ thread }) => thread))];
    const byThread = threads.map((one) => made.filter(({ thread }) => thread === one));
    return byThread.sort((a, b) => b.length - a.length)[0] ?? [];
  });
}

/** About so many points: every call of every phase has the same share, spread evenly over all of its places. */
export function spread(points: readonly Point[], count: number): Point[] {
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
