import type { Readable, Writable } from 'node:stream';
import { styleText } from 'node:util';

/** A terminal's input, as far as reading a secret needs it. */
export interface Input extends Readable {
  isTTY?: boolean;
  setRawMode?(raw: boolean): unknown;
}

/** Where a command prints to; the two fields are there where it is a terminal. */
export interface Output extends Writable {
  isTTY?: boolean;
  columns?: number;
}

/** Everything of the outside that a command touches, besides files and the network. */
export interface Io {
  stdin: Input;
  stdout: Output;
  stderr: Output;
  env: Record<string, string | undefined>;
  cwd: string;
  /** Where `--no-color` was given. */
  noColor?: boolean;
  /** What the program ends with; a command that has findings sets it, an error does too. */
  exitCode: number;
  now(): Date;
  /** Resolves when the program is asked to end in an orderly way. */
  untilStopped(): Promise<void>;
}

/** Resolves once the stream can take more, so that large answers do not pile up in memory. */
export async function write(stream: Output, text: string | Uint8Array): Promise<void> {
  // A reader such as `head` may have closed the pipe: what is left is not wanted.
  if (!stream.writable) return;
  await new Promise<void>((resolve) => {
    stream.write(text, () => resolve());
  });
}

const DEFAULT_COLUMNS = 80;
const MIN_COLUMNS = 40;

/** Columns that text has on a stream; 80 where it is no terminal. */
export function columnsOf(stream: Output): number {
  return Math.max(stream.columns ?? DEFAULT_COLUMNS, MIN_COLUMNS);
}

/** Whether colours are wanted on a stream (no-color.org). */
export function hasColor(io: Io, stream: Output): boolean {
  if (io.noColor === true || stream.isTTY !== true) return false;
  return (io.env.NO_COLOR ?? '') === '' && io.env.TERM !== 'dumb';
}

/** Text in a style where colours are wanted on the stream that it goes to. */
export function paint(io: Io, stream: Output, style: Parameters<typeof styleText>[0], text: string): string {
  // styleText itself would look at the program's stdout, which may be another stream than this one.
  return hasColor(io, stream) ? styleText(style, text, { validateStream: false }) : text;
}
