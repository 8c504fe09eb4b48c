import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Gives a function that stops a server: it accepts nothing more, ends connections without a request at
 * once, others with their last answer, and cuts off what is left after `milliseconds`. To be called
 * before the server listens. Node's own `closeIdleConnections` leaves connections that never sent anything.
 */
export function prepareDraining(server: Server): (milliseconds: number) => Promise<void> {
  const requests = new Map<Socket, number>();
  let draining = false;
  const endIfIdle = (socket: Socket) => {
    if (draining && (requests.get(socket) ?? 0) === 0) socket.destroySoon();
  };
  server.on('connection', (socket) => {
    requests.set(socket, 0);
    socket.once('close', () => requests.delete(socket));
  });
  server.on('request', ({ socket }, response) => {
    requests.set(socket, (requests.get(socket) ?? 0) + 1);
    if (draining) response.setHeader('Connection', 'close');
    response.once('close', () => {
      if (!requests.has(socket)) return;
      requests.set(socket, (requests.get(socket) ?? 1) - 1);
      endIfIdle(socket);
    });
  });
  return (milliseconds) =>
    new Promise((resolve) => {
      draining = true;
      const limit = setTimeout(() => {
        for (const socket of requests.keys()) socket.destroy();
      }, milliseconds);
      server.close(() => {
        clearTimeout(limit);
        resolve();
      });
      for (const socket of requests.keys()) endIfIdle(socket);
    });
}
