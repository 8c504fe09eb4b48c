import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createOciClient } from '../../apps/cli/src/registry/connect-oci.js';
import { connect } from '../../apps/cli/src/registry/connection.js';
import { saveToken } from '../../apps/cli/src/registry/credentials.js';
import { sourceFetcher } from '../../apps/cli/src/registry/source-fetcher.js';
import { temporaryFolder, testIo } from '../../apps/cli/src/testing/command-line.js';
import { untrustedCertificate } from '../../packages/sources/src/testing/certificate.js';

/**
 * What is sent to which server, for every kind of credentials and every way in which a URL can lead elsewhere. The
 * servers are real: two ports of 127.0.0.1, of which the first also is `localhost`, one with TLS, and a proxy that
 * answers for machines that are not this one.
 */

interface Site {
  /** `http://127.0.0.1:PORT` */
  origin: string;
  port: number;
  /** `PATH AUTHORIZATION` of each request. */
  seen: string[];
  server: Server;
}

const TOKEN = `krmhub_${'7'.repeat(72)}`;
const folder = temporaryFolder();
let home: string;
let first: Site;
let second: Site;
let secure: Site;
let proxy: Site;

/**
 * `/private` and `/hidden` require credentials, with 401 and 404; `/forbidden` answers 403 to all; `/to/URL` redirects;
 * and everything else is public. OCI and the API have such answers too.
 */
function answer(seen: string[]): RequestListener {
  return (request, response) => {
    const { authorization } = request.headers;
    const url = new URL(request.url ?? '', 'http://proxied');
    const target = request.url?.startsWith('http') === true ? url.href : url.pathname;
    seen.push(`${target} ${authorization ?? 'anonymous'}`);
    const isAnonymous = authorization === undefined;
    if (url.pathname.startsWith('/to/')) {
      response.writeHead(302, { location: decodeURIComponent(url.pathname.slice('/to/'.length)) }).end();
    } else if (url.pathname.endsWith('/forbidden')) response.writeHead(403).end();
    else if (isAnonymous && /\/private|^\/v2\//.test(url.pathname)) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
    } else if (isAnonymous && url.pathname.endsWith('/hidden')) response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  };
}

async function open(create: (listener: RequestListener) => Server, scheme = 'http'): Promise<Site> {
  const seen: string[] = [];
  const server = create(answer(seen));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { origin: `${scheme}://127.0.0.1:${port}`, port, seen, server };
}

beforeAll(async () => {
  const certificate = untrustedCertificate(folder);
  [first, second, proxy] = await Promise.all([open(createServer), open(createServer), open(createServer)]);
  secure = await open((listener) => createTlsServer(certificate, listener), 'https');
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
});
afterAll(() => {
  vi.unstubAllEnvs();
  for (const { server } of [first, second, secure, proxy]) {
    server.close();
    server.closeAllConnections();
  }
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  home = temporaryFolder();
});
afterEach(() => {
  for (const { seen } of [first, second, secure, proxy]) seen.length = 0;
  rmSync(home, { recursive: true, force: true });
});

type Kind = 'KRMHUB_TOKEN' | 'krmhub login' | 'docker login' | '.netrc';
const KINDS: readonly Kind[] = ['KRMHUB_TOKEN', 'krmhub login', 'docker login', '.netrc'];
const isOwn = (kind: Kind) => kind.startsWith('K') || kind.startsWith('k');
const basic = (user: string, password: string) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

/** What a request of a file over HTTP, of an OCI artifact, and of the API has that may have credentials. */
const SENT: Record<Kind, Record<'http' | 'oci' | 'api', string>> = {
  KRMHUB_TOKEN: { http: `Bearer ${TOKEN}`, oci: basic('krmhub', TOKEN), api: `Bearer ${TOKEN}` },
  'krmhub login': { http: `Bearer ${TOKEN}`, oci: basic('krmhub', TOKEN), api: `Bearer ${TOKEN}` },
  'docker login': { http: basic('u', 'docker'), oci: basic('u', 'docker'), api: 'anonymous' },
  '.netrc': { http: basic('u', 'netrc'), oci: 'anonymous', api: 'anonymous' },
};

