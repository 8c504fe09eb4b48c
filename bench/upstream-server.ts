import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';

/**
 * Serves the files 0.yaml, 1.yaml … of a folder, each on a separate port as if it were another host, with
 * an ETag: `node upstream-server.js FOLDER COUNT`. A replaced file is served with a new ETag.
 */
const folder = process.argv[2]!;
const count = Number(process.argv[3]);

interface Served {
  inode: bigint;
  etag: string;
  bytes: Buffer;
}

const ports = await Promise.all(
  Array.from({ length: count }, async (_, number) => {
    const file = path.join(folder, `${number}.yaml`);
    let served: Served | undefined;
    const current = (): Served => {
      const { ino } = statSync(file, { bigint: true });
      if (served?.inode !== ino) {
        const bytes = readFileSync(file);
        const etag = `"${createHash('sha256').update(bytes).digest('hex')}"`;
        served = { inode: ino, etag, bytes };
      }
      return served;
    };
    current();
    const server = createServer((request, response) => {
      const { etag, bytes } = current();
      const headers = { etag, 'content-type': 'application/yaml' };
      if (request.headers['if-none-match'] === etag) response.writeHead(304, headers).end();
      else response.writeHead(200, { ...headers, 'content-length': bytes.byteLength }).end(bytes);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }),
);
process.stdout.write(`listening on ${ports.join(',')}.\n`);
process.once('SIGTERM', () => process.exit(0));
