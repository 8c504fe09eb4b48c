import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Milliseconds between two looks at which connections have had their last answer. */
const POLL_MILLISECONDS = 20;

/**
 * Gives a function that stops a server: it accepts nothing more, ends connections without a request at
 * once, others with their last answer, and cuts off what is left after `milliseconds`. To be called
 * before the server listens. Requests are not counted, since reading would pay for it.
 */
export function prepareDraining(server: Server): (milliseconds: number) => Promise<void> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return (milliseconds) =>
    new Promise((resolve) => {
      server.prependListener('request', (_request, response) => {
        response.setHeader('Connection', 'close');
      });
      const endIdle = () => {
        server.closeIdleConnections();
        // Node does not take connections that never sent anything for idle ones.
        for (const socket of sockets) if (socket.bytesRead === 0) socket.destroySoon();
      };
      const looking = setInterval(endIdle, POLL_MILLISECONDS);
      const limit = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, milliseconds);
      server.close(() => {
        clearInterval(looking);
        clearTimeout(limit);
        resolve();
      });
      endIdle();
    });
}
