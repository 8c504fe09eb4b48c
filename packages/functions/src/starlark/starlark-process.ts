import { readSync, writeSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { builtEntry } from '../process/built-entry.js';
import { executeScript } from './execute-script.js';
import { readTask } from './script-task.js';
import type { Watched } from './starlark-watch.js';

/** Runs the script of its standard input; `run-starlark.ts` starts this process with its own id, and ends it. */

/** The first lines are written at once, so that a script that never ends has said something. */
const LINES_AT_ONCE = 100;
const MAX_BUFFERED = 65_536;
const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
const PIECE_BYTES = 65_536;
/** Delay before another try with a pipe that is empty or full. */
const RETRY_MILLISECONDS = 5;
/** Memory of the process as a share of its heap limit: code, buffers, and garbage that was not collected yet. */
const MEMORY_SHARE = 1.5;

const task = readTask(readAll());
const watched: Watched = {
  parent: Number(process.argv[2]),
  maxBytes: getHeapStatistics().heap_size_limit * MEMORY_SHARE,
};
new Worker(builtEntry('starlark-watch'), { workerData: watched, stdout: true, stderr: true }).unref();

let lines = 0;
let buffered = '';
const flush = () => {
  if (buffered !== '') writeAll(STDERR, Buffer.from(buffered));
  buffered = '';
};
const print = (line: string) => {
  buffered += `${line}\n`;
  lines++;
  if (lines <= LINES_AT_ONCE || buffered.length >= MAX_BUFFERED) flush();
};

const { exitCode, output } = executeScript(task, print);
flush();
writeAll(STDOUT, Buffer.from(output));
process.exit(exitCode);

function readAll(): Buffer {
  const pieces: Buffer[] = [];
  for (;;) {
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    const size = blocking(() => readSync(STDIN, piece));
    if (size === 0) return Buffer.concat(pieces);
    pieces.push(piece.subarray(0, size));
  }
}

function writeAll(stream: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.byteLength; ) at += blocking(() => writeSync(stream, bytes, at));
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
