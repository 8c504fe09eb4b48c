import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { execPath } from 'node:process';
import { frameLength, HEADER_BYTES, readFrameLength } from './frames.js';
import { RunningTime } from './running-time.js';

export interface ProcessBounds {
  /** Time limit of one call. */
  milliseconds: number;
  /** V8 heap limit in mebibytes. */
  megabytes: number;
  /** Total time of all calls after which the process is not reused. A quarter of `milliseconds` by default. */
  reuseMilliseconds?: number;
  /** Memory in mebibytes, of which the heap is a part, with which the process is not reused. No limit by default. */
  reuseMegabytes?: number;
  /** Low by default, so that requests of the registry run first. */
  priority?: 'low' | 'normal';
}

/** Why a process ended: it exceeded its time or memory, it failed unexpectedly, or the caller canceled the call. */
export type ProcessEnd = 'exhausted' | 'failed' | 'broken-off';

/** The process ended without a response. */
export class ProcessEnded extends Error {
  override readonly name = 'ProcessEnded';
  readonly end: ProcessEnd;

  constructor(end: ProcessEnd, message: string) {
    super(message);
    this.end = end;
  }
}

/** Handles a part of a response. The next one comes when it is done. */
export type OnPart = (part: Buffer) => Promise<void>;

export interface CallOptions {
  /** Of all parts together. */
  maxResponseBytes: number;
  signal: AbortSignal;
  onPart?: OnPart;
}

const MAX_OUTPUT_BYTES = 16_384;
/** Bytes of parts that wait to be handled, with which the process waits. */
const MAX_WAITING_BYTES = 8_388_608;
/** Signals of a V8 process with a full heap, and of one that the system kills for memory. */
const OUT_OF_MEMORY = ['SIGABRT', 'SIGKILL'];
/** Limit of processor seconds for each second of time: V8 collects garbage in other threads. */
const PROCESSOR_SHARE = 4;

/** Default of `reuseMilliseconds` as a share of `milliseconds`. */
const REUSE_SHARE = 0.25;

/** A third of the young generation. More would add half as much memory and no speed. */
const SEMI_SPACE_MEGABYTES = 4;

/** Exit code or signal of a process. */
interface Ending {
  code: number | null;
  signal: string | null;
}

/**
 * A module in its own Node process that responds to calls, one after the other (`respondToFrames`), with none of
 * the environment. A thread is not enough for hostile input: V8 can end the whole process when the heap of a thread is
 * full while the thread is being terminated.
 */
