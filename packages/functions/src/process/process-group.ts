import type { ChildProcess } from 'node:child_process';
import { platform } from 'node:os';

/** Whether a child can lead a process group of its own, which one signal reaches as a whole. */
export const HAS_PROCESS_GROUPS = platform() !== 'win32';

/** Sends a signal to a child and to everything in its process group. Does nothing if all have ended. */
export function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (HAS_PROCESS_GROUPS) process.kill(-child.pid, signal);
    else child.kill(signal);
  } catch {
    // The group has already ended.
  }
}
