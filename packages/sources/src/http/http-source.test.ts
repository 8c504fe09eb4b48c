import { once } from 'node:events';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { FetcherOptions, FetchRequest } from '../context.js';
import {
  catchFailure,
  httpServer,
  rawServer,
  type TestServer,
  temporaryFolder,
  testFetcher,
} from '../testing/servers.js';

const { folder, remove } = temporaryFolder();
const servers: TestServer[] = [];
const CATALOG = 'kind: KRMFunctionCatalog\n';

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});
afterAll(remove);

async function serving<Started extends TestServer>(starting: Promise<Started>): Promise<Started> {
  const server = await starting;
  servers.push(server);
  return server;
}

function asking(url: string, more: Partial<FetchRequest> = {}): FetchRequest {
  return { address: { type: 'http', url }, bundles: false, ...more };
}

/** Says these bytes, and ends. */
function saying(...parts: (string | Buffer)[]) {
  return rawServer((socket) => {
    for (const part of parts) socket.write(part);
    socket.end();
  });
}

const fetcher = testFetcher(folder);
const text = (bytes: Uint8Array | undefined) =>
  bytes === undefined ? undefined : Buffer.from(bytes).toString();

describe('an HTTP source', () => {
  it('returns validators for conditional requests', async () => {
    const server = await serving(
      httpServer((request, response) => {
        if (request.headers['if-none-match'] === '"one"') response.writeHead(304).end();
        else
          response
            .writeHead(200, { ETag: '"one"', 'Last-Modified': 'Sat, 01 Aug 2026 00:00:00 GMT' })
            .end(CATALOG);
      }),
    );
    const progress: number[] = [];
    const url = `${server.origin}/catalog.yaml`;
    const first = await fetcher.fetch(asking(url, { onProgress: (bytes) => progress.push(bytes) }));
    expect(text(first.bytes)).toBe(CATALOG);
    expect(first.bundles).toEqual([]);
    expect(progress.at(-1)).toBe(CATALOG.length);
    expect(server.asked[0]!.headers).toMatchObject({ 'user-agent': 'krmhub/test', connection: 'close' });
    const second = await fetcher.fetch(asking(url, { validators: first.validators }));
    expect(second).toEqual({ validators: first.validators, bundles: [] });
    expect(server.asked[1]!.headers).toMatchObject({
      'if-none-match': '"one"',
      'if-modified-since': 'Sat, 01 Aug 2026 00:00:00 GMT',
    });
    // What was said of one address says nothing of another.
    const other = await fetcher.fetch(
      asking(`${server.origin}/other.yaml`, { validators: first.validators }),
    );
    expect(text(other.bytes)).toBe(CATALOG);
  });

  it('is decompressed', async () => {
    const server = await serving(
      httpServer((request, response) => {
        expect(request.headers['accept-encoding']).toBe('gzip, identity');
        response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(gzipSync(CATALOG));
      }),
    );
    expect(text((await fetcher.fetch(asking(server.origin))).bytes)).toBe(CATALOG);
  });

  it('is read with its bundles, changed or not', async () => {
    const files: Record<string, string> = {
      '/team/catalog.yaml': CATALOG,
      '/team/snapshot.sigstore.json': 'snapshot',
      '/team/catalog.yaml.sigstore.json': 'file',
    };
    const server = await serving(
      httpServer((request, response) => {
        const file = files[request.url!.split('?')[0]!];
        if (file === undefined) response.writeHead(404).end();
        else if (request.headers['if-none-match'] !== undefined) response.writeHead(304).end();
        else response.writeHead(200, { ETag: '"one"' }).end(file);
      }),
    );
    const url = `${server.origin}/team/catalog.yaml?ref=v1`;
    const first = await fetcher.fetch(asking(url, { bundles: true }));
    expect(first.bundles.map(text)).toEqual(['snapshot', 'file']);
    expect(server.asked.map(({ url }) => url)).toEqual([
      '/team/catalog.yaml?ref=v1',
      '/team/snapshot.sigstore.json?ref=v1',
      '/team/catalog.yaml.sigstore.json?ref=v1',
    ]);
    delete files['/team/catalog.yaml.sigstore.json'];
    const second = await fetcher.fetch(asking(url, { bundles: true, validators: first.validators }));
    expect(second.bytes).toBeUndefined();
    expect(second.bundles.map(text)).toEqual(['snapshot']);
  });

  it('has no bundles if the server responds with a page or with 403', async () => {
    const server = await serving(
      httpServer((request, response) => {
        if (request.url === '/catalog.yaml') response.end(CATALOG);
        else if (request.url!.includes('snapshot')) response.writeHead(403).end();
        else response.writeHead(200, { 'Content-Type': 'text/html' }).end('<html>');
      }),
    );
    const { bundles } = await fetcher.fetch(asking(`${server.origin}/catalog.yaml`, { bundles: true }));
    expect(bundles).toEqual([]);
  });

  it('fails if a bundle cannot be fetched or is too large', async () => {
    let status = 500;
    const server = await serving(
      httpServer((request, response) => {
        if (request.url === '/catalog.yaml') response.end(CATALOG);
        else response.writeHead(status).end('x'.repeat(2_000));
      }),
    );
    const asked = asking(`${server.origin}/catalog.yaml`, { bundles: true });
    expect(await catchFailure(fetcher.fetch(asked))).toMatchObject({ problem: 'unreachable' });
    status = 200;
    const small = testFetcher(folder, { limits: { maxBundleBytes: 1_000 } });
    expect(await catchFailure(small.fetch(asked))).toMatchObject({ problem: 'too-large' });
  });
});

