import { readFileSync } from 'node:fs';

/** A process, so that it is not taken for a later one with the same id. */
export interface ProcessIdentity {
  id: number;
  /** When it started, in ticks since the system started; 0 where that is not known. */
  start: number;
}

export function ownProcess(): ProcessIdentity {
  const start = startTime(process.pid);
  return { id: process.pid, start: typeof start === 'number' ? start : 0 };
}

/** Reports whether a process still runs. Another one with its id does not count where the start can be read. */
export function isRunning({ id, start }: ProcessIdentity): boolean {
  const now = startTime(id);
  if (now === 'ended') return false;
  if (now !== undefined) return start === 0 || now === start;
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    // It belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Of Linux: field 22 of `/proc/PID/stat`. The name of a program may contain spaces and parentheses. */
function startTime(id: number): number | 'ended' | undefined {
  try {
    const stat = readFileSync(`/proc/${id}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // Only its parent has not noticed.
    if (fields[0] === 'Z') return 'ended';
    return Number(fields[19]);
  } catch {
    return undefined;
  }
}
