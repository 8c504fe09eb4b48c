import { readFileSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { builtEntry } from '../process/built-entry.js';
import { peakMemory } from '../process/memory-watch.js';
import { executeScript } from './execute-script.js';
import { openApi } from './open-api.js';
import { FRAME, frameHead } from './script-frames.js';
import { readTask, type TaskInput } from './script-task.js';
import type { Watched } from './starlark-watch.js';

/**
 * Runs the scripts of its standard input, one after the other; `starlark-session.ts` starts this process with its own
 * id, and ends it.
 */

/** The first lines are written at once, so that a script that never ends has said something. */
const LINES_AT_ONCE = 100;
const MAX_BUFFERED = 65_536;
const STDIN = 0;
const STDOUT = 1;
const PIECE_BYTES = 65_536;
/** Delay before another try with a pipe that is empty or full. */
const RETRY_MILLISECONDS = 5;
/** Memory of the process as a share of its heap limit: code, buffers, and garbage that was not collected yet. */
const MEMORY_SHARE = 1.5;

const watched: Watched = {
  parent: Number(process.argv[2]),
  maxBytes: getHeapStatistics().heap_size_limit * MEMORY_SHARE,
};
new Worker(builtEntry('starlark-watch'), { workerData: watched, stdout: true, stderr: true }).unref();

const input = standardInput();
for (let task = readTask(input); task !== undefined; task = readTask(input)) {
  const isMeasured = task.measuresMemory === true && forgetPeak();
  let lines = 0;
  let buffered = '';
  const flush = () => {
    if (buffered !== '') writeFrame(FRAME.stderr, Buffer.from(buffered));
    buffered = '';
  };
  const print = (line: string) => {
    buffered += `${line}\n`;
    lines++;
    if (lines <= LINES_AT_ONCE || buffered.length >= MAX_BUFFERED) flush();
  };
  const { exitCode, output } = executeScript(task, print, openApi);
  flush();
  writeFrame(FRAME.output, Buffer.from(output));
  if (isMeasured) writeFrame(FRAME.memory, Buffer.from(ownPeak()));
  writeFrame(FRAME.end, Buffer.of(exitCode));
}
process.exit(0);

/** Lets the system count from now on: scripts before this one used the same process. Returns false where it cannot. */
function forgetPeak(): boolean {
  try {
    // proc(5): 5 resets the peak.
    writeFileSync('/proc/self/clear_refs', '5');
    return true;
  } catch {
    return false;
  }
}

function ownPeak(): string {
  const peak = peakMemory(readFileSync('/proc/self/status', 'utf8'));
  return peak === undefined ? '' : String(peak);
}

function standardInput(): TaskInput {
  let pending: Buffer = Buffer.alloc(0);
  const read = (into: Buffer) => blocking(() => readSync(STDIN, into));
  return {
    line() {
      for (;;) {
        const end = pending.indexOf('\n');
        if (end !== -1) {
          const line = pending.subarray(0, end);
          pending = pending.subarray(end + 1);
          return line;
        }
        const piece = Buffer.allocUnsafe(PIECE_BYTES);
        const size = read(piece);
        if (size === 0) return undefined;
        pending = Buffer.concat([pending, piece.subarray(0, size)]);
      }
    },
    take(size) {
      const bytes = Buffer.allocUnsafe(size);
      let filled = pending.copy(bytes);
      pending = pending.subarray(filled);
      while (filled < size) {
        const count = read(bytes.subarray(filled));
        if (count === 0) throw new Error('the input ends in the middle of a task');
        filled += count;
      }
      return bytes;
    },
  };
}

function writeFrame(type: number, bytes: Uint8Array): void {
  if (bytes.byteLength === 0) return;
  writeAll(frameHead(type, bytes.byteLength));
  writeAll(bytes);
}

function writeAll(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.byteLength; ) at += blocking(() => writeSync(STDOUT, bytes, at));
}

/** Reads or writes without the event loop, for which the script leaves no time. Some imports make pipes not block. */
function blocking(transfer: () => number): number {
  for (;;) {
    try {
      return transfer();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Windows reports the end of a pipe.
      if (code === 'EOF') return 0;
      if (code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MILLISECONDS);
    }
  }
}
