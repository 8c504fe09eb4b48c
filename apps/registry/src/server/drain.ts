import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';

/** Milliseconds between two checks for idle connections. */
const POLL_MILLISECONDS = 20;

/**
 * Returns a function that stops a server. For a delay, in which load balancers can notice it, it continues to serve, but
 * each response closes its connection. Then it accepts no more connections, closes idle ones immediately and others
 * after their last response, and destroys the rest after `milliseconds`. Call it before the server listens. It does
 * not count requests, to keep reads fast.
 */
export function prepareDraining(
  server: Server,
): (milliseconds: number, delayMilliseconds?: number) => Promise<void> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return async (milliseconds, delayMilliseconds = 0) => {
    server.prependListener('request', (_request, response) => {
      response.setHeader('Connection', 'close');
    });
    if (delayMilliseconds > 0) await setTimeout(delayMilliseconds);
    await new Promise<void>((resolve) => {
      const endIdle = () => {
        server.closeIdleConnections();
        // Node does not treat connections that never sent anything as idle.
        for (const socket of sockets) if (socket.bytesRead === 0) socket.destroySoon();
      };
      const polling = setInterval(endIdle, POLL_MILLISECONDS);
      const limit = globalThis.setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, milliseconds);
      server.close(() => {
        clearInterval(polling);
        clearTimeout(limit);
        resolve();
      });
      endIdle();
    });
  };
}
