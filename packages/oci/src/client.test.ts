import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { OciClient } from './client.js';
import { toContent } from './connection.js';
import { computeDigest } from './digest.js';
import { MAX_MANIFEST_BYTES, MEDIA_TYPES } from './manifest.js';
import { type Script, type ScriptedServer, scriptedServer } from './testing/scripted-server.js';

const bytes = (text: string) => new TextEncoder().encode(text);
const BLOB = bytes('the bytes of a blob');
const DIGEST = computeDigest(BLOB);
const index = bytes(JSON.stringify({ schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests: [] }));

const servers: ScriptedServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function serve(script: Script): Promise<ScriptedServer> {
  const server = await scriptedServer(script);
  servers.push(server);
  return server;
}

function createClient(options: Partial<ConstructorParameters<typeof OciClient>[0]> = {}): OciClient {
  return new OciClient({
    userAgent: 'test',
    plainHttp: () => true,
    credentials: async () => ({ username: 'user', password: 'password' }),
    ...options,
  });
}

async function read(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all).toString();
}

/** Credentials that may also be sent to a token service on another host. */
const allowing =
  ({ host }: ScriptedServer) =>
  async () => ({ username: 'user', password: 'password', tokenServices: [`http://${host}`] });
const place = ({ host }: ScriptedServer) => ({ registry: host, repository: 'team/x' });
const BASIC = `Basic ${Buffer.from('user:password').toString('base64')}`;

