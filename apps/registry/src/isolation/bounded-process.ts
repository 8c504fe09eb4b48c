import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { execPath } from 'node:process';
import { frameLength, HEADER_BYTES } from './frames.js';

export interface ProcessBounds {
  /** From its input to its answer. */
  milliseconds: number;
  /** Mebibytes of V8's heap. */
  megabytes: number;
  /** Of all its answers: what has used more is not asked again. A quarter of `milliseconds` by default. */
  reuseMilliseconds?: number;
  /** Low by default: requests of the registry go first. */
  priority?: 'low' | 'normal';
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

const MAX_OUTPUT_BYTES = 16_384;
/** How V8 ends a process whose heap is full, and the system one that takes all memory. */
const OUT_OF_MEMORY = ['SIGABRT', 'SIGKILL'];
/** Seconds of processor time for each second that it may take: V8 collects garbage in threads beside. */
const PROCESSOR_SHARE = 4;

/** The default of `reuseMilliseconds`, in shares of `milliseconds`. */
const REUSE_SHARE = 0.25;

/** A third of the young part of its heap: with more it takes half as much memory again, and is no faster. */
const SEMI_SPACE_MEGABYTES = 4;

/** How a process ended. */
interface Ending {
  code: number | null;
  signal: string | null;
}

/**
 * A module in a Node process of its own, which answers what it is asked, one after the other (`respondToFrames`), and sees
 * nothing of the environment. A thread would not do for hostile input: V8 ends the whole process when the heap of a thread
 * is full while it is being ended for that.
 */
export class BoundedProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ending: Promise<Ending>;
  readonly #milliseconds: number;
  readonly #reuseMilliseconds: number;
  readonly #output: Buffer[];
  /** Takes what comes on the standard output. */
  #onOutput: (piece: Buffer) => void = () => undefined;
  #hasEnded = false;
  #millisecondsUsed = 0;

  private constructor(
    child: ChildProcessWithoutNullStreams,
    { milliseconds, reuseMilliseconds }: { milliseconds: number; reuseMilliseconds: number },
  ) {
    this.#child = child;
    this.#milliseconds = milliseconds;
    this.#reuseMilliseconds = reuseMilliseconds;
    this.#output = collect(child.stderr, MAX_OUTPUT_BYTES);
    child.stdout.on('data', (piece: Buffer) => this.#onOutput(piece));
    this.#ending = new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code, signal) => {
        this.#hasEnded = true;
        resolve({ code, signal });
      });
    });
    // It may end before anybody asks it.
    this.#ending.catch(() => undefined);
  }

  /** Starts one, and waits until it takes input. Rejects with ProcessEnded if it ends before. */
  static async start(module: string, bounds: ProcessBounds): Promise<BoundedProcess> {
    const { milliseconds, megabytes, priority = 'low' } = bounds;
    const { reuseMilliseconds = milliseconds * REUSE_SHARE } = bounds;
    // The system counts what earlier answers used.
    const seconds = Math.ceil((milliseconds + reuseMilliseconds) / 1_000) * PROCESSOR_SHARE;
    const heap = [`--max-old-space-size=${megabytes}`, `--max-semi-space-size=${SEMI_SPACE_MEGABYTES}`];
    const child = await start([...heap, module], seconds);
    const started = new BoundedProcess(child, { milliseconds, reuseMilliseconds });
    if (child.pid !== undefined && priority === 'low') lowerPriority(child.pid);
    await started.#ready();
    return started;
  }

  /** Whether it lives and has time left for as much as anybody may ask. */
  get isReusable(): boolean {
    return !this.#hasEnded && this.#millisecondsUsed <= this.#reuseMilliseconds;
  }

  /** What it makes of an input; the next one is asked after the answer. Rejects with ProcessEnded, and is of no use then. */
  async call(
    input: Uint8Array,
    { maxAnswerBytes: maxResponseBytes, signal }: { maxAnswerBytes: number; signal: AbortSignal },
  ): Promise<Buffer> {
    const began = performance.now();
    let stopped: ProcessEnded | undefined;
    const stop = (why: ProcessEnded) => {
      stopped ??= why;
      this.kill();
    };
    const onAbort = () => stop(new ProcessEnded('broken-off', 'canceled'));
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    const timer = setTimeout(
      () => stop(new ProcessEnded('exhausted', 'it took too long')),
      this.#milliseconds,
    );
    const answered = this.#frame(maxResponseBytes, () =>
      stop(new ProcessEnded('exhausted', 'its output is too large')),
    );
    this.#child.stdin.write(frameLength(input));
    this.#child.stdin.write(input);
    try {
      const result = await Promise.race([answered, this.#ending]);
      if (stopped !== undefined) throw stopped;
      if (Buffer.isBuffer(result)) return result;
      if (result.signal !== null && OUT_OF_MEMORY.includes(result.signal)) {
        throw new ProcessEnded('exhausted', 'it used too much memory');
      }
      throw this.#failure(result);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      this.#onOutput = () => undefined;
      this.#millisecondsUsed += performance.now() - began;
    }
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Waits for the empty frame that `respondToFrames` begins with: loading the module takes none of the time for an answer. */
  async #ready(): Promise<void> {
    const result = await Promise.race([this.#frame(0, () => this.kill()), this.#ending]);
    this.#onOutput = () => undefined;
    if (!Buffer.isBuffer(result)) throw this.#failure(result);
  }

  #failure({ signal, code }: Ending): ProcessEnded {
    const output = Buffer.concat(this.#output).toString();
    return new ProcessEnded('failed', `it ended with ${signal ?? code}: ${output}`);
  }

  /** The next answer, whole; it may be of at most so many bytes. */
  #frame(maxBytes: number, onMore: () => void): Promise<Buffer> {
    return new Promise((resolve) => {
      const pieces: Buffer[] = [];
      let size = 0;
      let wanted: number | undefined;
      this.#onOutput = (piece) => {
        pieces.push(piece);
        size += piece.byteLength;
        if (wanted === undefined && size >= HEADER_BYTES) {
          wanted = HEADER_BYTES + Buffer.concat(pieces, HEADER_BYTES).readUInt32LE();
        }
        if (wanted !== undefined && (wanted > HEADER_BYTES + maxBytes || size > wanted)) onMore();
        else if (size === wanted) resolve(Buffer.concat(pieces).subarray(HEADER_BYTES));
      };
    });
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
function collect(stream: NodeJS.ReadableStream, maxBytes: number): Buffer[] {
  const pieces: Buffer[] = [];
  let size = 0;
  stream.on('data', (piece: Buffer) => {
    size += piece.byteLength;
    if (size <= maxBytes) pieces.push(piece);
  });
  return pieces;
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It may have ended, or the system knows no priorities.
  }
}
