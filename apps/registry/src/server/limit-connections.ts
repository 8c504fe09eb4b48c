import type { Server, Socket } from 'node:net';
import { plainAddress, rateLimitKey, type TrustedProxies } from '../http/client-address.js';
import { type Log, rareWarning } from '../log.js';

/** One address may have a quarter of all connections. */
const ADDRESS_SHARE = 4;

/**
 * Limits the number of connections, in total and of one client address. A trusted proxy has the connections of many
 * clients, so only the total limits it. Refused connections are logged, at most once per interval.
 */
export function limitConnections(
  server: Server,
  { max, proxies, log }: { max: number; proxies: TrustedProxies; log: Pick<Log, 'warn'> },
): void {
  server.maxConnections = max;
  const warn = rareWarning(log, 'rejected connections: the limit is reached');
  server.on('drop', () => warn({ maxConnections: max }));
  const maxOfAddress = Math.ceil(max / ADDRESS_SHARE);
  const warnOfAddress = rareWarning(log, 'rejected connections of one address: it has too many connections');
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const address = plainAddress(socket.remoteAddress ?? '');
    if (proxies.includes(address)) return;
    const key = rateLimitKey(address);
    const before = open.get(key) ?? 0;
    if (before >= maxOfAddress) {
      warnOfAddress({ address, maxConnections: maxOfAddress });
      socket.destroy();
      return;
    }
    open.set(key, before + 1);
    socket.once('close', () => {
      const left = open.get(key)! - 1;
      if (left === 0) open.delete(key);
      else open.set(key, left);
    });
  });
}