describe('authentication', () => {
  it('follows the challenge of the registry and reuses the token', async () => {
    const tokens = await serve((_, response) => response.end('{"token":"good","expires_in":300}'));
    const registry = await serve((request, response) => {
      if (request.headers.authorization !== 'Bearer good') {
        const challenge = `Bearer realm="http://${tokens.host}/token",service="r"`;
        response.writeHead(401, { 'WWW-Authenticate': challenge }).end();
      } else response.writeHead(200, { 'Content-Type': MEDIA_TYPES.index }).end(index);
    });
    const client = createClient({ credentials: allowing(tokens) });
    for (const tag of ['1', '2', '3']) await client.manifest({ ...place(registry), tag });
    expect(registry.requests.map(({ authorization }) => authorization)).toEqual([
      undefined,
      'Bearer good',
      'Bearer good',
      'Bearer good',
    ]);
    expect(tokens.requests).toMatchObject([
      { request: 'GET /token?service=r&scope=repository%3Ateam%2Fx%3Apull', authorization: BASIC },
    ]);
  });

  it('uses basic authentication if the registry requires it, and does not repeat it', async () => {
    const registry = await serve((_, response) =>
      response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="r"' }).end(),
    );
    await expect(createClient().manifest({ ...place(registry), tag: '1' })).rejects.toMatchObject({
      code: 'unauthorized',
      hint: expect.stringContaining(`docker login ${registry.host}`),
    });
    expect(registry.requests.map(({ authorization }) => authorization)).toEqual([undefined, BASIC]);
  });

  it('gets a new token if the registry rejects the old one', async () => {
    let token = 0;
    const tokens = await serve((_, response) => response.end(`{"token":"t${++token}","expires_in":300}`));
    let good = 1;
    const registry = await serve((request, response) => {
      if (request.headers.authorization === `Bearer t${good}`) {
        response.writeHead(200, { 'Content-Type': MEDIA_TYPES.index }).end(index);
      } else {
        const challenge = `Bearer realm="http://${tokens.host}/token"`;
        response.writeHead(401, { 'WWW-Authenticate': challenge }).end();
      }
    });
    const client = createClient({ credentials: allowing(tokens) });
    await client.manifest({ ...place(registry), tag: '1' });
    good = 2;
    await client.manifest({ ...place(registry), tag: '1' });
    expect(token).toBe(2);
    good = 99;
    const refused = client.manifest({ ...place(registry), tag: '1' });
    await expect(refused).rejects.toMatchObject({ code: 'unauthorized' });
    expect(token).toBe(3);
  });

  it.each([{ username: 'user', password: 'password' }, { identityToken: 'password' }])(
    'is not sent to a token service on another host: %j',
    async (credentials) => {
      const thief = await serve((_, response) => response.end('{"token":"x"}'));
      const registry = await serve((_, response) =>
        response
          .writeHead(401, { 'WWW-Authenticate': `Bearer realm="http://${thief.host}/token",service="r"` })
          .end(),
      );
      const client = createClient({ credentials: async () => credentials });
      await expect(client.manifest({ ...place(registry), tag: '1' })).rejects.toMatchObject({
        code: 'unauthorized',
        message: expect.stringContaining(`a token service on another host, http://${thief.host}`),
        hint: expect.stringContaining(`KRMHUB_TOKEN_SERVICES=${registry.host}=http://${thief.host}`),
      });
      expect(thief.requests).toEqual([]);
      // Without credentials, there is nothing to steal.
      const anonymous = createClient({ credentials: async () => undefined });
      await expect(anonymous.manifest({ ...place(registry), tag: '1' })).rejects.toMatchObject({
        code: 'unauthorized',
      });
      expect(thief.requests).toMatchObject([{ authorization: undefined }]);
    },
  );

  it.each([
    ['the token service', 401, { username: 'user', password: 'password' }, true],
    ['the token service', 403, { username: 'user', password: 'password' }, false],
    ['the token service', 503, { username: 'user', password: 'password' }, false],
    ['the token service', 400, { identityToken: 'password' }, true],
    ['the token service', 401, undefined, false],
    ['the registry', 401, { username: 'user', password: 'password' }, true],
    ['the registry', 404, { username: 'user', password: 'password' }, false],
    // An access token is valid, but does not cover the repository.
    ['nobody', 401, { username: 'user', password: 'password' }, false],
  ])('is reported as refused by %s with %i for %j: %j', async (by, status, credentials, isReported) => {
    const registry: ScriptedServer = await serve((request, response) => {
      const realm = `http://${request.headers.host}/token`;
      const challenge = by === 'the registry' ? 'Basic realm="r"' : `Bearer realm="${realm}"`;
      if (request.url?.startsWith('/token')) {
        response.writeHead(by === 'nobody' ? 200 : status).end('{"token":"good"}');
      } else {
        const known = request.headers.authorization !== undefined;
        response.writeHead(known ? status : 401, { 'WWW-Authenticate': challenge }).end();
      }
    });
    const reported: unknown[] = [];
    const client = createClient({
      credentials: async () => credentials,
      onRefused: async (...refused) => void reported.push(refused),
      onRetry: (error) => {
        throw error;
      },
    });
    await expect(client.manifest({ ...place(registry), tag: '1' })).rejects.toThrow();
    expect(reported).toEqual(isReported ? [[registry.host, credentials]] : []);
  });

  it('is not sent where the token service of the registry redirects to', async () => {
    const thief = await serve((_, response) => response.end('{"token":"x"}'));
    const registry: ScriptedServer = await serve((request, response) => {
      if (request.url?.startsWith('/token')) {
        response.writeHead(307, { Location: `http://${thief.host}/token` }).end();
      } else {
        const realm = `http://${request.headers.host}/token`;
        response.writeHead(401, { 'WWW-Authenticate': `Bearer realm="${realm}"` }).end();
      }
    });
    await expect(createClient().manifest({ ...place(registry), tag: '1' })).rejects.toMatchObject({
      code: 'unreachable',
    });
    expect(thief.requests).toEqual([]);
  });

  it('is not sent to other hosts after a redirect or for an upload', async () => {
    const otherHost = await serve((request, response) => {
      if (request.method === 'GET') response.end(BLOB);
      else response.writeHead(201).end();
    });
    const registry = await serve((request, response) => {
      if (request.headers.authorization === undefined) {
        response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="r"' }).end();
      } else if (request.method === 'GET') {
        response.writeHead(307, { Location: `http://${otherHost.host}/signed` }).end();
      } else if (request.method === 'POST') {
        response.writeHead(202, { Location: `http://${otherHost.host}/upload?state=1` }).end();
      } else response.writeHead(404).end();
    });
    const client = createClient();
    expect(await read(await client.blob(place(registry), { digest: DIGEST, size: BLOB.length }))).toBe(
      Buffer.from(BLOB).toString(),
    );
    expect(await client.pushBlob(place(registry), DIGEST, toContent(BLOB))).toBe('sent');
    expect(otherHost.requests).toMatchObject([
      { request: 'GET /signed', authorization: undefined },
      {
        request: `PUT /upload?state=1&digest=${encodeURIComponent(DIGEST)}`,
        authorization: undefined,
        body: Buffer.from(BLOB),
      },
    ]);
  });
});

