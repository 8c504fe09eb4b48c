import type { Server } from 'node:net';
import type { Log } from '../log.js';

/** Milliseconds between two lines of the log about connections that were refused. */
const LOG_MILLISECONDS = 60_000;

/** Refuses more connections than so many at once, and says so in the log now and then. */
export function limitConnections(server: Server, max: number, log: Pick<Log, 'warn'>): void {
  server.maxConnections = max;
  let refused = 0;
  let saidAt = Number.NEGATIVE_INFINITY;
  server.on('drop', () => {
    refused += 1;
    if (performance.now() - saidAt < LOG_MILLISECONDS) return;
    saidAt = performance.now();
    log.warn({ refused, maxConnections: max }, 'refused connections: the limit is reached');
    refused = 0;
  });
}