export class BoundedProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ending: Promise<Ending>;
  readonly #milliseconds: number;
  readonly #reuseMilliseconds: number;
  readonly #reuseMegabytes: number | undefined;
  readonly #output: Buffer[];
  /** Handles standard output. */
  #onOutput: (piece: Buffer) => void = () => undefined;
  #hasEnded = false;
  #millisecondsUsed = 0;

  private constructor(
    child: ChildProcessWithoutNullStreams,
    { milliseconds, reuseMilliseconds, reuseMegabytes }: ProcessBounds & { reuseMilliseconds: number },
  ) {
    this.#child = child;
    this.#milliseconds = milliseconds;
    this.#reuseMilliseconds = reuseMilliseconds;
    this.#reuseMegabytes = reuseMegabytes;
    this.#output = collect(child.stderr, MAX_OUTPUT_BYTES);
    child.stdout.on('data', (piece: Buffer) => this.#onOutput(piece));
    this.#ending = new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code, signal) => {
        this.#hasEnded = true;
        resolve({ code, signal });
      });
    });
    // The process may end before the first call.
    this.#ending.catch(() => undefined);
  }

  /** Starts a process and waits until it accepts input. Rejects with ProcessEnded if it ends before. */
  static async start(module: string, bounds: ProcessBounds): Promise<BoundedProcess> {
    const { milliseconds, megabytes, priority = 'low' } = bounds;
    const { reuseMilliseconds = milliseconds * REUSE_SHARE } = bounds;
    // The system also counts the processor time of earlier calls.
    const seconds = Math.ceil((milliseconds + reuseMilliseconds) / 1_000) * PROCESSOR_SHARE;
    const heap = [`--max-old-space-size=${megabytes}`, `--max-semi-space-size=${SEMI_SPACE_MEGABYTES}`];
    const child = await start(module, heap, seconds);
    const started = new BoundedProcess(child, { ...bounds, reuseMilliseconds });
    if (child.pid !== undefined && priority === 'low') lowerPriority(child.pid);
    await started.#ready();
    return started;
  }

  /** Whether the process runs, has time left for a full call, and did not grow. */
  get isReusable(): boolean {
    if (this.#hasEnded || this.#millisecondsUsed > this.#reuseMilliseconds) return false;
    return this.#reuseMegabytes === undefined || residentMegabytes(this.#child.pid) <= this.#reuseMegabytes;
  }

  /**
   * Sends an input and returns the response, or the end of one with parts. Do not call it again before that. After
   * ProcessEnded, or an error of `onPart`, start another one.
   */
  async call(input: Uint8Array, { maxResponseBytes, signal, onPart }: CallOptions): Promise<Buffer> {
    let stopped: ProcessEnded | undefined;
    const stop = (reason: ProcessEnded) => {
      stopped ??= reason;
      this.kill();
    };
    const onAbort = () => stop(new ProcessEnded('broken-off', 'canceled'));
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    const limit = new RunningTime(this.#milliseconds, () =>
      stop(new ProcessEnded('exhausted', 'it took too long')),
    );
    const onMore = () => stop(new ProcessEnded('exhausted', 'its output is too large'));
    const answered = this.#response(maxResponseBytes, { onMore, onPart, limit });
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
      this.#millisecondsUsed += limit.end();
      signal.removeEventListener('abort', onAbort);
      this.#onOutput = () => undefined;
    }
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /**
   * Waits for the empty frame that `respondToFrames` writes first, so that loading does not count as time of a call.
   */
  async #ready(): Promise<void> {
    const response = this.#response(0, { onMore: () => this.kill() });
    const result = await Promise.race([response, this.#ending]);
    this.#onOutput = () => undefined;
    if (!Buffer.isBuffer(result)) throw this.#failure(result);
  }

  #failure({ signal, code }: Ending): ProcessEnded {
    const output = Buffer.concat(this.#output).toString();
    return new ProcessEnded('failed', `it exited with ${signal ?? code}: ${output}`);
  }

  /**
   * Resolves with the next frame that is not a part of a response, after the parts before it are handled. The process,
   * and the limit on its time, wait while many bytes of them are not. Calls `onMore` if all exceed `maxBytes`.
   */
  #response(
    maxBytes: number,
    {
      onMore,
      onPart,
      limit,
    }: { onMore(): void; onPart?: OnPart | undefined; limit?: RunningTime | undefined },
  ): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      let left = maxBytes;
      const header = Buffer.alloc(HEADER_BYTES);
      let frame: { bytes: Buffer; isPart: boolean } | undefined;
      /** Bytes of the header, or of the frame after it. */
      let filled = 0;
      const fill = (target: Buffer, piece: Buffer): Buffer => {
        const copied = piece.copy(target, filled);
        filled += copied;
        return piece.subarray(copied);
      };
      let handled = Promise.resolve();
      let waitingBytes = 0;
      const count = (bytes: number): void => {
        waitingBytes += bytes;
        const isMuch = waitingBytes > MAX_WAITING_BYTES;
        if (isMuch === this.#child.stdout.isPaused()) return;
        this.#child.stdout[isMuch ? 'pause' : 'resume']();
        limit?.[isMuch ? 'pause' : 'resume']();
      };
      const handlePart = (part: Buffer): void => {
        count(part.byteLength);
        const before = handled;
        const work = async () => {
          await before;
          await onPart?.(part);
        };
        handled = work().finally(() => count(-part.byteLength));
        handled.catch((error: unknown) => {
          this.kill();
          reject(error);
        });
      };
      this.#onOutput = (piece) => {
        let rest = piece;
        while (rest.byteLength > 0) {
          if (frame === undefined) {
            rest = fill(header, rest);
            if (filled < HEADER_BYTES) return;
            const { bytes, isPart } = readFrameLength(header);
            left -= bytes;
            if (left < 0) return onMore();
            frame = { bytes: Buffer.allocUnsafe(bytes), isPart };
            filled = 0;
          }
          rest = fill(frame.bytes, rest);
          if (filled < frame.bytes.byteLength) return;
          const { bytes, isPart } = frame;
          frame = undefined;
          filled = 0;
          if (isPart) handlePart(bytes);
          else if (rest.byteLength > 0) return onMore();
          else
            handled.then(
              () => resolve(bytes),
              () => undefined,
            );
        }
      };
    });
  }
}

/**
 * Starts Node. If there is a shell, it disables core dumps and limits the processor time, so that a process also ends
 * if its registry was killed. On Linux, a system without memory kills this process before the registry.
 */
async function start(
  module: string,
  options: readonly string[],
  seconds: number,
): Promise<ChildProcessWithoutNullStreams> {
  // An executable of krmhub takes options of Node.js only from there.
  const env = { NODE_OPTIONS: options.join(' ') };
  const limits = `ulimit -c 0 2>/dev/null || :; ulimit -t ${seconds} 2>/dev/null || :
{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null || :
exec "$@"`;
  try {
    return await spawned('sh', ['-c', limits, 'sh', execPath, module], env);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return spawned(execPath, [module], env);
  }
}

async function spawned(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<ChildProcessWithoutNullStreams> {
  const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
  // A process that has ended does not read.
  child.stdin.on('error', () => undefined);
  await once(child, 'spawn');
  return child;
}

/** Collects output up to `maxBytes`; the rest is dropped. */
function collect(stream: NodeJS.ReadableStream, maxBytes: number): Buffer[] {
  const pieces: Buffer[] = [];
  let size = 0;
  stream.on('data', (piece: Buffer) => {
    size += piece.byteLength;
    if (size <= maxBytes) pieces.push(piece);
  });
  return pieces;
}

/** Returns the memory of a process in mebibytes; 0 where the system does not report it. */
function residentMegabytes(pid: number | undefined): number {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kilobytes ?? 0) / 1_024;
  } catch {
    return 0;
  }
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It may have ended, or the system has no priorities.
  }
}