it('names a registry as the user wrote it where a token service must be allowed', async () => {
  const registry = await serve((_, response) =>
    response.writeHead(401, { 'WWW-Authenticate': 'Bearer realm="http://auth.example.com/token"' }).end(),
  );
  const typed = registry.host.replace('127.0.0.1', 'LocalHost');
  const asked = createClient().manifest({ registry: typed, repository: 'team/x', tag: '1' });
  await expect(asked).rejects.toMatchObject({
    message: expect.stringContaining(`${typed} uses a token service on another host`),
    hint: expect.stringContaining(`KRMHUB_TOKEN_SERVICES=${typed}=http://auth.example.com`),
  });
});

/** A registry that sends blobs to another host, which sends the client back to a path of its choice. */
async function thereAndBack(back: (request: IncomingMessage, response: ServerResponse) => void) {
  const thief: ScriptedServer = await serve((_, response) =>
    response.writeHead(307, { Location: `http://${registry.host}/chosen` }).end(),
  );
  const registry: ScriptedServer = await serve((request, response) => {
    if (request.url === '/chosen') back(request, response);
    else if (request.headers.authorization === undefined) {
      response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="r"' }).end();
    } else response.writeHead(307, { Location: `http://${thief.host}/blob` }).end();
  });
  return registry;
}

it('sends no credentials back to the registry where another host chose the target', async () => {
  const registry = await thereAndBack((_, response) => response.end(BLOB));
  const blob = await createClient().blob(place(registry), { digest: DIGEST, size: BLOB.length });
  expect(await read(blob)).toBe(Buffer.from(BLOB).toString());
  expect(registry.requests.map(({ request, authorization }) => [request, authorization])).toEqual([
    [`GET /v2/team/x/blobs/${DIGEST}`, undefined],
    [`GET /v2/team/x/blobs/${DIGEST}`, BASIC],
    ['GET /chosen', undefined],
  ]);
});

it('does not log in for a target that another host chose', async () => {
  const registry = await thereAndBack((_, response) =>
    response.writeHead(401, { 'WWW-Authenticate': `Bearer realm="http://${registry.host}/token"` }).end(),
  );
  const reading = createClient().blob(place(registry), { digest: DIGEST, size: BLOB.length });
  await expect(reading).rejects.toMatchObject({ code: 'unauthorized' });
  expect(registry.requests.map(({ request }) => request)).not.toContain(expect.stringContaining('/token'));
  expect(registry.requests.at(-1)).toMatchObject({ request: 'GET /chosen', authorization: undefined });
});

it('ignores challenges of other hosts after a redirect', async () => {
  const thief = await serve((request, response) => {
    if (request.url?.startsWith('/token')) response.end('{"token":"x"}');
    else response.writeHead(401, { 'WWW-Authenticate': `Bearer realm="http://${thief.host}/token"` }).end();
  });
  const registry = await serve((_, response) =>
    response.writeHead(307, { Location: `http://${thief.host}/blob` }).end(),
  );
  const reading = createClient().blob(place(registry), { digest: DIGEST, size: BLOB.length });
  await expect(reading).rejects.toMatchObject({ code: 'unauthorized' });
  expect(thief.requests).toMatchObject([{ request: 'GET /blob', authorization: undefined }]);
});

