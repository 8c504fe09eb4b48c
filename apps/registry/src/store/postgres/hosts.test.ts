import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { openPool } from './pool.js';

/** A message of the server: its type, its length, and its body (PostgreSQL, Message Formats). */
function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.byteLength + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
}

it('survives a server that ends a connection as soon as it is open', async () => {
  const isOpen = Buffer.concat([message('R', Buffer.alloc(4)), message('Z', Buffer.from('I'))]);
  const ended = message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection\0\0'));
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    // All at once, so that the client reads the end of the connection before it can use it.
    socket.once('data', () => socket.end(Buffer.concat([isOpen, ended])));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const pool = openPool(`postgres://krmhub@127.0.0.1:${port}/krmhub`, 1);
  for (let tried = 0; tried < 3; tried++) await expect(pool.query('SELECT 1')).rejects.toThrow();
  await pool.end();
  server.close();
});
