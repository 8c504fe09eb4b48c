/**
 * A server with scripted responses, for behavior that no real registry has.
 *
 * @module
 */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ScriptedServer {
  /** Host and port. */
  host: string;
  /** All requests: method with target, and the Authorization header. */
  requests: { request: string; authorization: string | undefined; body: Buffer }[];
  close(): Promise<void>;
}

export type Script = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void;

export async function scriptedServer(script: Script): Promise<ScriptedServer> {
  const requests: ScriptedServer['requests'] = [];
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    const body = Buffer.concat(pieces);
    const { authorization } = request.headers;
    requests.push({ request: `${request.method} ${request.url}`, authorization, body });
    script(request, response, body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
