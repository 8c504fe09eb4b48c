import type { ServerResponse } from 'node:http';
import { artifactManifest, bundleManifest, computeDigest, MEDIA_TYPES, type OciDigest } from '@krmhub/oci';
import { afterEach, describe, expect, it } from 'vitest';
import type { FetcherOptions, FetchRequest } from './context.js';
import { catchFailure, httpServer, rawServer, type TestServer, testFetcher } from './testing/servers.js';

const LAYER = 'application/vnd.cncf.kubernetes.krm-func-catalog.layer.v1+yaml';
const CATALOG = Buffer.from('kind: KRMFunctionCatalog\n');
const servers: TestServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

type Answers = Record<string, { type?: string; body: Uint8Array } | ((response: ServerResponse) => void)>;

/** A registry with one repository, `team/catalog`. */
async function registry(answers: Answers) {
  const server = await httpServer((request, response) => {
    const answer = answers[request.url!.replace('/v2/team/catalog/', '')];
    if (answer === undefined) response.writeHead(404).end();
    else if (typeof answer === 'function') answer(response);
    else
      response.writeHead(200, { 'Content-Type': answer.type ?? 'application/octet-stream' }).end(answer.body);
  });
  servers.push(server);
  return server;
}

function createManifest(
  layers: { digest: OciDigest; size: number }[],
  type: 'catalog' | 'definition' = 'catalog',
) {
  const files = layers.map((layer) => ({ title: 'catalog.yaml', mediaType: LAYER, ...layer }));
  const body = Buffer.from(artifactManifest({ type, files }));
  return { type: MEDIA_TYPES.image, body, digest: computeDigest(body) };
}

const layer = { digest: computeDigest(CATALOG), size: CATALOG.byteLength };
const manifest = createManifest([layer]);

function catalogAnswers(): Answers {
  return { 'manifests/v1': manifest, [`blobs/${layer.digest}`]: { body: CATALOG } };
}

function asking(host: string, more: Partial<FetchRequest> = {}): FetchRequest {
  return { address: { type: 'oci', reference: `${host}/team/catalog:v1` }, bundles: false, ...more };
}

function fetcher(options: Partial<FetcherOptions> = {}) {
  return testFetcher('/nonexistent', options);
}

const hostAddress = ({ port }: TestServer) => `127.0.0.1:${port}`;
const text = (bytes: Uint8Array | undefined) =>
  bytes === undefined ? undefined : Buffer.from(bytes).toString();

describe('an OCI source', () => {
  it('is not read again while its manifest is unchanged', async () => {
    const server = await registry(catalogAnswers());
    const progress: number[] = [];
    const first = await fetcher().fetch(
      asking(hostAddress(server), { onProgress: (bytes) => progress.push(bytes) }),
    );
    expect(text(first.bytes)).toBe(CATALOG.toString());
    expect(first).toMatchObject({ manifest: manifest.digest, bundles: [] });
    expect(progress.at(-1)).toBe(CATALOG.length);
    const before = server.asked.length;
    const second = await fetcher().fetch(asking(hostAddress(server), { validators: first.validators }));
    expect(second).toEqual({ validators: first.validators, bundles: [], manifest: manifest.digest });
    expect(server.asked.slice(before).map(({ url }) => url)).toEqual(['/v2/team/catalog/manifests/v1']);
  });

  it('is read with its bundles, and without referrers of other manifests', async () => {
    const subject = { mediaType: MEDIA_TYPES.image, digest: manifest.digest, size: manifest.body.length };
    const bundled = (body: string, of = subject) => {
      const bytes = Buffer.from(body);
      const bundle = { digest: computeDigest(bytes), size: bytes.length };
      const record = bundleManifest({
        subject: of,
        bundle,
        predicateType: 'x',
        created: '2026-01-01T00:00:00Z',
      });
      return { bytes, record };
    };
    const good = bundled('good');
    const foreign = bundled('foreign', { ...subject, digest: computeDigest(Buffer.from('else')) });
    const lying = bundled('lying');
    const absent = bundled('absent');
    const listed = [foreign, lying, absent, good].map(({ record }) => ({
      mediaType: record.mediaType,
      digest: record.digest,
      size: record.size,
      artifactType: record.artifactType,
    }));
    const server = await registry({
      ...catalogAnswers(),
      [`referrers/${manifest.digest}`]: {
        type: MEDIA_TYPES.index,
        body: Buffer.from(
          JSON.stringify({ schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests: listed }),
        ),
      },
      ...Object.fromEntries(
        [good, foreign, lying].map(({ record }) => [
          `manifests/${record.digest}`,
          { type: record.mediaType, body: record.bytes },
        ]),
      ),
      [`blobs/${computeDigest(good.bytes)}`]: { body: good.bytes },
      [`blobs/${computeDigest(foreign.bytes)}`]: { body: foreign.bytes },
      [`blobs/${computeDigest(lying.bytes)}`]: { body: Buffer.from('changed') },
    });
    const first = await fetcher().fetch(asking(hostAddress(server), { bundles: true }));
    expect(first.bundles.map(text)).toEqual(['good']);
    const second = await fetcher().fetch(
      asking(hostAddress(server), { bundles: true, validators: first.validators }),
    );
    expect([second.bytes, second.bundles.map(text)]).toEqual([undefined, ['good']]);
    const none = await fetcher({ limits: { maxBundles: 0 } }).fetch(
      asking(hostAddress(server), { bundles: true }),
    );
    expect(none.bundles).toEqual([]);
  });

  it('is rejected if it is not a catalog', async () => {
    const other = createManifest([layer], 'definition');
    const two = createManifest([layer, layer]);
    const server = await registry({ 'manifests/v1': other });
    expect(await catchFailure(fetcher().fetch(asking(hostAddress(server))))).toMatchObject({
      problem: 'bad-answer',
      message: `${hostAddress(server)}/team/catalog:v1 is not a catalog: its type is definition`,
    });
    const several = await registry({ 'manifests/v1': two });
    expect(await catchFailure(fetcher().fetch(asking(hostAddress(several))))).toMatchObject({
      problem: 'bad-answer',
    });
    const empty = await registry({});
    expect(await catchFailure(fetcher().fetch(asking(hostAddress(empty))))).toMatchObject({
      problem: 'not-found',
      message: expect.stringMatching(/^.+:.+ not found: .+ responded with 404/),
    });
    const page = await registry({ 'manifests/v1': { type: 'text/html', body: Buffer.from('<html>') } });
    expect(await catchFailure(fetcher().fetch(asking(hostAddress(page))))).toMatchObject({
      problem: 'bad-answer',
    });
  });
});

