import type { Server } from 'node:net';
import type { Log } from '../log.js';

/** Milliseconds between two log lines about refused connections. */
const LOG_MILLISECONDS = 60_000;

/** Limits the number of connections. Refused ones are logged, at most once per interval. */
export function limitConnections(server: Server, max: number, log: Pick<Log, 'warn'>): void {
  server.maxConnections = max;
  let refused = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;
  server.on('drop', () => {
    refused += 1;
    if (performance.now() - loggedAt < LOG_MILLISECONDS) return;
    loggedAt = performance.now();
    log.warn({ refused, maxConnections: max }, 'refused connections: the limit is reached');
    refused = 0;
  });
}
