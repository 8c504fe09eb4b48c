/** The log of a worker thread: its parent thread writes the lines. */

import { pino } from 'pino';
import type { Log } from '../../log.js';
import { report } from './serve-role.js';

/** Returns the log of a thread. */
export function parentLog(level: string): Log {
  return pino({ level, base: null }, { write: (line: string) => report('log', line) });
}

/** Logs a line that another thread logged. */
export function forwardLogLine(log: Log, line: string): void {
  const { level, time: _time, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const name = log.levels.labels[Number(level)] ?? 'info';
  log[name as 'info'](fields, String(msg));
}
