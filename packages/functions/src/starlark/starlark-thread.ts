import { parentPort, workerData } from 'node:worker_threads';
import { executeScript } from './execute-script.js';
import type { ScriptMessage, ScriptTask } from './script-messages.js';

/** Runs one script; `run-starlark.ts` starts this thread and ends it. */

/** The first lines are sent at once, so that a script that never ends has said something. */
const LINES_AT_ONCE = 100;
const MAX_BUFFERED = 65_536;

const port = parentPort!;
const send = (message: ScriptMessage, transfer: ArrayBuffer[] = []) => port.postMessage(message, transfer);

let lines = 0;
let buffered = '';
const flush = () => {
  if (buffered !== '') send({ type: 'stderr', text: buffered });
  buffered = '';
};
const print = (line: string) => {
  buffered += `${line}\n`;
  lines++;
  if (lines <= LINES_AT_ONCE || buffered.length >= MAX_BUFFERED) flush();
};

const { exitCode, output } = executeScript(workerData as ScriptTask, print);
flush();
const bytes = new TextEncoder().encode(output);
send({ type: 'ended', exitCode, output: bytes }, [bytes.buffer]);
