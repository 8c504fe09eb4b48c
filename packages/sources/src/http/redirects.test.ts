import type { LookupAddress } from 'node:dns';
import { Agent } from 'node:http';
import { createServer } from 'node:https';
import { connect } from 'node:net';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { FetchRequest } from '../context.js';
import { untrustedCertificate } from '../testing/certificate.js';
import {
  catchFailure,
  httpServer,
  type TestServer,
  temporaryFolder,
  testFetcher,
} from '../testing/servers.js';

const { folder, remove } = temporaryFolder();
const servers: TestServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});
afterAll(remove);

async function serving(answers: (path: string) => string | undefined) {
  const server = await httpServer((request, response) => {
    const location = answers(request.url!);
    if (location === undefined) response.end(`from ${request.url}`);
    else response.writeHead(302, { Location: location }).end();
  });
  servers.push(server);
  return server;
}

function asking(url: string): FetchRequest {
  return { address: { type: 'http', url }, bundles: false };
}

const loopback: LookupAddress[] = [{ address: '127.0.0.1', family: 4 }];

describe('redirects', () => {
  it('through a proxy lead to no private address', async () => {
    const server = await serving((path) => (path === '/inward' ? 'http://10.0.0.1/' : undefined));
    class ToServer extends Agent {
      override createConnection() {
        return connect(server.port, '127.0.0.1');
      }
    }
    const fetcher = testFetcher(folder, {
      allowedAddresses: 'as-named',
      resolve: async () => Promise.reject(new Error('only the proxy knows names')),
      proxy: async () => ({ url: server.origin, agent: new ToServer() }),
    });
    const { bytes } = await fetcher.fetch(asking('http://catalog.example/outward'));
    expect(Buffer.from(bytes!).toString()).toBe('from /outward');
    const failure = await catchFailure(fetcher.fetch(asking('http://catalog.example/inward')));
    expect(failure).toMatchObject({ problem: 'forbidden-address' });
    expect(server.asked.map(({ url }) => url)).toEqual(['/outward', '/inward']);
  });

  it('are followed three times at most', async () => {
    const server = await serving((path) => (path === '/0' ? undefined : `/${Number(path.slice(1)) - 1}`));
    const fetcher = testFetcher(folder);
    const { bytes } = await fetcher.fetch(asking(`${server.origin}/3`));
    expect(Buffer.from(bytes!).toString()).toBe('from /0');
    expect(await catchFailure(fetcher.fetch(asking(`${server.origin}/4`)))).toMatchObject({
      problem: 'too-many-redirects',
      message: `127.0.0.1:${server.port}: more than 3 redirects`,
    });
  });

  it('in a loop are reported without a retry', async () => {
    const server = await serving(() => '/');
    expect(await catchFailure(testFetcher(folder).fetch(asking(server.origin)))).toMatchObject({
      problem: 'too-many-redirects',
    });
    expect(server.asked).toHaveLength(4);
  });

  it.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://10.0.0.1/',
    'http://[::1]/',
    'http://[::ffff:169.254.169.254]/',
    'http://2852039166/',
    'http://0x7f.2/',
    'http://0/',
  ])('to %s are not followed', async (location) => {
    const server = await serving(() => location);
    expect(await catchFailure(testFetcher(folder).fetch(asking(server.origin)))).toMatchObject({
      problem: 'forbidden-address',
      code: 'forbidden',
    });
  });

  it.each(['file:///etc/passwd', 'ftp://127.0.0.1/', 'gopher://127.0.0.1/', 'data:text/yaml,a'])(
    'to %s are not followed',
    async (location) => {
      const server = await serving(() => location);
      expect(await catchFailure(testFetcher(folder).fetch(asking(server.origin)))).toMatchObject({
        problem: 'forbidden-address',
      });
    },
  );

  it('to a name with a private address are not followed', async () => {
    const server = await serving(() => 'http://looks-public.example/');
    const names: string[] = [];
    const fetcher = testFetcher(folder, {
      resolve: async (name) => {
        names.push(name);
        return [{ address: '10.0.0.1', family: 4 }];
      },
    });
    expect(await catchFailure(fetcher.fetch(asking(server.origin)))).toMatchObject({
      problem: 'forbidden-address',
      message: 'looks-public.example (10.0.0.1) is not an address of the public Internet',
    });
    expect(names).toEqual(['looks-public.example']);
  });

  it('cannot use DNS rebinding', async () => {
    const server = await serving((path) => (path === '/' ? '/again' : undefined));
    let looks = 0;
    const fetcher = testFetcher(folder, {
      resolve: async () => (looks++ === 0 ? loopback : [{ address: '169.254.169.254', family: 4 }]),
    });
    const url = `http://rebinding.example:${server.port}/`;
    expect(await catchFailure(fetcher.fetch(asking(url)))).toMatchObject({ problem: 'forbidden-address' });
    expect(looks).toBe(2);
    expect(server.asked).toHaveLength(1);
  });

  it('from https to http are not followed', async () => {
    const server = createServer(untrustedCertificate(folder), (_, response) =>
      response.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end(),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    try {
      const url = `https://127.0.0.1:${port}/`;
      expect(await catchFailure(testFetcher(folder).fetch(asking(url)))).toMatchObject({
        problem: 'unreachable',
        message: `cannot reach 127.0.0.1:${port}: the certificate is self-signed`,
        hint: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
      });
      process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
      expect(await catchFailure(testFetcher(folder).fetch(asking(url)))).toMatchObject({
        problem: 'forbidden-address',
        message: `127.0.0.1:${port} redirects to http://127.0.0.1:1, which does not use TLS`,
      });
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      server.close();
    }
  });
});

