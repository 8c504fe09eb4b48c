import type { Writable } from 'node:stream';
import { type DestinationStream, type Logger, pino } from 'pino';
import { SERVER_LIMITS } from './limits.js';

export type Log = Logger;
/** For what goes wrong. */
export type ErrorLog = Pick<Log, 'error'>;
/** For what an operator should know. */
export type WarningLog = Pick<Log, 'warn'>;

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Milliseconds between two warnings about the same overload. */
const WARNING_MILLISECONDS = 60_000;

/**
 * Writes JSON lines. Credentials are never logged: do not log whole headers. Fields with these names are redacted as
 * a second protection.
 */
export function createLog(level: LogLevel, destination: DestinationStream): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: ['token', 'authorization', '*.token', '*.authorization'], censor: '[secret]' },
    },
    destination,
  );
}

/** Returns text of a client, such as a path, for logs: without what can be a token. */
export function withoutTokens(text: string): string {
  return text.replaceAll(/krmhub_[a-f0-9]{8,}/gi, 'krmhub_…');
}

/** What a log needs of a stream. Those of the process can be written again after an error. */
export interface LogStream extends Pick<Writable, 'write' | 'writableLength'> {
  on(event: 'error', listener: () => void): unknown;
}

/**
 * A stream for log lines. A line that cannot be written is dropped and counted, because the registry must not stop
 * for its log: the disk below it can be full, and the reader of a pipe can stop reading. When writing works again, a
 * line tells how many were dropped.
 */
export class LogOutput implements DestinationStream {
  readonly #stream: LogStream;
  #dropped = 0;
  #reported = 0;
  /** A failed write may have left the start of a line. */
  #isCut = false;

  constructor(stream: LogStream) {
    this.#stream = stream;
    // Each write gets its own error. Without a listener, the event would end the process.
    stream.on('error', () => undefined);
  }

  /** Lines dropped so far. */
  get dropped(): number {
    return this.#dropped;
  }

  write(line: string): void {
    // The lines of a pipe without a reader stay in memory.
    if (this.#stream.writableLength > SERVER_LIMITS.maxWaitingLogBytes) {
      this.#dropped += 1;
      return;
    }
    this.#stream.write(this.#isCut ? `\n${line}` : line, (error) => {
      this.#isCut = error instanceof Error;
      if (this.#isCut) this.#dropped += 1;
      else if (this.#dropped > this.#reported) this.#report();
    });
  }

  #report(): void {
    const dropped = this.#dropped - this.#reported;
    this.#reported = this.#dropped;
    const time = new Date().toISOString();
    this.write(
      `${JSON.stringify({ level: 'warn', time, dropped, msg: 'log lines were dropped: they could not be written' })}\n`,
    );
  }
}

/**
 * Returns a function that logs a warning with the number of calls since the last one. It logs at most once per
 * interval, because a client can cause each call.
 */
export function rareWarning(log: WarningLog, message: string): (fields: object) => void {
  let count = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;
  return (fields) => {
    count += 1;
    if (performance.now() - loggedAt < WARNING_MILLISECONDS) return;
    loggedAt = performance.now();
    log.warn({ count, ...fields }, message);
    count = 0;
  };
}
