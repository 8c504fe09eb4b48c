import { type DestinationStream, type Logger, pino } from 'pino';

export type Log = Logger;

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

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