/** The user, who has one kind of credentials for an origin. */
async function user(kind: Kind, origin: string, env: Record<string, string> = {}) {
  const { host, hostname } = new URL(origin);
  const own = kind === 'KRMHUB_TOKEN' ? { KRMHUB_REGISTRY: origin, KRMHUB_TOKEN: TOKEN } : {};
  const io = testIo({ env: { HOME: home, ...own, ...env } });
  if (kind === 'krmhub login') await saveToken(io, new URL(origin), TOKEN);
  if (kind === 'docker login') {
    mkdirSync(path.join(home, '.docker'));
    const auths = { [host]: { username: 'u', password: 'docker' } };
    writeFileSync(path.join(home, '.docker/config.json'), JSON.stringify({ auths }));
  }
  if (kind === '.netrc') {
    const text = `default login anyone password everywhere\nmachine ${hostname} login u password netrc\n`;
    writeFileSync(path.join(home, '.netrc'), text, { mode: 0o600 });
  }
  return io;
}

type User = Awaited<ReturnType<typeof user>>;
const fetcher = (io: User) => sourceFetcher(io, { temporaryFolder: folder });

/** Reads a URL in both ways in which files are read; gives the error of the last. */
async function read(io: User, url: string): Promise<KrmhubError | undefined> {
  const one = fetcher(io);
  const address = { type: 'http' as const, url };
  const platform = { os: 'linux', architecture: 'amd64' };
  await failure(one.fetch({ address, bundles: false }));
  const drained = async (body: AsyncIterable<Uint8Array>) => {
    for await (const _ of body);
  };
  return failure(one.download({ address, platform, maxBytes: 1_000 }, drained));
}

async function failure(work: Promise<unknown>): Promise<KrmhubError | undefined> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error !== undefined && !(error instanceof KrmhubError)) throw error;
  return error;
}

const manifest = (io: User, registry: string) =>
  failure(createOciClient(io).manifest({ registry, repository: 'a', tag: 'v1' }));

/** Pairs of an anonymous request, and the same with credentials; the second read of a URL needs no first one. */
const asked = (target: string, sent: string) => [
  `${target} anonymous`,
  `${target} ${sent}`,
  `${target} ${sent}`,
];

