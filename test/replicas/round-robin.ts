import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RoundRobin {
  url: string;
  close(): Promise<void>;
}

/**
 * A load balancer that clients connect to. It sends each request to the next process, so that two requests of one upload
 * reach different ones. It changes and repeats nothing.
 */
export async function startRoundRobin(urls: readonly string[]): Promise<RoundRobin> {
  // A process may close a connection that waits for the next request.
  const agent = new Agent({ keepAlive: false });
  let turn = 0;
  const forward = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const { hostname, port } = new URL(urls[turn % urls.length]!);
    turn += 1;
    const { method, url, rawHeaders } = incoming;
    const onward = request({ agent, hostname, port, method, path: url, headers: rawHeaders });
    onward.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.statusMessage, answer.rawHeaders);
      answer.on('error', () => outgoing.destroy());
      answer.pipe(outgoing);
    });
    onward.on('error', () => {
      // A process that has responded need not read the whole body.
      incoming.unpipe(onward).resume();
      if (!outgoing.headersSent) outgoing.writeHead(502, { Connection: 'close' }).end();
    });
    incoming.on('error', () => undefined);
    outgoing.on('error', () => undefined);
    outgoing.on('close', () => {
      if (!outgoing.writableFinished) onward.destroy();
    });
    incoming.pipe(onward);
  };
  const server = createServer(forward);
  // Clients close their connections themselves.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