describe('a hostile registry', () => {
  it('is detected by a wrong digest or size', async () => {
    for (const body of ['kind: KRMFunctionCatalog!', 'short', 'x'.repeat(10_000)]) {
      const server = await registry({
        ...catalogAnswers(),
        [`blobs/${layer.digest}`]: { body: Buffer.from(body) },
      });
      expect(await catchFailure(fetcher().fetch(asking(hostAddress(server))))).toMatchObject({
        problem: 'bad-answer',
        // As if it had been pulled.
        code: 'digest-mismatch',
      });
    }
    const pinned = await registry({ [`manifests/${manifest.digest}`]: createManifest([]) });
    const reference = `${hostAddress(pinned)}/team/catalog@${manifest.digest}`;
    expect(
      await catchFailure(fetcher().fetch({ address: { type: 'oci', reference }, bundles: false })),
    ).toMatchObject({ problem: 'bad-answer' });
  });

  it('cannot send more than the declared size or the limit', async () => {
    const large = createManifest([{ digest: layer.digest, size: 1e12 }]);
    const server = await registry({ 'manifests/v1': large });
    expect(await catchFailure(fetcher().fetch(asking(hostAddress(server))))).toMatchObject({
      problem: 'too-large',
      message: `${hostAddress(server)}/team/catalog:v1 is larger than 67108864 bytes`,
    });
    expect(server.asked).toHaveLength(1);
    let written = 0;
    const endless = await registry({
      ...catalogAnswers(),
      [`blobs/${layer.digest}`]: (response) => {
        const piece = Buffer.alloc(65_536);
        const more = () => {
          while (!response.destroyed && written < 1e9) {
            written += piece.length;
            if (!response.write(piece)) return;
          }
        };
        response.on('drain', more);
        more();
      },
    });
    expect(await catchFailure(fetcher().fetch(asking(hostAddress(endless))))).toMatchObject({
      problem: 'bad-answer',
    });
    expect(written).toBeLessThan(50_000_000);
    const manifests = await registry({
      'manifests/v1': { type: MEDIA_TYPES.image, body: Buffer.alloc(5_000_000, ' ') },
    });
    expect(await catchFailure(fetcher().fetch(asking(hostAddress(manifests))))).toMatchObject({
      problem: 'too-large',
    });
  });

  it('cannot redirect to private addresses, also not for tokens', async () => {
    for (const inside of ['http://169.254.169.254/token', 'http://10.0.0.1/token', 'http://[::1]:1/token']) {
      const tokens = await registry({
        'manifests/v1': (response) =>
          response.writeHead(401, { 'WWW-Authenticate': `Bearer realm="${inside}",service="x"` }).end(),
      });
      expect(await catchFailure(fetcher().fetch(asking(hostAddress(tokens))))).toMatchObject({
        problem: 'forbidden-address',
      });
      const redirects = await registry({
        ...catalogAnswers(),
        [`blobs/${layer.digest}`]: (response) => response.writeHead(307, { Location: inside }).end(),
      });
      expect(await catchFailure(fetcher().fetch(asking(hostAddress(redirects))))).toMatchObject({
        problem: 'forbidden-address',
      });
    }
    const names = await registry({
      'manifests/v1': (response) =>
        response.writeHead(401, { 'WWW-Authenticate': 'Bearer realm="http://tokens.example/"' }).end(),
    });
    const inside = fetcher({ resolve: async () => [{ address: '192.168.0.1', family: 4 }] });
    expect(await catchFailure(inside.fetch(asking(hostAddress(names))))).toMatchObject({
      problem: 'forbidden-address',
      message: 'tokens.example (192.168.0.1) is not an address of the public Internet',
    });
  });

  it('cannot cause endless redirects', async () => {
    const server = await registry({
      'manifests/v1': (response) =>
        response.writeHead(307, { Location: '/v2/team/catalog/manifests/v1' }).end(),
    });
    expect(await catchFailure(fetcher().fetch(asking(hostAddress(server))))).toMatchObject({
      problem: 'too-many-redirects',
    });
    expect(server.asked).toHaveLength(4);
  });

  it('does not get credentials of another registry', async () => {
    const elsewhere = await registry({});
    const server = await registry({
      ...catalogAnswers(),
      'manifests/v1': (response) =>
        response.req.headers.authorization === undefined
          ? response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="x"' }).end()
          : response.writeHead(307, { Location: `http://${hostAddress(elsewhere)}/v2/x` }).end(),
    });
    const origins: string[] = [];
    const known = fetcher({
      credentials: async (origin) => {
        origins.push(origin);
        return { username: 'reader', password: 'secret' };
      },
    });
    expect(await catchFailure(known.fetch(asking(hostAddress(server))))).toMatchObject({
      problem: 'not-found',
    });
    expect(origins).toEqual([`http://${hostAddress(server)}`]);
    expect(elsewhere.asked.map(({ headers }) => headers.authorization)).toEqual([undefined]);
    const stranger = await catchFailure(fetcher().fetch(asking(hostAddress(server))));
    expect(stranger).toMatchObject({ problem: 'unauthorized' });
    expect(stranger.hint).not.toContain('docker');
  });

  it('does not get credentials sent to the token service of another host, unless that is allowed', async () => {
    const sent: (string | undefined)[] = [];
    const thief = await httpServer((request, response) => {
      sent.push(request.headers.authorization);
      response.end('{"token":"good"}');
    });
    servers.push(thief);
    const challenge = `Bearer realm="http://${hostAddress(thief)}/token",service="x"`;
    const server = await registry({
      ...catalogAnswers(),
      'manifests/v1': (response) =>
        response.req.headers.authorization === 'Bearer good'
          ? response.writeHead(200, { 'Content-Type': manifest.type }).end(manifest.body)
          : response.writeHead(401, { 'WWW-Authenticate': challenge }).end(),
    });
    const fetching = (tokenServices?: string[]) =>
      fetcher({
        credentials: async () => ({
          username: 'reader',
          password: 'secret',
          ...(tokenServices === undefined ? {} : { tokenServices }),
        }),
      }).fetch(asking(hostAddress(server)));
    const failure = await catchFailure(fetching());
    expect(failure).toMatchObject({
      problem: 'unauthorized',
      message: expect.stringContaining(`a token service on another host, http://${hostAddress(thief)}`),
    });
    expect(failure.hint).toContain(`tokenServices in the source credentials for ${hostAddress(server)}`);
    await catchFailure(fetching([`http://${hostAddress(server)}`]));
    expect(sent).toEqual([]);
    expect(text((await fetching([`http://${hostAddress(thief)}`])).bytes)).toBe(CATALOG.toString());
    expect(sent).toEqual([`Basic ${Buffer.from('reader:secret').toString('base64')}`]);
    expect(text((await fetcher().fetch(asking(hostAddress(server)))).bytes)).toBe(CATALOG.toString());
    expect(sent.slice(1)).toEqual([undefined]);
  });

  it('fails at the timeout', async () => {
    const still = await rawServer(() => undefined);
    servers.push(still);
    const idle = fetcher({ limits: { idleMilliseconds: 100, totalMilliseconds: 700 } });
    const first = await catchFailure(idle.fetch(asking(hostAddress(still))));
    expect(first.problem).toBe('too-slow');
    const total = fetcher({ limits: { totalMilliseconds: 300 } });
    expect(await catchFailure(total.fetch(asking(hostAddress(still))))).toMatchObject({
      problem: 'too-slow',
      message: `${hostAddress(still)} took longer than 0.3 s in total`,
    });
    const drips = await registry({
      ...catalogAnswers(),
      [`blobs/${layer.digest}`]: (response) => {
        const timer = setInterval(() => response.write('k'), 50);
        response.on('close', () => clearInterval(timer));
      },
    });
    expect(await catchFailure(total.fetch(asking(hostAddress(drips))))).toMatchObject({
      problem: 'too-slow',
    });
  });

  it('cannot delay the fetch beyond the deadline with Retry-After', async () => {
    const busy = await registry({
      'manifests/v1': (response) => response.writeHead(503, { 'Retry-After': '3600' }).end(),
    });
    expect(
      await catchFailure(fetcher({ limits: { totalMilliseconds: 300 } }).fetch(asking(hostAddress(busy)))),
    ).toMatchObject({ problem: 'unreachable', message: expect.stringContaining('responded with 503') });
  });
});