describe('an error response', () => {
  const advice = 'Use another tag.';
  const error = { code: 'DENIED', message: `${'The tag exists with other bytes. '.repeat(10)}${advice}` };
  const body = JSON.stringify({ errors: [error] });
  /** Returns a token to every client and accepts none. */
  const refusing = (status: number, text: string) =>
    serve((request, response) => {
      const { authorization, host } = request.headers;
      if (request.url?.startsWith('/token')) response.end('{"token":"x"}');
      else if (authorization !== undefined) response.writeHead(status).end(text);
      else response.writeHead(401, { 'WWW-Authenticate': `Bearer realm="http://${host}/token"` }).end();
    });
  const writing = async (registry: ScriptedServer, client: OciClient) =>
    client.putManifest({ ...place(registry), tag: '1' }, index, MEDIA_TYPES.index);

  it('is reported with its message, and with a login hint only if it has no message', async () => {
    await expect(writing(await refusing(403, body), createClient())).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining(advice),
      hint: undefined,
    });
    await expect(writing(await refusing(403, ''), createClient())).rejects.toMatchObject({
      hint: expect.stringContaining('as a user with access'),
    });
  });

  it('has a hint to log in if there are no credentials', async () => {
    const anonymous = createClient({ credentials: async () => undefined });
    for (const [status, text] of [
      [401, body],
      [401, ''],
      [403, ''],
    ] as const)
      await expect(writing(await refusing(status, text), anonymous)).rejects.toMatchObject({
        hint: expect.stringMatching(/^Run `docker login /),
      });
  });

  it('of the token service is reported', async () => {
    const registry = await serve((request, response) => {
      const realm = `http://${request.headers.host}/token`;
      const text = request.url?.startsWith('/token') ? body : '';
      response.writeHead(401, { 'WWW-Authenticate': `Bearer realm="${realm}"` }).end(text);
    });
    await expect(writing(registry, createClient())).rejects.toMatchObject({
      code: 'unauthorized',
      message: expect.stringContaining(advice),
    });
  });
});

describe('a faulty registry', () => {
  it.each<[string, Script, object]>([
    [
      'other bytes',
      (_, response) => response.end('the bytes of a blub'),
      { code: 'digest-mismatch', name: 'KrmhubError' },
    ],
    ['fewer bytes', (_, response) => response.end('the bytes'), { code: 'digest-mismatch' }],
    ['more bytes', (_, response) => response.end(`${'x'.repeat(1_000)}`), { code: 'digest-mismatch' }],
    [
      'redirects without end',
      (request, response) => response.writeHead(302, { Location: `${request.url}x` }).end(),
      { code: 'unreachable', message: expect.stringContaining('more than 5 redirects') },
    ],
    [
      'a redirect to a file',
      (_, response) => response.writeHead(302, { Location: 'file:///etc/passwd' }).end(),
      { code: 'unreachable' },
    ],
    ['a redirect to nowhere', (_, response) => response.writeHead(302).end(), { code: 'unreachable' }],
    [
      'terminal escapes',
      (_, response) => response.writeHead(400).end('{"errors":[{"code":"X","message":"\\u001b[2Jgone"}]}'),
      { code: 'invalid-request', message: expect.not.stringContaining('\u001b') },
    ],
    [
      'the code of a krmhub registry',
      (_, response) =>
        response
          .writeHead(403)
          .end('{"errors":[{"code":"DENIED","message":"x","detail":{"code":"untrusted"}}]}'),
      { code: 'untrusted' },
    ],
    [
      'an unknown code',
      (_, response) => response.writeHead(403).end('{"errors":[{"code":"DENIED","detail":{"code":"fine"}}]}'),
      { code: 'forbidden' },
    ],
    ['invalid errors', (_, response) => response.writeHead(403).end('{"errors":7}'), { code: 'forbidden' }],
  ])('fails for a blob with %s', async (_, script, error) => {
    const registry = await serve(script);
    const reading = (async () =>
      read(await createClient().blob(place(registry), { digest: DIGEST, size: BLOB.length })))();
    await expect(reading).rejects.toMatchObject(error);
  });

  it('fails for a manifest that is too large or has another digest', async () => {
    const registry = await serve((request, response) => {
      response.setHeader('Content-Type', MEDIA_TYPES.index);
      response.end(request.url?.endsWith('large') ? Buffer.alloc(MAX_MANIFEST_BYTES + 1, ' ') : index);
    });
    const client = createClient();
    await expect(client.manifest({ ...place(registry), tag: 'large' })).rejects.toMatchObject({
      code: 'too-large',
    });
    await expect(client.manifest({ ...place(registry), digest: DIGEST })).rejects.toMatchObject({
      code: 'digest-mismatch',
    });
    expect(await client.manifest({ ...place(registry), digest: computeDigest(index) })).toMatchObject({
      bytes: Buffer.from(index),
    });
  });

  it('fails at the idle timeout', async () => {
    const registry = await serve(() => undefined);
    const waits: number[] = [];
    const client = createClient({
      idleMilliseconds: 50,
      onRetry: (_, milliseconds) => waits.push(milliseconds),
    });
    await expect(client.manifest({ ...place(registry), tag: '1' })).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining('no data for 0.05 seconds'),
    });
    expect(waits).toEqual([500, 1_000, 2_000]);
  });
});

