import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import type { SourceContext } from '../context.js';
import { seconds } from '../deadline.js';
import { SourceFailure } from '../failure.js';

/**
 * HTTP agents that connect to allowed addresses only, or to the proxy of the user, with a connect timeout and without
 * keep-alive.
 */
export interface GuardedAgents {
  /** Rejects with a SourceFailure for an address that is not allowed. */
  for(url: URL): Promise<HttpAgent>;
}

export function guardedAgents({
  guard,
  limits: { connectMilliseconds },
  options: { proxy },
}: SourceContext): GuardedAgents {
  const options = { keepAlive: false, lookup: guard.lookup };

  class GuardedHttp extends HttpAgent {
    override createConnection(...[to, done]: Parameters<HttpAgent['createConnection']>) {
      guard.checkHost(to.host ?? 'localhost');
      return withConnectTimeout(super.createConnection(to, done), 'connect', to.host, connectMilliseconds);
    }
  }

  class GuardedHttps extends HttpsAgent {
    override createConnection(...[to, done]: Parameters<HttpsAgent['createConnection']>) {
      guard.checkHost(to.host ?? 'localhost');
      return withConnectTimeout(
        super.createConnection(to, done),
        'secureConnect',
        to.host,
        connectMilliseconds,
      );
    }
  }

  const plain = new GuardedHttp(options);
  const encrypted = new GuardedHttps(options);
  return {
    for: async (url) => {
      const proxied = await proxy?.(url);
      if (proxied === undefined) return url.protocol === 'https:' ? encrypted : plain;
      guard.checkProxied(url.hostname);
      return proxied.agent;
    },
  };
}

function withConnectTimeout<Connection extends Duplex | null | undefined>(
  connection: Connection,
  event: 'connect' | 'secureConnect',
  host: string | null | undefined,
  milliseconds: number,
): Connection {
  const timer = setTimeout(() => {
    connection?.destroy(
      new SourceFailure('too-slow', `${host} took longer than ${seconds(milliseconds)} to connect`, {
        hint: 'Check the port and the firewall.',
      }),
    );
  }, milliseconds);
  connection?.once(event, () => clearTimeout(timer));
  connection?.once('close', () => clearTimeout(timer));
  return connection;
}