describe('an unexpected response', () => {
  it.each([
    [401, 'unauthorized', 'unauthorized'],
    [403, 'unauthorized', 'unauthorized'],
    [404, 'not-found', 'not-found'],
    [410, 'not-found', 'not-found'],
    [204, 'bad-answer', 'unreachable'],
    [206, 'bad-answer', 'unreachable'],
    [304, 'bad-answer', 'unreachable'],
    [400, 'bad-answer', 'unreachable'],
    [505, 'bad-answer', 'unreachable'],
  ])('is told by %d', async (status, problem, code) => {
    const server = await serving(httpServer((_, response) => response.writeHead(status).end()));
    const failure = await catchFailure(fetcher.fetch(asking(`${server.origin}/catalog.yaml`)));
    expect(failure).toMatchObject({ problem, code });
    expect(failure.message).toContain(`127.0.0.1:${server.port} responded with ${status} for /catalog.yaml`);
    expect(server.asked).toHaveLength(1);
  });

  it('is reported if it is a web page', async () => {
    const server = await serving(
      httpServer((_, response) =>
        response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end('<html>'),
      ),
    );
    const failure = await catchFailure(fetcher.fetch(asking(server.origin)));
    expect(failure).toMatchObject({
      problem: 'bad-answer',
      message: `127.0.0.1:${server.port} responded with a web page instead of a file`,
    });
    expect(failure.hint).toContain('"raw"');
    const page = await catchFailure(fetcher.fetch(asking(`${server.origin}/catalogs/team`)));
    expect(page.hint).toContain(`${server.origin}/catalogs/team/catalog.yaml`);
  });

  it('is retried if the failure is temporary', async () => {
    let times = 0;
    const server = await serving(
      httpServer((_, response) => {
        times++;
        if (times < 3) response.writeHead(503, { 'Retry-After': '0' }).end();
        else response.end(CATALOG);
      }),
    );
    expect(text((await fetcher.fetch(asking(server.origin))).bytes)).toBe(CATALOG);
    times = -10;
    expect(await catchFailure(fetcher.fetch(asking(server.origin)))).toMatchObject({
      problem: 'unreachable',
    });
    expect(server.asked).toHaveLength(6);
  });

  it('is retried after Retry-After, but not beyond the deadline', async () => {
    const server = await serving(
      httpServer((_, response) => response.writeHead(429, { 'Retry-After': '3600' }).end()),
    );
    const failure = await catchFailure(fetcher.fetch(asking(server.origin)));
    expect(failure).toMatchObject({ problem: 'unreachable', retryAfterMilliseconds: 3_600_000 });
    expect(failure.message).toContain('Retry-After 3600 s');
    expect(server.asked).toHaveLength(1);
  });

  it('cannot put terminal escapes into messages', async () => {
    const server = await serving(saying('HTTP/1.1 302 Found\r\nLocation: ftp://\u001b[31m/x\r\n\r\n'));
    const failure = await catchFailure(fetcher.fetch(asking(server.origin)));
    expect(failure.message).toMatch(/^[\x20-\x7e]*$/);
  });

  it.each([
    ['something else than HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n'],
    ['headers without an end', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}`],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    [
      'a length and pieces',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n',
    ],
    [
      'a packing that was not asked for',
      'HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\na',
    ],
    [
      'bytes that are not packed',
      'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nplain',
    ],
    ['a redirect to nowhere', 'HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n'],
  ])('is told by %s', async (_, answer) => {
    const server = await serving(saying(answer));
    expect(await catchFailure(fetcher.fetch(asking(server.origin)))).toMatchObject({ problem: 'bad-answer' });
  });

  it('is reported if a compressed body is truncated', async () => {
    const packed = gzipSync('x'.repeat(10_000)).subarray(0, 20);
    const server = await serving(
      saying(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`, packed),
    );
    expect(await catchFailure(fetcher.fetch(asking(server.origin)))).toMatchObject({ problem: 'bad-answer' });
  });
});

