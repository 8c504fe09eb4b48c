import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Faults {
  /** Closes every connection. */
  away: boolean;
  /** Part of the requests that fail: before the server has them, after it, or in the middle of the response. */
  failing: number;
  /** Milliseconds until a request reaches the server. */
  delay: number;
}

export interface FaultyProxy {
  endpoint: string;
  faults: Faults;
  /** Requests that arrived, by method. */
  requests: Map<string, number>;
  close(): Promise<void>;
}

/** Forwards requests to an S3 server, and makes faults on the way. */
export async function startFaultyProxy(target: string, seed = 1): Promise<FaultyProxy> {
  const faults: Faults = { away: false, failing: 0, delay: 0 };
  const requests = new Map<string, number>();
  const random = generator(seed);
  const { hostname, port } = new URL(target);

  const forward = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { method = 'GET', url, headers } = incoming;
    requests.set(method, (requests.get(method) ?? 0) + 1);
    const fault = random() < faults.failing ? Math.floor(random() * 4) : undefined;
    await sleep(faults.delay);
    if (faults.away || fault === 0) return void incoming.socket.destroy();
    if (fault === 1) {
      incoming.resume();
      outgoing.writeHead(503, { Connection: 'close' }).end('<Error><Code>SlowDown</Code></Error>');
      return;
    }
    const onward = request({ hostname, port, method, path: url, headers });
    incoming.pipe(onward);
    const [response] = (await once(onward, 'response')) as [IncomingMessage];
    if (fault === 2) {
      // The server has done it, and the client does not learn that.
      response.resume();
      return void incoming.socket.destroy();
    }
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    let sent = 0;
    for await (const piece of response) {
      if (fault === 3 && sent > 0) return void incoming.socket.destroy();
      outgoing.write(fault === 3 ? piece.subarray(0, Math.ceil(piece.length / 2)) : piece);
      sent += piece.length;
      if (faults.away) return void incoming.socket.destroy();
    }
    if (fault === 3 && sent > 1) incoming.socket.destroy();
    else outgoing.end();
  };

  const server = createServer((incoming, outgoing) => {
    incoming.on('error', () => undefined);
    outgoing.on('error', () => undefined);
    forward(incoming, outgoing).catch(() => incoming.socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    faults,
    requests,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Numbers from 0 to 1 that a seed repeats. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