describe('a temporary failure', () => {
  it('is retried, a blob from its start', async () => {
    let puts = 0;
    const registry = await serve((request, response) => {
      if (request.method === 'HEAD') response.writeHead(404).end();
      else if (request.method === 'POST')
        response.writeHead(202, { Location: '/v2/team/x/blobs/uploads/1' }).end();
      else response.writeHead(++puts < 3 ? 503 : 201, { 'Retry-After': '0' }).end();
    });
    expect(await createClient().pushBlob(place(registry), DIGEST, toContent(BLOB))).toBe('sent');
    const sent = registry.requests.filter(({ request }) => request.startsWith('PUT'));
    expect(sent.map(({ body }) => body.toString())).toEqual(Array(3).fill(Buffer.from(BLOB).toString()));
  });

  it('is not retried if it is permanent, or if Retry-After is long', async () => {
    const registry = await serve((request, response) => {
      if (request.url?.includes('wrong')) response.writeHead(400).end();
      else response.writeHead(429, { 'Retry-After': '3600' }).end();
    });
    const client = createClient();
    await expect(client.manifest({ ...place(registry), tag: 'wrong' })).rejects.toMatchObject({
      code: 'invalid-request',
    });
    await expect(client.manifest({ ...place(registry), tag: 'busy' })).rejects.toMatchObject({
      code: 'unavailable',
    });
    expect(registry.requests).toHaveLength(2);
  });

  it('is not reported if the pushed file cannot be read', async () => {
    const registry = await serve((request, response) => {
      if (request.method === 'HEAD') response.writeHead(404).end();
      else response.writeHead(202, { Location: '/upload' }).end();
    });
    const broken = {
      size: 10,
      async *open(): AsyncIterable<Uint8Array> {
        yield bytes('12345');
        throw new Error('the disk is gone');
      },
    };
    await expect(createClient().pushBlob(place(registry), DIGEST, broken)).rejects.toThrow(
      'the disk is gone',
    );
  });
});

describe('referrers', () => {
  const referrer = { mediaType: MEDIA_TYPES.image, digest: DIGEST, size: 3 };

  it('are read from all pages', async () => {
    const page = (digest: string) =>
      JSON.stringify({
        schemaVersion: 2,
        mediaType: MEDIA_TYPES.index,
        manifests: [{ ...referrer, digest }],
      });
    const second = computeDigest(bytes('second'));
    const registry = await serve((request, response) => {
      response.setHeader('Content-Type', MEDIA_TYPES.index);
      const next = request.url?.includes('page=2');
      if (!next) response.setHeader('Link', `</v2/team/x/referrers/${DIGEST}?page=2>; rel="next"`);
      response.end(page(next ? second : DIGEST));
    });
    const found = await createClient().referrers(place(registry), DIGEST);
    expect(found.map(({ digest }) => digest)).toEqual([DIGEST, second]);
  });

  it('are added once to the referrers tag', async () => {
    let stored: Buffer | undefined;
    const registry = await serve((request, response, body) => {
      if (request.method === 'PUT') {
        stored = body;
        response.writeHead(201).end();
      } else if (stored === undefined || request.url?.includes('/referrers/')) response.writeHead(404).end();
      else response.writeHead(200, { 'Content-Type': MEDIA_TYPES.index }).end(stored);
    });
    const client = createClient();
    for (let turn = 0; turn < 2; turn++) await client.addToReferrersTag(place(registry), DIGEST, referrer);
    await client.addToReferrersTag(place(registry), DIGEST, {
      ...referrer,
      digest: computeDigest(bytes('other')),
    });
    expect(await client.referrers(place(registry), DIGEST)).toHaveLength(2);
    expect(registry.requests.filter(({ request }) => request.startsWith('PUT'))).toMatchObject([
      { request: `PUT /v2/team/x/manifests/${DIGEST.replace(':', '-')}` },
      {},
    ]);
  });
});