describe('a wrong Content-Length', () => {
  it('is reported if the body is shorter', async () => {
    const server = await serving(saying('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nkind: x'));
    const failure = await catchFailure(fetcher.fetch(asking(`${server.origin}/c.yaml`)));
    expect(failure).toMatchObject({
      problem: 'bad-answer',
      message: `127.0.0.1:${server.port}/c.yaml ended after 7 of 1000 bytes`,
    });
  });

  it('is reported if the body is longer', async () => {
    const server = await serving(
      saying('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nkind: something longer\n'),
    );
    expect(await catchFailure(fetcher.fetch(asking(server.origin)))).toMatchObject({ problem: 'bad-answer' });
  });

  it('above the limit is rejected before the body is read', async () => {
    const server = await serving(
      rawServer((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000000000\r\n\r\nkind')),
    );
    const failure = await catchFailure(fetcher.fetch(asking(server.origin)));
    expect(failure).toMatchObject({ problem: 'too-large', code: 'too-large' });
  });

  it('is reported if chunks are truncated', async () => {
    let asked = 0;
    const server = await serving(
      rawServer((socket) => {
        asked++;
        socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nkind: x');
      }),
    );
    expect(await catchFailure(fetcher.fetch(asking(server.origin)))).toMatchObject({
      problem: 'unreachable',
    });
    expect(asked).toBe(3);
  });
});

describe('a response that is too large', () => {
  it('is read up to the limit if it is endless', async () => {
    let sent = 0;
    const endless = (socket: Socket) => {
      const piece = Buffer.alloc(65_536, 'x');
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const more = () => {
        while (!socket.destroyed && sent < 1e9) {
          sent += piece.length;
          if (!socket.write(piece)) return;
        }
      };
      socket.on('drain', more);
      more();
    };
    const server = await serving(rawServer(endless));
    const small = testFetcher(folder, { limits: { maxCatalogBytes: 1_000_000 } });
    expect(await catchFailure(small.fetch(asking(`${server.origin}/c`)))).toMatchObject({
      problem: 'too-large',
      message: `127.0.0.1:${server.port}/c is larger than 1000000 bytes`,
    });
    // What the kernel keeps on its way counts for some.
    expect(sent).toBeLessThan(50_000_000);
  });

  it('is read up to the limit after decompression', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    expect(bomb.length).toBeLessThan(100_000);
    const server = await serving(
      httpServer((_, response) => response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(bomb)),
    );
    const small = testFetcher(folder, { limits: { maxCatalogBytes: 1_000_000 } });
    const before = process.memoryUsage().arrayBuffers;
    expect(await catchFailure(small.fetch(asking(server.origin)))).toMatchObject({ problem: 'too-large' });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20_000_000);
  });
});

