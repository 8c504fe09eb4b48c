import { type ChildProcess, spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { SourceFailure, tooLargeFailure } from '../failure.js';
import type { SourceLimits } from '../limits.js';

export interface GitRun {
  environment: Record<string, string>;
  folder: string;
  limits: SourceLimits;
  /** The reason of the abort is thrown. */
  signal: AbortSignal;
}

export interface GitResult {
  ok: boolean;
  output: Buffer;
  /** Error output, and the signal that ended git. */
  stderr: string;
}

const MAX_STDERR_BYTES = 65_536;
/** Milliseconds until the output of a killed process group is closed. */
const KILL_TIMEOUT_MILLISECONDS = 5_000;
/** Niceness: requests have priority over syncs. */
const PRIORITY = 10;

/**
 * Runs git in its own process group, with limits for time, memory, file size and output. Kills the whole group at the
 * end. Rejects with SourceFailures only.
 */
export async function runGit(
  args: readonly string[],
  { environment, folder, limits, signal }: GitRun,
  maxOutputBytes = limits.maxGitListBytes,
  input?: string,
): Promise<GitResult> {
  signal.throwIfAborted();
  const child = spawn('sh', ['-c', `${ulimits(limits)} exec git "$@"`, 'git', ...args], {
    cwd: folder,
    env: environment,
    detached: true,
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  let failure: SourceFailure | undefined;
  const stop = (why: SourceFailure) => {
    failure ??= why;
    killGroup(child);
  };
  const onAbort = () => stop(signal.reason);
  signal.addEventListener('abort', onAbort);
  const output = new OutputBuffer(maxOutputBytes, () =>
    stop(tooLargeFailure('the output of git', maxOutputBytes)),
  );
  const stderr = new OutputBuffer(MAX_STDERR_BYTES);
  child.stdout?.on('data', (piece) => output.add(piece));
  child.stderr?.on('data', (piece) => stderr.add(piece));
  // git may end before it has read everything.
  child.stdin?.on('error', () => undefined).end(input);
  lowerPriority(child);
  try {
    const { code, endedBy } = await waitForExit(child);
    if (failure !== undefined) throw failure;
    const ending = endedBy === null ? '' : `\ngit was killed by signal ${endedBy}`;
    return { ok: code === 0, output: output.bytes(), stderr: `${stderr.bytes().toString('utf8')}${ending}` };
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Ignores limits that the shell does not support: the timeout and the size check of the folder remain. */
function ulimits(limits: SourceLimits): string {
  const each = {
    c: 0,
    // In blocks of 512 bytes.
    f: Math.ceil(limits.maxRepositoryBytes / 512),
    v: Math.ceil(limits.maxGitMemoryBytes / 1_024),
    t: Math.max(Math.ceil(limits.totalMilliseconds / 1_000), 1),
  };
  const set = Object.entries(each)
    .filter(([, most]) => Number.isFinite(most))
    .map(([what, most]) => `ulimit -${what} ${most} 2>/dev/null || :;`);
  // Without SIGXFSZ, git reports that the file is too large.
  return [...set, "trap '' XFSZ 2>/dev/null || :;"].join(' ');
}

/** Resolves when git and all processes with its output have ended. */
function waitForExit(child: ChildProcess): Promise<{ code: number | null; endedBy: string | null }> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    child.on('error', (error) => {
      reject(
        new SourceFailure('internal', 'cannot start git', {
          cause: error,
          hint: 'Install git and sh on this machine.',
        }),
      );
    });
    child.on('exit', (code, endedBy) => {
      // Remaining child processes are still in the process group.
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
    // The group has already ended.
  }
}

function lowerPriority({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, PRIORITY);
  } catch {
    // The process has already ended.
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
