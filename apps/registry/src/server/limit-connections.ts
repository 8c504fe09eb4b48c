import type { Server } from 'node:net';
import { type Log, rareWarning } from '../log.js';

/** Limits the number of connections. Refused ones are logged, at most once per interval. */
export function limitConnections(server: Server, max: number, log: Pick<Log, 'warn'>): void {
  server.maxConnections = max;
  const warn = rareWarning(log, 'refused connections: the limit is reached');
  server.on('drop', () => warn({ maxConnections: max }));
}