describe('lists of names', () => {
  const pages = (path: string, field: string, all: string[]): Script => {
    return ({ url = '' }, response) => {
      const last = new URL(url, 'http://registry').searchParams.get('last');
      const from = last === null ? 0 : all.indexOf(last) + 1;
      const next = all[from + 1];
      const more = next === undefined ? {} : { Link: `<${path}?last=${all[from]}>; rel="next"` };
      response.writeHead(200, more).end(JSON.stringify({ [field]: all.slice(from, from + 1) }));
    };
  };

  it('lists the tags of all pages', async () => {
    const registry = await serve(pages('/v2/team/x/tags/list', 'tags', ['1.0.0', '1.1.0', 'latest']));
    expect(await createClient().tags(place(registry))).toEqual(['1.0.0', '1.1.0', 'latest']);
    expect(registry.requests).toHaveLength(3);
  });

  it('lists the repositories of all pages', async () => {
    const registry = await serve(pages('/v2/_catalog', 'repositories', ['catalogs/default', 'team/x']));
    expect(await createClient().repositories(registry.host)).toEqual(['catalogs/default', 'team/x']);
  });

  it.each([
    ['http://127.0.0.1:9/v2/team/x/tags/list?last=a', 'on another host, 127.0.0.1:9'],
    ['//127.0.0.1:9/v2/team/x/tags/list', 'on another host, 127.0.0.1:9'],
    ['http://[', 'at the invalid URL http://['],
  ])('refuses the next page %s', async (next, where) => {
    const registry = await serve((_, response) => {
      response.writeHead(200, { Link: `<${next}>; rel="next"` }).end('{"tags":["a"],"repositories":["a"]}');
    });
    const refused = { code: 'unreachable', message: expect.stringContaining(`the next page is ${where}`) };
    await expect(createClient().tags(place(registry))).rejects.toMatchObject(refused);
    await expect(createClient().repositories(registry.host)).rejects.toMatchObject(refused);
  });

  it('asks for a token with the scope of the catalog', async () => {
    const tokens = await serve((_, response) => response.end('{"token":"good","expires_in":300}'));
    const registry = await serve((request, response) => {
      const challenge = `Bearer realm="http://${tokens.host}/token",service="r"`;
      if (request.headers.authorization === undefined)
        response.writeHead(401, { 'WWW-Authenticate': challenge }).end();
      else response.end('{"repositories":null}');
    });
    expect(await createClient({ credentials: allowing(tokens) }).repositories(registry.host)).toEqual([]);
    expect(tokens.requests[0]?.request).toBe('GET /token?service=r&scope=registry%3Acatalog%3A*');
  });

  it('reports a registry without a list of repositories, and a repository that does not exist', async () => {
    const registry = await serve((_, response) => response.writeHead(404).end());
    expect(await createClient().repositories(registry.host)).toBeUndefined();
    await expect(createClient().tags(place(registry))).rejects.toMatchObject({ code: 'not-found' });
  });

  it.each([
    ['not JSON', '<html>'],
    ['another document', '{"name":"team/x"}'],
    ['an invalid name', '{"tags":["a\\u001b[2Jb"]}'],
  ])('rejects %s', async (_, body) => {
    const registry = await serve((_, response) => response.end(body));
    await expect(createClient().tags(place(registry))).rejects.toMatchObject({ code: 'unreachable' });
  });

  it('rejects a list without an end', async () => {
    let page = 0;
    const registry = await serve((_, response) =>
      response
        .writeHead(200, { Link: `</v2/team/x/tags/list?last=${page++}>; rel="next"` })
        .end('{"tags":["1"]}'),
    );
    await expect(createClient().tags(place(registry))).rejects.toMatchObject({ code: 'too-large' });
  });

  it.each([1, 2])('stops at a page that refers to one of the last %i', async (length) => {
    let page = 0;
    const registry = await serve(({ url = '' }, response) => {
      const Link = `<${url.split('?')[0]}?last=${page++ % length}>; rel="next"`;
      if (url.includes('/referrers/')) response.setHeader('Content-Type', MEDIA_TYPES.index);
      const body = url.includes('/referrers/')
        ? { schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests: [] }
        : { tags: ['1'], repositories: ['team/x'] };
      response.writeHead(200, { Link }).end(JSON.stringify(body));
    });
    const client = createClient();
    for (const list of [
      () => client.tags(place(registry)),
      () => client.repositories(registry.host),
      () => client.referrers(place(registry), DIGEST),
    ]) {
      page = 0;
      await expect(list()).rejects.toMatchObject({
        code: 'unreachable',
        message: expect.stringContaining('refers to an earlier page'),
      });
      expect(page).toBe(length + 1);
    }
  });
});
