import { createServer, type IncomingMessage, type ServerResponse, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { defined } from '@krmhub/schema/defined';

/** A proxy between a command and a registry. It records requests, and can respond itself. */
export interface RecordingProxy {
  /** `http://127.0.0.1:PORT` */
  url: string;
  /** Method, path and status of each request, in order. */
  requests: { path: string; status: number }[];
  /** Responds in place of the registry, if it returns true. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean;
  close(): void;
}

/** With `keepsHost`, the registry names the proxy in what it answers. */
export async function recordingProxy(
  target: string,
  { keepsHost = false }: { keepsHost?: boolean } = {},
): Promise<RecordingProxy> {
  const proxy: RecordingProxy = { url: '', requests: [], intercept: () => false, close: () => undefined };
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    response.on('close', () => proxy.requests.push({ path, status: response.statusCode }));
    if (proxy.intercept(request, response)) return;
    const forwarded = sendRequest(
      new URL(path, target),
      {
        method: request.method,
        headers: { ...request.headers, ...defined({ host: keepsHost ? undefined : new URL(target).host }) },
      },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    forwarded.on('error', () => response.destroy());
    request.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  proxy.close = () => {
    server.close();
    server.closeAllConnections();
  };
  return proxy;
}
