import { once } from 'node:events';
import {
  type AddressInfo,
  createServer,
  connect as open,
  type Socket,
  type TcpNetConnectOpts,
} from 'node:net';

/** Between one process and a server: only this process loses the server. */
export interface TcpProxy {
  port: number;
  /** Bytes of both sides arrive again, also those that were sent meanwhile. */
  open(): void;
  /** Nothing arrives, and nobody learns of it. */
  hold(): void;
  /** Closes all connections, and new ones at once. */
  cut(): void;
  close(): Promise<void>;
}

/** Forwards connections to a port of this machine, or to a socket. */
export async function startTcpProxy(target: { port: number } | { path: string }): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let state: 'open' | 'held' | 'cut' = 'open';

  /** Forwards what one side sends. Held sockets are not read. */
  const forward = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.on('error', () => undefined);
    from.on('data', (bytes) => {
      if (!to.write(bytes)) from.pause();
    });
    to.on('drain', () => {
      if (state === 'open') from.resume();
    });
    from.on('end', () => to.end());
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
    if (state === 'held') from.pause();
  };

  const server = createServer({ allowHalfOpen: true }, (client) => {
    if (state === 'cut') return void client.destroy();
    const onward = open({ ...target, allowHalfOpen: true } as TcpNetConnectOpts);
    forward(client, onward);
    forward(onward, client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const closeAll = () => {
    for (const socket of [...sockets]) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    open() {
      state = 'open';
      for (const socket of sockets) socket.resume();
    },
    hold() {
      state = 'held';
      for (const socket of sockets) socket.pause();
    },
    cut() {
      state = 'cut';
      closeAll();
    },
    async close() {
      server.close();
      closeAll();
      await once(server, 'close');
    },
  };
}
