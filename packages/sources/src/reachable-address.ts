import { connect } from 'node:net';
import { unbracketed } from './address-guard.js';
import type { SourceContext } from './context.js';
import { seconds } from './deadline.js';
import { SourceFailure } from './failure.js';
import { networkFailure } from './http/exchange.js';

/**
 * An address of a host that takes connections on a port and may be connected to: for programs that are told where to
 * connect, and do not ask us. Rejects with SourceFailures only.
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
          hint: 'Does it answer on that port, and does a firewall let it through?',
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
