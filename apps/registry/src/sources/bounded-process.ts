import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { execPath } from 'node:process';

export interface ProcessBounds {
  /** From its input to its answer. */
  milliseconds: number;
  /** Mebibytes of V8's heap. */
  megabytes: number;
}

/** It took too much time or memory, it ended in a way that nobody foresaw, or whoever asked has called it off. */
export type ProcessEnd = 'exhausted' | 'failed' | 'broken-off';

/** Why a process gave no answer. */
export class ProcessEnded extends Error {
  override readonly name = 'ProcessEnded';
  readonly end: ProcessEnd;

  constructor(end: ProcessEnd, message: string) {
    super(message);
    this.end = end;
  }
}

const MAX_SAID_BYTES = 16_384;
/** How V8 ends a process whose heap is full, and the system one that takes all memory. */
const OUT_OF_MEMORY = ['SIGABRT', 'SIGKILL'];
/** Seconds of processor time for each second that it may take: V8 collects garbage in threads beside. */
const PROCESSOR_SHARE = 4;

/** How a process ended. */
interface Ending {
  code: number | null;
  signal: string | null;
}

/**
 * A module in a Node process of its own: input and answer are bytes on its standard streams, and it sees nothing of
 * the environment. A thread would not do for hostile input: V8 ends the whole process when the heap of a thread is full
 * while it is being ended for that.
 */
export class BoundedProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ending: Promise<Ending>;
  readonly #milliseconds: number;

  private constructor(child: ChildProcessWithoutNullStreams, milliseconds: number) {
    this.#child = child;
    this.#milliseconds = milliseconds;
    this.#ending = new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code, signal) => resolve({ code, signal }));
    });
    // It may end before anybody asks it.
    this.#ending.catch(() => undefined);
  }

  /** Starts one that waits for its input. */
  static async start(module: string, { milliseconds, megabytes }: ProcessBounds): Promise<BoundedProcess> {
    const seconds = Math.ceil(milliseconds / 1_000) * PROCESSOR_SHARE;
    const child = await start([`--max-old-space-size=${megabytes}`, module], seconds);
    const started = new BoundedProcess(child, milliseconds);
    if (child.pid !== undefined) lowerPriority(child.pid);
    return started;
  }

  /** What it makes of its input, once. Rejects with ProcessEnded. */
  async answer(
    input: Uint8Array,
    { maxAnswerBytes, signal }: { maxAnswerBytes: number; signal: AbortSignal },
  ): Promise<Buffer> {
    const child = this.#child;
    let stopped: ProcessEnded | undefined;
    const stop = (why: ProcessEnded) => {
      stopped ??= why;
      this.kill();
    };
    const onAbort = () => stop(new ProcessEnded('broken-off', 'it was broken off'));
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    const timer = setTimeout(
      () => stop(new ProcessEnded('exhausted', 'it takes too long')),
      this.#milliseconds,
    );
    const answer = collect(child.stdout, maxAnswerBytes, () =>
      stop(new ProcessEnded('exhausted', 'its answer is too long')),
    );
    const said = collect(child.stderr, MAX_SAID_BYTES);
    child.stdin.end(input);
    try {
      const ending = await this.#ending;
      if (stopped !== undefined) throw stopped;
      if (ending.code === 0) return Buffer.concat(answer);
      if (ending.signal !== null && OUT_OF_MEMORY.includes(ending.signal)) {
        throw new ProcessEnded('exhausted', 'it takes too much memory');
      }
      const how = ending.signal ?? ending.code;
      throw new ProcessEnded('failed', `it ended with ${how}: ${Buffer.concat(said).toString()}`);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

/**
 * Where there is a shell to see to it, a heap that is full is written to no file, and a process whose registry was killed
 * ends by itself.
 */
async function start(args: readonly string[], seconds: number): Promise<ChildProcessWithoutNullStreams> {
  const limits = `ulimit -c 0 2>/dev/null || :; ulimit -t ${seconds} 2>/dev/null || :; exec "$@"`;
  try {
    return await spawned('sh', ['-c', limits, 'sh', execPath, ...args]);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return spawned(execPath, args);
  }
}

async function spawned(program: string, args: readonly string[]): Promise<ChildProcessWithoutNullStreams> {
  const child = spawn(program, args, { env: {}, stdio: ['pipe', 'pipe', 'pipe'] });
  // One that has ended reads no more.
  child.stdin.on('error', () => undefined);
  await once(child, 'spawn');
  return child;
}

/** Up to so many bytes; the rest is dropped. */
function collect(
  stream: NodeJS.ReadableStream,
  maxBytes: number,
  onMore: () => void = () => undefined,
): Buffer[] {
  const pieces: Buffer[] = [];
  let size = 0;
  stream.on('data', (piece: Buffer) => {
    size += piece.byteLength;
    if (size <= maxBytes) pieces.push(piece);
    else onMore();
  });
  return pieces;
}

/** Who publishes and reads goes first. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It may have ended, or the system knows no priorities.
  }
}
