/**
 * The environment of a command: its streams, variables, and clock, and how it prints.
 *
 * Tests give a command another `Io`, so commands run in the process of the tests. `write` makes control characters
 * visible, because names and messages come from files and servers that no one checked.
 *
 * @module
 */

import type { Readable, Writable } from 'node:stream';
import { styleText } from 'node:util';
import type { Clock, Environment, SnapshotRules, Trace, WorkingFolder } from '@krmhub/consume/ports';
import { KrmhubError } from '@krmhub/schema/error';
import { hidePasswords } from '@krmhub/schema/hide-passwords';
import { escapeText } from '@krmhub/schema/text';

/** The input of a terminal, with what a prompt for a secret needs. */
export interface Input extends Readable {
  isTTY?: boolean;
  setRawMode?(raw: boolean): unknown;
}

/** An output stream; the two fields are set for a terminal. */
export interface Output extends Writable {
  isTTY?: boolean;
  columns?: number;
  /** Set for stderr: a command does not fail because a message about it cannot be written. */
  isLossy?: boolean;
  /** Set by the first write. */
  hasOutput?: boolean;
}

/** What `-o` accepts besides `table`. */
export type DataFormat = 'json' | 'yaml';

/** The standard input of a command. */
export interface StandardInput {
  stdin: Input;
}

/** What a request to a server needs of a command. */
export interface RequestSettings extends Environment, Trace {
  /** Set by `--request-timeout`, in milliseconds: how long to wait for data of a server. */
  requestTimeout?: number;
}

/** The environment of a command, except files and the network. */
export interface Io extends RequestSettings, WorkingFolder, SnapshotRules, StandardInput, Clock {
  stdout: Output;
  stderr: Output;
  /** Set by `--no-color`. */
  noColor?: boolean;
  /** Set by `-o json` and `-o yaml`: an error goes to stdout, too, unless stdout already has output. */
  errorFormat?: DataFormat;
  /** Exit code of the program. Commands with findings and errors set it. */
  exitCode: number;
  /** Sets the permissions that new files and folders of this process lack. */
  setUmask(mask: number): void;
  /** Returns the id of the process that started this one, or of the one that adopted it after that has ended. */
  parentId(): number;
  /** Resolves on the first signal that asks the program to stop. */
  waitForStop(): Promise<void>;
}

/**
 * Writes text for people, without the passwords of URLs: logs of pipelines have it. What is cut or wrapped has to hide
 * them before. Everything that could control a terminal becomes visible, except line breaks, tabs, and the colors of
 * `paint`: names, messages, and documents come from files and servers that nobody checked.
 */
export async function write(stream: Output, text: string): Promise<void> {
  await writeVisible(stream, hidePasswords(text));
}

/** The same for what hides passwords itself, or has to be exact. */
export async function writeVisible(stream: Output, text: string): Promise<void> {
  await writeRaw(stream, escapeText(text, { colors: stream.isTTY === true }));
}

/** Writes a document: its exact bytes to a file or program, and as visible text to a terminal. */
export async function writeData(stream: Output, data: string | Uint8Array): Promise<void> {
  if (stream.isTTY !== true) return writeRaw(stream, data);
  await writeVisible(stream, typeof data === 'string' ? data : new TextDecoder().decode(data));
}

/**
 * Writes to a stream what controls a terminal. Resolves after the write, so that large output does not accumulate in
 * memory. Rejects with `storage-full` or `unavailable`.
 */
export async function writeRaw(stream: Output, text: string | Uint8Array): Promise<void> {
  // A reader such as `head` can close the pipe early.
  if (!stream.writable) return;
  stream.hasOutput = true;
  const error = await new Promise<NodeJS.ErrnoException | null | undefined>((resolve) => {
    stream.write(text, resolve);
  });
  if (error instanceof Error && error.code !== 'EPIPE' && stream.isLossy !== true) throw outputError(error);
}

function outputError(cause: NodeJS.ErrnoException): KrmhubError {
  // Every command loads this file, and few have such an error.
  const isFull = cause.code === 'ENOSPC' || cause.code === 'EDQUOT';
  const reason = isFull ? 'the disk is full' : (cause.code ?? cause.message);
  return new KrmhubError(isFull ? 'storage-full' : 'unavailable', `cannot write the output: ${reason}`, {
    hint: 'Write the output to another file or disk.',
    cause,
  });
}

const DEFAULT_COLUMNS = 80;
const MIN_COLUMNS = 40;

/** Returns the columns of a terminal; 80 for other streams. */
export function terminalWidth(stream: Output): number {
  return Math.max(stream.columns ?? DEFAULT_COLUMNS, MIN_COLUMNS);
}

/** Reports whether to use colors on a stream (no-color.org). */
export function hasColor(io: Io, stream: Output): boolean {
  if (io.noColor === true || stream.isTTY !== true) return false;
  return (io.env.NO_COLOR ?? '') === '' && io.env.TERM !== 'dumb';
}

/** Styles a text if its stream uses colors. */
export function paint(io: Io, stream: Output, style: Parameters<typeof styleText>[0], text: string): string {
  // By default, styleText checks the stdout of the process, which can be another stream.
  return hasColor(io, stream) ? styleText(style, text, { validateStream: false }) : text;
}
