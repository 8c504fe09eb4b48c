import { connect, type Socket } from 'node:net';

export interface RawResponse {
  /** Of the first response; 0 if the connection ended without one. */
  status: number;
  received: string;
  milliseconds: number;
  /** Whether the registry ended the connection, rather than the timeout of the test. */
  ended: boolean;
}

/**
 * Sends bytes that no client library would send, and returns the response bytes until the registry ends the
 * connection.
 */
export function rawRequest(
  url: string,
  head: string | Uint8Array,
  options: {
    more?: (socket: Socket) => void;
    patience?: number;
    enough?: (received: string) => boolean;
  } = {},
): Promise<RawResponse> {
  const { more, patience = 5_000, enough = () => false } = options;
  const begin = performance.now();
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    let received = '';
    const finish = (ended: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(received)?.[1] ?? 0);
      resolve({ status, received, milliseconds: performance.now() - begin, ended });
    };
    const timer = setTimeout(() => finish(false), patience);
    socket.on('error', () => undefined);
    socket.on('close', () => finish(true));
    socket.setEncoding('latin1').on('data', (text) => {
      received += text;
      if (enough(received)) finish(false);
    });
    socket.write(head);
    more?.(socket);
  });
}

/** Writes a piece at this interval in milliseconds while the connection is open. */
export function drip(piece: string, milliseconds: number): (socket: Socket) => void {
  return (socket) => {
    const timer = setInterval(() => {
      if (socket.destroyed || !socket.writable) clearInterval(timer);
      else socket.write(piece);
    }, milliseconds);
    socket.once('close', () => clearInterval(timer));
  };
}

/** Writes without end, as fast as the connection accepts. */
export function flood(piece: string): (socket: Socket) => void {
  return (socket) => {
    const send = () => {
      while (!socket.destroyed && socket.writable && socket.write(piece));
      if (!socket.destroyed) socket.once('drain', send);
    };
    send();
  };
}
