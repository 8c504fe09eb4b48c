import { existsSync, readdirSync, readFileSync } from 'node:fs';

const LOOK_MILLISECONDS = 20;
/** Processes that one look visits. */
const MAX_PROCESSES = 200;

/** Whether the system tells how much memory a process has had (proc(5), `VmHWM`). */
const HAS_PEAKS = existsSync('/proc/self/status');

/**
 * Watches the memory of a program and its children while they run. The system forgets the peak of a process when it
 * ends, so a peak right before that is missed.
 */
export class MemoryWatch {
  readonly #pid: number;
  readonly #startText: string;
  readonly #timer: NodeJS.Timeout | undefined;
  #isStarted = false;
  #peak: number | undefined;

  /** `startText`: in the command line of the process until it becomes the program. */
  constructor(pid: number, startText: string) {
    this.#pid = pid;
    this.#startText = startText;
    if (HAS_PEAKS) this.#timer = setInterval(() => this.look(), LOOK_MILLISECONDS);
  }

  look(): void {
    if (!HAS_PEAKS) return;
    this.#isStarted ||= !read(`/proc/${this.#pid}/cmdline`).includes(this.#startText);
    if (!this.#isStarted) return;
    const queue = [this.#pid];
    for (let at = 0; at < queue.length && at < MAX_PROCESSES; at++) {
      const peak = peakMemory(read(`/proc/${queue[at]}/status`));
      if (peak !== undefined && peak > (this.#peak ?? 0)) this.#peak = peak;
      queue.push(...childProcesses(queue[at]!));
    }
  }

  /** Ends the watch. Returns the most bytes that one of the processes was seen with; undefined if none was seen. */
  end(): number | undefined {
    clearInterval(this.#timer);
    return this.#peak;
  }
}

/** Returns the peak of the physical memory of a process in bytes, from its status file; undefined after its end. */
export function peakMemory(status: string): number | undefined {
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024;
}

function childProcesses(pid: number): number[] {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return threads.flatMap((thread) =>
      read(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}

/** Returns no text for what is gone. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
