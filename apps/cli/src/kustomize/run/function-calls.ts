import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readFile, stat, writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { SYSTEM_ENVIRONMENT } from '@krmhub/functions/process/parent-watch';
import { KrmhubError } from '@krmhub/schema/error';
import { shellQuote } from '@krmhub/schema/text';
import type { BuildFolder } from './build-folder.js';
import { BUILD_LIMITS } from './limits.js';

/**
 * kustomize runs a function as `docker run … IMAGE`. The first `docker` on its PATH is a script of ours, which hands
 * the call to this process: so nothing runs that was not resolved, executables run with every kustomize and with
 * kubectl, and the limits of time and output apply. The script claims a folder for the call, stores the call in it,
 * writes the name of the folder to one named pipe, and reads the exit code from another. The folders and pipes are made
 * before, in one go: each program that a script starts takes milliseconds.
 */

export interface FunctionCall {
  args: readonly string[];
  input: Uint8Array;
}
export interface CallResult {
  exitCode: number;
  output: Uint8Array;
  stderr: Uint8Array;
  /** Why the build fails, which kustomize only sees as an exit code. */
  failure?: unknown;
}

/** As docker ends when it cannot start a container. */
const NOT_STARTED = 125;

const SCRIPT = `#!/bin/sh
set -euC
cd CALLS
claim() { true > "$call/claimed"; } 2>/dev/null
call=1
until claim; do
  call=$((call + 1))
  if [ ! -d "$call" ]; then echo "more calls of functions than functions" >&2; exit 125; fi
done
printf '%s\\0' "$@" > "$call/args"
cat > "$call/input"
printf '%s\\n' "$call" > queue
read -r code < "$call/done"
if [ -s "$call/stderr" ]; then cat "$call/stderr" >&2; fi
cat "$call/output"
exit "$code"
`;

export class FunctionCalls {
  readonly #folder: string;
  readonly #handle: (call: FunctionCall) => Promise<CallResult>;
  readonly #open = new Set<FileHandle>();
  readonly #running = new Set<Promise<void>>();
  readonly #started = new Set<string>();
  #queue: Socket | undefined;
  #failure: unknown;

  private constructor(folder: string, handle: (call: FunctionCall) => Promise<CallResult>) {
    this.#folder = folder;
    this.#handle = handle;
  }

  /**
   * Writes the script and waits for its calls, of which about `expected` may come. `handle` runs a function; what it
   * throws fails the build.
   */
  static async serve(
    { bin, calls }: BuildFolder,
    expected: number,
    handle: (call: FunctionCall) => Promise<CallResult>,
  ): Promise<FunctionCalls> {
    const served = new FunctionCalls(calls, handle);
    const queue = path.join(calls, 'queue');
    const names = Array.from({ length: expected + BUILD_LIMITS.maxUnknownCalls }, (_, index) =>
      String(index + 1),
    );
    for (const name of names) await mkdir(path.join(calls, name), { mode: 0o700 });
    const pipes = [queue, ...names.map((name) => path.join(calls, name, 'done'))];
    await promisify(execFile)('mkfifo', pipes, { env: SYSTEM_ENVIRONMENT }).catch((error: unknown) => {
      throw new KrmhubError('unavailable', 'cannot create a named pipe: mkfifo failed', { cause: error });
    });
    const script = SCRIPT.replace('CALLS', () => shellQuote(calls));
    await writeFile(path.join(bin, 'docker'), script, { mode: 0o700 });
    await served.#listen(queue);
    return served;
  }

  /** The first failure of a call. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Ends when no function runs. */
  async close(): Promise<void> {
    this.#queue?.destroy();
    await Promise.allSettled(this.#running);
    for (const handle of this.#open) await handle.close().catch(() => undefined);
  }

  async #listen(queue: string): Promise<void> {
    // Open for both, so that it does not end with the first writer.
    const { O_RDWR, O_NONBLOCK } = constants;
    const handle = await open(queue, O_RDWR | O_NONBLOCK);
    this.#open.add(handle);
    let rest = '';
    this.#queue = new Socket({ fd: handle.fd, readable: true, writable: false });
    this.#queue.on('error', (error) => {
      this.#failure ??= error;
    });
    this.#queue.setEncoding('utf8').on('data', (text: string) => {
      const names = (rest + text).split('\n');
      rest = names.pop()!;
      for (const name of names) this.#start(name);
    });
  }

  #start(name: string): void {
    // Functions that run as this user can write to the pipe, too.
    if (!/^[1-9]\d{0,5}$/.test(name) || this.#started.has(name)) return;
    this.#started.add(name);
    const running = this.#answer(path.join(this.#folder, name)).catch((error: unknown) => {
      this.#failure ??= error;
    });
    this.#running.add(running);
    void running.then(() => this.#running.delete(running));
  }

  async #answer(call: string): Promise<void> {
    const at = (name: string) => path.join(call, name);
    let code = NOT_STARTED;
    try {
      const result = await this.#run(at);
      await writeFile(at('output'), result.output, { mode: 0o600 });
      await writeFile(at('stderr'), result.stderr, { mode: 0o600 });
      code = result.exitCode;
      this.#failure ??= result.failure;
    } catch (error) {
      this.#failure ??= error;
      for (const name of ['output', 'stderr']) await writeFile(at(name), '').catch(() => undefined);
    }
    // Open for both: the script may not read yet. It stays open until it does.
    const done = await open(at('done'), constants.O_RDWR | constants.O_NONBLOCK);
    this.#open.add(done);
    await done.write(`${code}\n`);
  }

  async #run(at: (name: string) => string): Promise<CallResult> {
    if ((await stat(at('input'))).size > BUILD_LIMITS.maxInputBytes) {
      throw new KrmhubError('too-large', 'the input of a function has more than 1 GiB', {
        hint: 'Split the kustomization.',
      });
    }
    const args = (await readFile(at('args'), 'utf8')).split('\0').slice(0, -1);
    return this.#handle({ args, input: await readFile(at('input')) });
  }
}
