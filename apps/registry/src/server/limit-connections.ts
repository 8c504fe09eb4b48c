import type { Server, Socket } from 'node:net';
import { plainAddress, rateLimitKey, siteKey, type TrustedProxies } from '../http/client-address.js';
import { rareWarning, type WarningLog } from '../log.js';

/** One address may have a quarter of all connections. */
const ADDRESS_SHARE = 4;
/** One /48 of IPv6 addresses may have half of them. */
const SITE_SHARE = 2;

/**
 * Limits the number of connections, in total, of one client address, and of one IPv6 site. A trusted proxy has the
 * connections of many clients, so only the total limits it. Refused connections are logged, at most once per interval.
 */
export function limitConnections(
  server: Server,
  { max, proxies, log }: { max: number; proxies: TrustedProxies; log: WarningLog },
): void {
  server.maxConnections = max;
  const warn = rareWarning(log, 'rejected connections: the limit is reached');
  server.on('drop', () => warn({ maxConnections: max }));
  const warnOfAddress = rareWarning(log, 'rejected connections of one address: it has too many connections');
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const address = plainAddress(socket.remoteAddress ?? '');
    if (proxies.includes(address)) return;
    const site = siteKey(address);
    const limits = [
      { key: rateLimitKey(address), most: Math.ceil(max / ADDRESS_SHARE) },
      ...(site === undefined ? [] : [{ key: site, most: Math.ceil(max / SITE_SHARE) }]),
    ];
    const reached = limits.find(({ key, most }) => (open.get(key) ?? 0) >= most);
    if (reached !== undefined) {
      warnOfAddress({ address, maxConnections: reached.most });
      socket.destroy();
      return;
    }
    for (const { key } of limits) open.set(key, (open.get(key) ?? 0) + 1);
    socket.once('close', () => {
      for (const { key } of limits) {
        const left = open.get(key)! - 1;
        if (left === 0) open.delete(key);
        else open.set(key, left);
      }
    });
  });
}
