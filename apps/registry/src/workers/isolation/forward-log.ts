import type { Log } from '../../log.js';

/** Logs a line that another thread logged. */
export function forwardLogLine(log: Log, line: string): void {
  const { level, time: _time, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const name = log.levels.labels[Number(level)] ?? 'info';
  log[name as 'info'](fields, String(msg));
}
