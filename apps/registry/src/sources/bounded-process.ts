import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { execPath } from 'node:process';

export interface ProcessBounds {
  milliseconds: number;
  /** Mebibytes of V8's heap. */
  megabytes: number;
  /** Bytes of its answer. */
  maxAnswerBytes: number;
  signal: AbortSignal;
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

/**
 * Runs a module in a Node process of its own: input and answer are bytes on its standard streams, and it sees nothing of
 * the environment. A thread would not do for hostile input: V8 ends the whole process when the heap of a thread is full
 * while it is being ended for that. Rejects with ProcessEnded.
 */
export async function runBounded(module: string, input: Uint8Array, bounds: ProcessBounds): Promise<Buffer> {
  bounds.signal.throwIfAborted();
  const seconds = Math.ceil(bounds.milliseconds / 1_000) * PROCESSOR_SHARE;
  const child = await start([`--max-old-space-size=${bounds.megabytes}`, module], seconds);
  let stopped: ProcessEnded | undefined;
  const stop = (why: ProcessEnded) => {
    stopped ??= why;
    child.kill('SIGKILL');
  };
  const onAbort = () => stop(new ProcessEnded('broken-off', 'it was broken off'));
  bounds.signal.addEventListener('abort', onAbort);
  if (bounds.signal.aborted) onAbort();
  const timer = setTimeout(
    () => stop(new ProcessEnded('exhausted', 'it takes too long')),
    bounds.milliseconds,
  );
  const answer = collect(child.stdout, bounds.maxAnswerBytes, () =>
    stop(new ProcessEnded('exhausted', 'its answer is too long')),
  );
  const said = collect(child.stderr, MAX_SAID_BYTES);
  if (child.pid !== undefined) lowerPriority(child.pid);
  child.stdin.end(input);
  try {
    const { code, signal } = await new Promise<{ code: number | null; signal: string | null }>(
      (resolve, reject) => {
        child.on('error', reject);
        child.on('close', (code, signal) => resolve({ code, signal }));
      },
    );
    if (stopped !== undefined) throw stopped;
    if (code === 0) return Buffer.concat(answer);
    if (signal !== null && OUT_OF_MEMORY.includes(signal)) {
      throw new ProcessEnded('exhausted', 'it takes too much memory');
    }
    throw new ProcessEnded('failed', `it ended with ${signal ?? code}: ${Buffer.concat(said).toString()}`);
  } finally {
    clearTimeout(timer);
    bounds.signal.removeEventListener('abort', onAbort);
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