describe('a slow server', () => {
  // Only the tested limit is short: on a busy machine another one might be reached first.
  const limited = (limits: NonNullable<FetcherOptions['limits']>) => testFetcher(folder, { limits });
  const impatient = limited({ idleMilliseconds: 300 });

  it('fails at the idle timeout without a response', async () => {
    let closed: Promise<unknown> | undefined;
    const server = await serving(
      rawServer((socket) => {
        closed = once(socket, 'close');
      }),
    );
    const failure = await catchFailure(impatient.fetch(asking(server.origin)));
    expect(failure).toMatchObject({
      problem: 'too-slow',
      message: `no data from 127.0.0.1:${server.port} for 0.3 s`,
    });
    // The connection is not left to the other side.
    await closed;
  });

  it('fails at the total timeout if the body trickles', async () => {
    const server = await serving(
      rawServer((socket) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n');
        const timer = setInterval(() => socket.write('x'), 100);
        socket.on('close', () => clearInterval(timer));
      }),
    );
    const failure = await catchFailure(limited({ totalMilliseconds: 900 }).fetch(asking(server.origin)));
    expect(failure).toMatchObject({
      problem: 'too-slow',
      message: `127.0.0.1:${server.port} took longer than 0.9 s in total`,
    });
  });

  it('fails at the idle timeout if the headers trickle', async () => {
    const server = await serving(
      rawServer((socket) => {
        socket.write('HTTP/1.1 200 OK\r\nX: ');
        const timer = setInterval(() => socket.write('x'), 50);
        socket.on('close', () => clearInterval(timer));
      }),
    );
    const slow = limited({ idleMilliseconds: 300, totalMilliseconds: 900 });
    expect(await catchFailure(slow.fetch(asking(server.origin)))).toMatchObject({ problem: 'too-slow' });
  });

  it('fails at the timeout if it repeats 100 Continue', async () => {
    const server = await serving(
      rawServer((socket) => {
        const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 50);
        socket.on('close', () => clearInterval(timer));
      }),
    );
    const slow = limited({ idleMilliseconds: 300, totalMilliseconds: 900 });
    expect(await catchFailure(slow.fetch(asking(server.origin)))).toMatchObject({ problem: 'too-slow' });
  });

  it('fails at the connect timeout without a TLS handshake', async () => {
    const server = await serving(rawServer(() => undefined));
    const url = `https://127.0.0.1:${server.port}/`;
    const failure = await catchFailure(limited({ connectMilliseconds: 400 }).fetch(asking(url)));
    expect(failure).toMatchObject({
      problem: 'too-slow',
      message: '127.0.0.1 took longer than 0.4 s to connect',
    });
  });

  it('fails at the connect timeout if DNS does not respond', async () => {
    const lost = testFetcher(folder, {
      limits: { connectMilliseconds: 200 },
      resolve: () => new Promise(() => undefined),
    });
    expect(await catchFailure(lost.fetch(asking('http://vendor.example/')))).toMatchObject({
      problem: 'too-slow',
      message: 'vendor.example took longer than 0.2 s to connect',
    });
  });

  it('is not waited for after an abort', async () => {
    const server = await serving(rawServer(() => undefined));
    const asked = asking(server.origin, { signal: AbortSignal.timeout(50) });
    const failure = await catchFailure(impatient.fetch(asked));
    expect(failure).toMatchObject({ problem: 'internal', message: 'the fetch was aborted' });
    const over = asking(server.origin, { signal: AbortSignal.abort() });
    expect(await catchFailure(impatient.fetch(over))).toMatchObject({ problem: 'internal' });
  });
});

describe('an unreachable server', () => {
  it('is reported with host, port and reason', async () => {
    const server = await httpServer(() => undefined);
    await server.close();
    expect(await catchFailure(fetcher.fetch(asking(server.origin)))).toMatchObject({
      problem: 'unreachable',
      message: `cannot reach 127.0.0.1:${server.port}: connection refused`,
      hint: 'Check that the server is running and that its port is reachable.',
    });
    const nameless = testFetcher(folder, {
      resolve: async () => {
        throw Object.assign(new Error('none'), { code: 'ENOTFOUND' });
      },
    });
    expect(await catchFailure(nameless.fetch(asking('http://vendor.invalid/c.yaml')))).toMatchObject({
      problem: 'unreachable',
      message: 'cannot reach vendor.invalid: no such host',
      hint: expect.stringContaining('the DNS server of this machine'),
    });
  });
});
