import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.js';

const server = createServer((socket) => socket.on('error', () => undefined).pipe(socket));
let proxy: TcpProxy;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy = await startTcpProxy({ port: (server.address() as AddressInfo).port });
});
afterAll(async () => {
  await proxy.close();
  server.close();
});

function client(): { socket: Socket; received(): string } {
  const socket = connect(proxy.port, '127.0.0.1');
  let text = '';
  socket
    .on('error', () => undefined)
    .setEncoding('utf8')
    .on('data', (more) => {
      text += more;
    });
  return { socket, received: () => text };
}

it('forwards, holds and delivers later, and cuts', async () => {
  const known = client();
  known.socket.write('one ');
  await expect.poll(known.received).toBe('one ');
  proxy.hold();
  known.socket.write('two ');
  const late = client();
  late.socket.write('three');
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect([known.received(), late.received()]).toEqual(['one ', '']);
  proxy.open();
  await expect.poll(known.received).toBe('one two ');
  await expect.poll(late.received).toBe('three');
  proxy.cut();
  await once(known.socket, 'close');
  const refused = client();
  await once(refused.socket, 'close');
  proxy.open();
  const again = client();
  again.socket.write('four');
  await expect.poll(again.received).toBe('four');
  again.socket.destroy();
});
