import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Figures from Linux about a process and its descendants. */

export const hasProcessFigures = existsSync('/proc/self/status');

/** Microseconds of one tick of process times: USER_HZ is 100 on every architecture that Node runs on. */
const TICK_MICROSECONDS = 10_000;

export interface Memory {
  /** Bytes in physical memory. */
  now: number;
  /** The peak so far: the sum of the peaks of all processes, which can be of different times. */
  peak: number;
}

/**
 * Memory of a process and its descendants. Pages of files that a descendant of the same program shares with the process,
 * such as the program itself, are there once. `own`: without the descendants.
 */
export function readMemory(pid: number, { own = false } = {}): Memory {
  const memory = { now: 0, peak: 0 };
  const program = programOf(pid);
  let files = 0;
  for (const one of own ? [pid] : withChildren(pid)) {
    const status = readFileSync(`/proc/${one}/status`, 'utf8');
    const field = (name: string) =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1024;
    if (one === pid) files = field('RssFile');
    const shared = one !== pid && programOf(one) === program ? Math.min(field('RssFile'), files) : 0;
    memory.now += field('VmRSS') - shared;
    memory.peak += field('VmHWM') - shared;
  }
  return memory;
}

/** Of a process that has just ended, undefined. */
function programOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return undefined;
  }
}

/** Microseconds of processor time since the process started; NaN where the system does not report it. */
export function readProcessorTime(pid: number): number {
  if (!hasProcessFigures) return Number.NaN;
  let ticks = 0;
  for (const one of withChildren(pid)) {
    const text = readFileSync(`/proc/${one}/stat`, 'utf8');
    // proc(5): the name in brackets may contain any character; user and system time are fields 14 and 15.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks * TICK_MICROSECONDS;
}

function withChildren(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
  return [pid, ...children.flatMap(withChildren)];
}
