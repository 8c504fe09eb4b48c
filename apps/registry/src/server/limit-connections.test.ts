import { EventEmitter, once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { readTrustedProxies } from '../http/client-address.js';
import { limitConnections } from './limit-connections.js';

let server: Server;
let warnings: object[];
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function listen(max: number, trusted: string[]): Promise<void> {
  warnings = [];
  server = createServer((_, response) => response.end('answered'));
  const log = { warn: (line: object) => void warnings.push(line) };
  limitConnections(server, { max, proxies: readTrustedProxies(trusted).proxies, log });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}

/** Sends a request on a new connection from an address of this machine, and keeps the connection. */
async function ask(localAddress = '127.0.0.1'): Promise<{ socket: Socket; received: string }> {
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  let received = '';
  const ended = once(socket, 'close');
  socket
    .on('error', () => undefined)
    .on('data', (data) => {
      received += data;
    });
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await Promise.race([once(socket, 'data').catch(() => undefined), ended]);
  return { socket, received };
}

it('refuses connections above the limit, and logs it once', async () => {
  await listen(2, ['127.0.0.1']);
  const first = await ask();
  const second = await ask();
  expect([first.received, second.received]).toEqual(Array(2).fill(expect.stringContaining('answered')));
  expect([(await ask()).received, (await ask()).received]).toEqual(['', '']);
  expect(warnings).toEqual([{ count: 1, maxConnections: 2 }]);
  first.socket.destroy();
  await once(first.socket, 'close');
  await expect.poll(async () => (await ask()).received).toContain('answered');
});

// Linux has all of 127.0.0.0/8 on the loopback interface.
it.skipIf(process.platform !== 'linux')('one address cannot take all connections', async () => {
  await listen(8, []);
  const first = await ask();
  expect(first.received).toContain('answered');
  expect((await ask()).received).toContain('answered');
  expect([(await ask()).received, (await ask()).received]).toEqual(['', '']);
  expect(warnings).toEqual([{ count: 1, address: '127.0.0.1', maxConnections: 2 }]);
  expect((await ask('127.0.0.2')).received).toContain('answered');
  first.socket.destroy();
  await expect.poll(async () => (await ask()).received).toContain('answered');
});

it('a trusted proxy may have all connections: they are of many clients', async () => {
  await listen(8, ['127.0.0.0/8']);
  for (let at = 0; at < 8; at++) expect((await ask()).received).toContain('answered');
});

it('one IPv6 site cannot take all connections by its many networks', () => {
  warnings = [];
  server = createServer();
  const log = { warn: (line: object) => void warnings.push(line) };
  limitConnections(server, { max: 8, proxies: readTrustedProxies([]).proxies, log });
  // Only the listener of the limit: nothing is sent on these connections.
  const [, limit] = server.listeners('connection') as ((socket: EventEmitter) => void)[];
  const from = (remoteAddress: string) => {
    const socket = Object.assign(new EventEmitter(), { remoteAddress, isOpen: true });
    Object.assign(socket, { destroy: () => Object.assign(socket, { isOpen: false }) });
    limit!(socket);
    return socket;
  };
  const sockets = [1, 2, 3, 4, 5, 6].map((network) => from(`2001:db8:1:${network}::1`));
  expect(sockets.map(({ isOpen }) => isOpen)).toEqual([true, true, true, true, false, false]);
  expect(from('2001:db8:2:1::1').isOpen).toBe(true);
  expect(from('192.0.2.1').isOpen).toBe(true);
  expect(warnings).toEqual([{ count: 1, address: '2001:db8:1:5::1', maxConnections: 4 }]);
  sockets[0]!.emit('close');
  expect(from('2001:db8:1:7::1').isOpen).toBe(true);
  expect(from('2001:db8:1:7::2').isOpen).toBe(false);
});
