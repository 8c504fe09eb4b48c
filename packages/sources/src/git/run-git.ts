import { type ChildProcess, spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { SourceFailure, tooLargeFailure } from '../failure.js';
import type { SourceLimits } from '../limits.js';

export interface GitRun {
  environment: Record<string, string>;
  folder: string;
  limits: SourceLimits;
  /** Aborted with what is then thrown. */
  signal: AbortSignal;
}

export interface GitResult {
  ok: boolean;
  output: Buffer;
  /** What it said, with how it ended where a signal ended it. */
  stderr: string;
}

const MAX_STDERR_BYTES = 65_536;
/** Milliseconds that what has been killed may need to be gone. */
const KILL_TIMEOUT_MILLISECONDS = 5_000;
/** Niceness: who publishes and reads goes first. */
const PRIORITY = 10;

/**
 * Runs git in a group of its own, bounded in time, memory, files and output. However it ends, nothing that it started
 * goes on. Rejects with SourceFailures only.
 */
export async function runGit(
  args: readonly string[],
  { environment, folder, limits, signal }: GitRun,
  maxOutputBytes = limits.maxGitListBytes,
): Promise<GitResult> {
  signal.throwIfAborted();
  const child = spawn('sh', ['-c', `${ulimits(limits)} exec git "$@"`, 'git', ...args], {
    cwd: folder,
    env: environment,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let failure: SourceFailure | undefined;
  const stop = (why: SourceFailure) => {
    failure ??= why;
    killGroup(child);
  };
  const onAbort = () => stop(signal.reason);
  signal.addEventListener('abort', onAbort);
  const output = new OutputBuffer(maxOutputBytes, () =>
    stop(tooLargeFailure('what git lists', maxOutputBytes)),
  );
  const said = new OutputBuffer(MAX_STDERR_BYTES);
  child.stdout.on('data', (piece) => output.add(piece));
  child.stderr.on('data', (piece) => said.add(piece));
  lowerPriority(child);
  try {
    const { code, endedBy } = await waitForExit(child);
    if (failure !== undefined) throw failure;
    const how = endedBy === null ? '' : `\ngit died of signal ${endedBy}`;
    return { ok: code === 0, output: output.bytes(), stderr: `${said.bytes().toString('utf8')}${how}` };
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Limits that a shell cannot set here are left to the others: the time, and the looks at the folder. */
function ulimits(limits: SourceLimits): string {
  const each = {
    c: 0,
    // In blocks of 512 bytes.
    f: Math.ceil(limits.maxRepositoryBytes / 512),
    v: Math.ceil(limits.maxGitMemoryBytes / 1_024),
    t: Math.max(Math.ceil(limits.totalMilliseconds / 1_000), 1),
  };
  const set = Object.entries(each).map(([what, most]) => `ulimit -${what} ${most} 2>/dev/null || :;`);
  // A program that is not killed for writing too much says that it could not.
  return [...set, "trap '' XFSZ 2>/dev/null || :;"].join(' ');
}

/** Resolves when it and everything that holds its output is gone. */
function waitForExit(child: ChildProcess): Promise<{ code: number | null; endedBy: string | null }> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    child.on('error', (error) => {
      reject(
        new SourceFailure('internal', 'git cannot be started', {
          cause: error,
          hint: 'git and sh have to be installed where this runs.',
        }),
      );
    });
    child.on('exit', (code, endedBy) => {
      // What it left behind still belongs to its group.
      timer = setTimeout(() => {
        killGroup(child);
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, KILL_TIMEOUT_MILLISECONDS);
      child.on('close', () => {
        clearTimeout(timer);
        resolve({ code, endedBy });
      });
    });
  });
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It is gone already.
  }
}

function lowerPriority({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, PRIORITY);
  } catch {
    // It has ended already.
  }
}

class OutputBuffer {
  readonly #pieces: Buffer[] = [];
  readonly #maxBytes: number;
  readonly #onMore: (() => void) | undefined;
  #size = 0;

  constructor(maxBytes: number, onMore?: () => void) {
    this.#maxBytes = maxBytes;
    this.#onMore = onMore;
  }

  add(piece: Buffer): void {
    if (this.#size + piece.byteLength > this.#maxBytes) this.#onMore?.();
    else {
      this.#pieces.push(piece);
      this.#size += piece.byteLength;
    }
  }

  bytes(): Buffer {
    return Buffer.concat(this.#pieces, this.#size);
  }
}
