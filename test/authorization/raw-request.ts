import { connect } from 'node:net';

/** A request as it goes over the wire: nothing is normalized, encoded or removed. */
export interface RawRequest {
  method: string;
  target: string;
  headers: readonly (readonly [name: string, value: string])[];
  body?: string;
}

export interface RawResponse {
  /** 0 if the connection ended without a response. */
  status: number;
  head: string;
  body: string;
}

/** Sends a request on a new connection and returns the first response. */
export async function sendRaw(port: number, request: RawRequest): Promise<RawResponse> {
  const { method, target, headers, body = '' } = request;
  const lines = [
    `${method} ${target} HTTP/1.1`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  const socket = connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  socket.on('error', () => undefined);
  // Not `end`: a registry may take a half-closed connection for a closed one.
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
  await closed;
  const [head = '', ...rest] = Buffer.concat(chunks).toString('utf8').split('\r\n\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0);
  return { status, head, body: rest.join('\r\n\r\n') };
}

export function withHeaders(request: RawRequest, ...headers: [string, string][]): RawRequest {
  return { ...request, headers: [...request.headers, ...headers] };
}
