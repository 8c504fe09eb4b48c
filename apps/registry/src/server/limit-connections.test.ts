import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, it } from 'vitest';
import { limitConnections } from './limit-connections.js';

it('refuses connections above the limit, and logs it once', async () => {
  const warnings: object[] = [];
  const server = createServer((_, response) => response.end('answered'));
  limitConnections(server, 2, { warn: (line: object) => void warnings.push(line) });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const ask = async () => {
    const socket = connect(port, '127.0.0.1');
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
  };
  const first = await ask();
  const second = await ask();
  expect([first.received, second.received]).toEqual(Array(2).fill(expect.stringContaining('answered')));
  expect([(await ask()).received, (await ask()).received]).toEqual(['', '']);
  expect(warnings).toEqual([{ count: 1, maxConnections: 2 }]);
  first.socket.destroy();
  await once(first.socket, 'close');
  await expect.poll(async () => (await ask()).received).toContain('answered');
  server.closeAllConnections();
  server.close();
});