describe('credentials', () => {
  const credentials = async () => ({ username: 'reader', password: 'secret' });

  it('that are sent only if the server asks are not sent with a read that needs none', async () => {
    const server = await httpServer((request, response) => {
      const isAllowed = request.url === '/public' || request.headers.authorization !== undefined;
      response.writeHead(isAllowed ? 200 : 401).end('catalog');
    });
    servers.push(server);
    const fetcher = testFetcher(folder, {
      credentials: async (_, { refused }) => (refused === undefined ? undefined : { token: 'abc' }),
    });
    await fetcher.fetch(asking(`${server.origin}/public`));
    await fetcher.fetch(asking(`${server.origin}/private`));
    expect(server.asked.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ['/public', undefined],
      ['/private', undefined],
      ['/private', 'Bearer abc'],
    ]);
  });

  it('are sent to their origin only, and not after a redirect back to it', async () => {
    const names = { resolve: async () => loopback };
    const second = await serving((path) =>
      path === '/back' ? `http://first.example:${first.port}/end` : undefined,
    );
    const first = await serving((path) => {
      if (path === '/own') return '/kept';
      if (path === '/away') return `http://second.example:${second.port}/there`;
      return path === '/around' ? `http://second.example:${second.port}/back` : undefined;
    });
    const asked: string[] = [];
    const fetcher = testFetcher(folder, {
      ...names,
      credentials: async (origin) => {
        asked.push(origin);
        return credentials();
      },
    });
    const origin = `http://first.example:${first.port}`;
    for (const path of ['/own', '/away', '/around']) await fetcher.fetch(asking(`${origin}${path}`));
    const basic = `Basic ${Buffer.from('reader:secret').toString('base64')}`;
    expect(first.asked.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ['/own', basic],
      ['/kept', basic],
      ['/away', basic],
      ['/around', basic],
      ['/end', undefined],
    ]);
    expect(second.asked.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ['/there', undefined],
      ['/back', undefined],
    ]);
    expect(asked).toEqual([origin, origin, origin]);
  });

  it('can be a token, and the hint says whether there were any', async () => {
    const server = await httpServer((_, response) => response.writeHead(401).end());
    servers.push(server);
    const known = testFetcher(folder, { credentials: async () => ({ token: 'abc' }) });
    const failure = await catchFailure(known.fetch(asking(server.origin)));
    expect(server.asked[0]!.headers.authorization).toBe('Bearer abc');
    expect(failure.hint).toBe(`Check that the credentials for ${server.origin} allow access.`);
    const stranger = await catchFailure(testFetcher(folder).fetch(asking(server.origin)));
    expect(stranger.hint).toBe(`Configure credentials for ${server.origin} if the server requires them.`);
  });
});