describe.each(KINDS)('%s', (kind) => {
  const { http, oci, api } = SENT[kind];

  it('goes to its own origin where the server asks for it, and not with public reads', async () => {
    const io = await user(kind, first.origin);
    for (const name of ['/private', '/hidden', '/public']) await read(io, first.origin + name);
    expect(first.seen).toEqual([
      ...asked('/private', http),
      ...asked('/hidden', http),
      '/public anonymous',
      '/public anonymous',
    ]);
    first.seen.length = 0;
    // The path decides, not the query.
    const one = fetcher(io);
    for (const query of ['?a', '?b']) {
      await one.fetch({ address: { type: 'http', url: `${first.origin}/private${query}` }, bundles: false });
    }
    expect(first.seen).toEqual(asked('/private', http));
  });

  it('is refused once where it does not help, and the error says so', async () => {
    const io = await user(kind, first.origin);
    const error = await read(io, `${first.origin}/forbidden`);
    expect(first.seen).toEqual(asked('/forbidden', http));
    expect(error).toMatchObject({ code: 'unauthorized', hint: expect.stringContaining('allow access') });
  });

  it('goes to its own OCI registry', async () => {
    await manifest(await user(kind, first.origin), new URL(first.origin).host);
    const target = '/v2/a/manifests/v1';
    expect(first.seen.slice(0, 2)).toEqual(
      oci === 'anonymous' ? [`${target} anonymous`] : [`${target} anonymous`, `${target} ${oci}`],
    );
  });

  it('goes to the API of its own registry: with lists, and with what is refused', async () => {
    const client = await connect(await user(kind, first.origin), first.origin, {
      timeoutMilliseconds: 60_000,
    });
    await failure(client.catalogs());
    await failure(client.catalog('public'));
    await failure(client.catalog('private'));
    expect(first.seen).toEqual([
      `/api/v1/catalogs ${api}`,
      '/api/v1/catalogs/public anonymous',
      '/api/v1/catalogs/private anonymous',
      ...(api === 'anonymous' ? [] : [`/api/v1/catalogs/private ${api}`]),
    ]);
  });

  it.each([
    ['another port', () => second.origin, () => second],
    ['another name of the same machine', () => `http://localhost:${first.port}`, () => first],
    ['another scheme', () => secure.origin, () => secure],
  ])('goes to no other origin: %s', async (_, origin, site) => {
    const io = await user(kind, first.origin);
    await read(io, `${origin()}/private`);
    await manifest(io, new URL(origin()).host);
    const client = await connect(io, origin(), { timeoutMilliseconds: 60_000 });
    await failure(client.catalogs());
    await failure(client.catalog('private'));
    // `.netrc` names a machine, and not a port.
    const isSame = kind === '.netrc' && new URL(origin()).hostname === '127.0.0.1';
    const sent = site().seen.filter((one) => !one.endsWith(' anonymous'));
    expect(sent).toEqual(isSame ? [`/private ${http}`, `/private ${http}`] : []);
    expect(site().seen).toContain('/private anonymous');
  });

  it('follows a redirect to the same origin only', async () => {
    const io = await user(kind, first.origin);
    const to = (url: string) => `/to/${encodeURIComponent(url)}`;
    await read(io, `${first.origin}${to('/private')}`);
    expect(first.seen.filter((one) => one.startsWith('/private'))).toEqual(asked('/private', http));
    first.seen.length = 0;
    await read(io, `${first.origin}${to(`${second.origin}/private`)}`);
    await read(io, `${first.origin}${to(`http://localhost:${first.port}/private`)}`);
    // Another server chose the target, even if it is the first one.
    await read(io, `${first.origin}${to(`${second.origin}${to(`${first.origin}/private`)}`)}`);
    const client = await connect(io, `${first.origin}${to(second.origin)}`, { timeoutMilliseconds: 60_000 });
    const error = await failure(client.catalog('private'));
    expect(error?.message).toContain('redirects to');
    expect([...first.seen, ...second.seen].filter((one) => !one.endsWith(' anonymous'))).toEqual([]);
    expect(first.seen).toContain('/private anonymous');
    expect(second.seen).toContain('/private anonymous');
  });

  it('stays with TLS, also if the server redirects to the same host without it', async () => {
    const io = await user(kind, secure.origin);
    await read(io, `${secure.origin}/private`);
    expect(secure.seen).toEqual(asked('/private', http));
    const error = await read(io, `${secure.origin}/to/${encodeURIComponent(`${first.origin}/private`)}`);
    expect(error).toMatchObject({ code: 'forbidden', message: expect.stringContaining('does not use TLS') });
    expect(first.seen).toEqual([]);
  });

  it('is not looked up for a URL with a user, which is refused', async () => {
    const io = await user(kind, first.origin);
    const url = first.origin.replace('//', '//user:password@');
    expect(
      await failure(fetcher(io).fetch({ address: { type: 'http', url }, bundles: false })),
    ).toBeDefined();
    expect(await failure(connect(io, url))).toMatchObject({ code: 'usage' });
    expect(first.seen).toEqual([]);
  });

  it('does not go to another machine without TLS, unless the user allows it', async () => {
    const remote = 'http://krm.internal.example';
    for (const name of ['http_proxy', 'HTTP_PROXY']) vi.stubEnv(name, proxy.origin);
    const env = { http_proxy: proxy.origin };
    const io = await user(kind, remote, env);
    const error = await read(io, `${remote}/private`);
    expect(error).toMatchObject({
      code: 'unauthorized',
      message: 'cannot send credentials to krm.internal.example: the connection has no TLS',
      hint: 'Use https, or allow it: KRMHUB_PLAIN_HTTP=krm.internal.example',
    });
    await read(io, `${remote}/hidden`);
    const client = await connect(io, remote, { timeoutMilliseconds: 60_000 });
    await failure(client.catalogs());
    const refused = await failure(client.catalog('private'));
    if (isOwn(kind)) expect(refused?.message).toContain('the connection has no TLS');
    expect(proxy.seen.filter((one) => !one.endsWith(' anonymous'))).toEqual([]);
    expect(new Set(proxy.seen)).toContain(`${remote}/private anonymous`);
    proxy.seen.length = 0;
    const allowed = { ...io, env: { ...io.env, KRMHUB_PLAIN_HTTP: 'krm.internal.example' } };
    await read(allowed, `${remote}/private`);
    expect(proxy.seen).toEqual(asked(`${remote}/private`, http));
  });
});
