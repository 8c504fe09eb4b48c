import { connect } from 'node:net';
import { unbracketed } from './address-guard.js';
import type { SourceContext } from './context.js';
import { seconds } from './deadline.js';
import { SourceFailure } from './failure.js';
import { networkFailure } from './http/exchange.js';

/**
 * Returns an allowed address of a host that accepts connections on the port, for programs that cannot use the guard.
 * Rejects with SourceFailures only.
 */
export async function reachableAddress(host: string, port: number, context: SourceContext): Promise<string> {
  const { guard, deadline, limits } = context;
  guard.checkHost(host);
  const socket = connect({ host: unbracketed(host), port, lookup: guard.lookup, autoSelectFamily: true });
  const timer = setTimeout(() => {
    socket.destroy(
      new SourceFailure(
        'too-slow',
        `${host} took longer than ${seconds(limits.connectMilliseconds)} to connect`,
        {
          hint: 'Check the port and the firewall.',
        },
      ),
    );
  }, limits.connectMilliseconds);
  try {
    const connected = new Promise<string>((resolve, reject) => {
      socket.on('error', reject);
      socket.on('connect', () => resolve(socket.remoteAddress ?? ''));
    });
    return await deadline.race(connected);
  } catch (error) {
    throw networkFailure(`${host}:${port}`, error);
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}
