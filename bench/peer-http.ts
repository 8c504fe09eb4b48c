import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A response that is served unchanged. */
export interface HttpResource {
  path: string;
  /** Of the response without a coding, in lower case. */
  headers: Record<string, string>;
  /** base64. */
  identity: string;
  /** base64; the same bytes compressed. */
  gzip: string;
}

/** Serves the resources of a file: `node peer-http.js FILE`. */
const resources = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as HttpResource[];
const answers = new Map(
  resources.map(({ path, headers, identity, gzip }) => {
    const [plain, zipped] = [Buffer.from(identity, 'base64'), Buffer.from(gzip, 'base64')];
    const { 'content-length': _length, 'content-type': _type, ...bare } = headers;
    return [
      path,
      {
        etag: headers.etag,
        notModified: bare,
        plain: { headers, bytes: plain },
        zipped: {
          headers: { ...headers, 'content-encoding': 'gzip', 'content-length': String(zipped.byteLength) },
          bytes: zipped,
        },
      },
    ];
  }),
);

const server = createServer((request, response) => {
  const answer = answers.get(request.url ?? '');
  if (answer === undefined) {
    response.writeHead(404).end();
    return;
  }
  if (request.headers['if-none-match'] === answer.etag) {
    response.writeHead(304, answer.notModified).end();
    return;
  }
  const { headers, bytes } = request.headers['accept-encoding'] === 'gzip' ? answer.zipped : answer.plain;
  response.writeHead(200, headers).end(bytes);
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening on ${(server.address() as AddressInfo).port}\n`);
});
process.once('SIGTERM', () => process.exit(0));
