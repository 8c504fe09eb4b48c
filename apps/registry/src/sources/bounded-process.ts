import { spawn } from 'node:child_process';
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

/**
 * Runs a module in a Node process of its own: input and answer are bytes on its standard streams, and it sees nothing of
 * the environment. A thread would not do for hostile input: V8 ends the whole process when the heap of a thread is full
 * while it is being ended for that. Rejects with ProcessEnded.
 */
export async function runBounded(module: string, input: Uint8Array, bounds: ProcessBounds): Promise<Buffer> {
  bounds.signal.throwIfAborted();
  const flags = [`--max-old-space-size=${bounds.megabytes}`];
  // A heap that is full is written to no file.
  const child = spawn(
    'sh',
    ['-c', 'ulimit -c 0 2>/dev/null || :; exec "$@"', 'sh', execPath, ...flags, module],
    {
      env: {},
      stdio: ['pipe', 'pipe', 'pipe'],
    },
  );
  let stopped: ProcessEnded | undefined;
  const stop = (why: ProcessEnded) => {
    stopped ??= why;
    child.kill('SIGKILL');
  };
  const onAbort = () => stop(new ProcessEnded('broken-off', 'it was broken off'));
  bounds.signal.addEventListener('abort', onAbort);
  const timer = setTimeout(
    () => stop(new ProcessEnded('exhausted', 'it takes too long')),
    bounds.milliseconds,
  );
  const answer = collect(child.stdout, bounds.maxAnswerBytes, () =>
    stop(new ProcessEnded('exhausted', 'its answer is too long')),
  );
  const said = collect(child.stderr, MAX_SAID_BYTES);
  if (child.pid !== undefined) lowerPriority(child.pid);
  // One that has ended reads no more.
  child.stdin.on('error', () => undefined).end(input);
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
