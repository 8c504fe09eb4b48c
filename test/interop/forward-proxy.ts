import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

export interface ForwardProxy {
  /** With a user name and a password. */
  url: string;
  /** Requests that it received. */
  seen: { what: string; authorization: string | undefined }[];
  stop(): void;
}

/** A forward proxy like those of companies. Every requested host is at `port` of this machine. */
export async function startForwardProxy(port: number): Promise<ForwardProxy> {
  const seen: ForwardProxy['seen'] = [];
  const proxy = createServer((incoming, outgoing) => {
    const target = new URL(incoming.url ?? '');
    const { 'proxy-authorization': authorization, ...headers } = incoming.headers;
    seen.push({ what: `${incoming.method} ${target.host}`, authorization });
    const { method } = incoming;
    const onward = request(
      { host: '127.0.0.1', port, method, path: target.pathname + target.search, headers },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    incoming.pipe(onward);
  });
  proxy.on('connect', (incoming, socket, head) => {
    seen.push({ what: `CONNECT ${incoming.url}`, authorization: incoming.headers['proxy-authorization'] });
    const onward = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      onward.write(head);
      onward.pipe(socket).pipe(onward);
    });
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    url: `http://someone:secret@127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    seen,
    stop: () => {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
}
