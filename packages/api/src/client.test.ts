import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { KrmhubError } from '@krmhub/schema';
import { mapFacets } from '@krmhub/schema/facets';
import { afterEach, describe, expect, it } from 'vitest';
import { RegistryClient, RegistryError } from './client.js';
import { searchPages, snapshotPages } from './read-pages.js';

/** Responses of other, faulty and hostile servers. Each test runs a real server. */
type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const servers: Server[] = [];

async function serve(handler: Handler): Promise<string> {
  const server = createServer(handler);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function failure(work: Promise<unknown>): Promise<KrmhubError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(KrmhubError);
  return error as KrmhubError;
}

function respond(response: ServerResponse, status: number, type: string, body: string | Uint8Array): void {
  response.writeHead(status, { 'content-type': type }).end(body);
}

const NO_FACETS = mapFacets(() => []);
const EMPTY_RESULT = { total: 0, items: [], facets: NO_FACETS };

describe('registry URL', () => {
  it.each([
    ['localhost:8080', 'http'],
    ['not a url', 'not a valid registry URL'],
    ['file:///etc/passwd', 'http or https'],
    ['http://user:secret@example.com', 'user name or password'],
    ['http://example.com/?x=1', 'query'],
  ])('rejects %s', (url, words) => {
    let error: unknown;
    try {
      new RegistryClient({ url });
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(KrmhubError);
    const { code, message, hint } = error as KrmhubError;
    expect(code).toBe('usage');
    expect(message).toContain(words);
    expect(`${message}${hint}`).not.toContain('secret');
  });

  it('keeps a path prefix', async () => {
    let requested = '';
    const url = await serve((request, response) => {
      requested = request.url ?? '';
      respond(response, 200, 'application/json', JSON.stringify(EMPTY_RESULT));
    });
    await new RegistryClient({ url: `${url}/krm/` }).search({ q: 'a b', tag: ['x', 'y'] });
    expect(requested).toBe('/krm/api/v1/functions?q=a+b&tag=x&tag=y');
  });

  it('with a path that the registry does not have leads to the right URL', async () => {
    const problem = (detail: string) =>
      JSON.stringify({ title: 'Not Found', status: 404, detail, code: 'not-found', hint: 'See /.' });
    const body = (request: IncomingMessage) => problem(`path ${request.url?.split('?')[0]} not found`);
    const root = await serve((request, response) =>
      respond(response, 404, 'application/problem+json', body(request)),
    );
    const hintFor = async (url: string) =>
      (await failure(new RegistryClient({ url }).search({ q: 'x' }))).hint;
    expect(await hintFor(`${root}/api/`)).toBe(`Use ${root}`);
    expect(await hintFor(root)).toBe('See /.');
    const below = await serve((_, response) =>
      respond(response, 404, 'application/problem+json', problem('path /api/v1/functions not found')),
    );
    expect(await hintFor(`${below}/krm`)).toBe('See /.');
  });

  it('rejects a token with invalid characters and does not print it', () => {
    const token = 'krmhub_x\r\nX-Evil: 1';
    expect(() => new RegistryClient({ url: 'http://localhost', token })).toThrow(
      /token contains invalid characters/,
    );
  });
});

describe('an unreachable registry', () => {
  it('is reported with its URL and a hint', async () => {
    const url = await serve(() => undefined);
    const server = servers.pop()!;
    await new Promise((resolve) => server.close(resolve));
    const error = await failure(new RegistryClient({ url }).search({}));
    expect(error.code).toBe('unreachable');
    expect(error.message).toBe(`cannot reach the registry at ${url}: connection refused`);
    expect(error.hint).toContain('krmhub serve');
  });

  it('fails at the timeout', async () => {
    const url = await serve(() => undefined);
    const error = await failure(new RegistryClient({ url, timeoutMilliseconds: 100 }).search({}));
    expect(error.message).toContain('no response within 0.1 seconds');
  });

  it('fails at the timeout within a body', async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"total":');
    });
    const error = await failure(new RegistryClient({ url, timeoutMilliseconds: 200 }).search({}));
    expect(error.code).toBe('unreachable');
    expect(error.message).toContain('no response within');
  });

  it('is reported if it closes the connection', async () => {
    const url = await serve((request) => request.socket.destroy());
    const error = await failure(new RegistryClient({ url }).search({}));
    expect(error.message).toMatch(/connection was closed/);
  });
});

describe('a response that does not come from a registry', () => {
  it.each<[string, Handler, RegExp]>([
    ['HTML', (_, response) => respond(response, 200, 'text/html', '<html>'), /text\/html, not JSON/],
    [
      'HTML with 404',
      (_, response) => respond(response, 404, 'text/html', '<html>'),
      /response is 404 with text\/html/,
    ],
    ['broken JSON', (_, response) => respond(response, 200, 'application/json', '{'), /not valid JSON/],
    [
      'bytes that are not UTF-8',
      (_, response) => respond(response, 200, 'application/json', Buffer.from([0x22, 0xff, 0x22])),
      /not valid JSON/,
    ],
    ['another object', (_, response) => respond(response, 200, 'application/json', '{"ok":true}'), /"total"/],
    [
      'a list of something else',
      (_, response) =>
        respond(response, 200, 'application/json', JSON.stringify({ ...EMPTY_RESULT, items: [null] })),
      /"items\[0\]"/,
    ],
    [
      'fields from the prototype only',
      (_, response) => respond(response, 200, 'application/json', '{"__proto__":{"total":0,"items":[]}}'),
      /"total"/,
    ],
    [
      'a problem without its fields',
      (_, response) => respond(response, 400, 'application/problem+json', '{}'),
      /response is 400/,
    ],
    ['terminal escapes', (_, response) => respond(response, 200, 'text/\u009b31mhtml', ''), /not JSON/],
  ])('%s', async (_, handler, words) => {
    const url = await serve(handler);
    const error = await failure(new RegistryClient({ url }).search({}));
    expect(error.code).toBe('unreachable');
    expect(error.message).toMatch(words);
    expect(error.message).not.toMatch(/[\x00-\x1f\x7f-\x9f]/);
    expect(error.hint).toContain('--registry');
  });

  it.each([
    [500, 'unavailable'],
    [502, 'unavailable'],
    [503, 'unavailable'],
    [401, 'unauthorized'],
    [407, 'unauthorized'],
    [403, 'forbidden'],
    [429, 'rate-limited'],
  ])('reports a page with the status %d as %s', async (status, code) => {
    for (const type of ['text/html', 'application/json', 'text/plain; charset=utf-8']) {
      const url = await serve((_, response) => respond(response, status, type, '"\u001b[2J"'));
      const error = await failure(new RegistryClient({ url }).search({}));
      expect(error.code).toBe(code);
      expect(error.message).toContain(`the server at ${url}`);
      expect(error.message).toContain(`responded with ${status} with ${type}`);
      expect(error.message).not.toContain('no krmhub registry');
    }
  });

  it('of an older registry has fewer facets, which read as empty', async () => {
    const tag = [{ value: 'a', count: 1 }];
    const url = await serve((request, response) => {
      const facets = request.url?.includes('wrong') === true ? { tag: [{ value: 'a' }] } : { tag };
      respond(response, 200, 'application/json', JSON.stringify({ total: 0, items: [], facets }));
    });
    const client = new RegistryClient({ url });
    expect(await client.search({})).toEqual({ ...EMPTY_RESULT, facets: { ...NO_FACETS, tag } });
    expect((await failure(client.search({ q: 'wrong' }))).message).toContain('facets.tag[0].count');
  });

  it('waits for a rate limit that a proxy enforces', async () => {
    let requests = 0;
    const url = await serve((_, response) => {
      requests += 1;
      if (requests === 1) response.writeHead(429, { 'retry-after': '3' }).end('slow down');
      else respond(response, 200, 'application/json', JSON.stringify(EMPTY_RESULT));
    });
    const waits: number[] = [];
    const onRateLimited = async (seconds: number) => waits.push(seconds) > 0;
    expect(await new RegistryClient({ url, onRateLimited }).search({})).toEqual(EMPTY_RESULT);
    expect(waits).toEqual([3]);
  });

  it('reads an endless body up to the limit only', async () => {
    let sent = 0;
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'application/yaml' });
      const chunk = Buffer.alloc(65_536, 0x20);
      const more = () => {
        while (!response.destroyed && response.write(chunk)) sent += chunk.length;
        sent += chunk.length;
      };
      response.on('drain', more);
      more();
    });
    const error = await failure(new RegistryClient({ url }).definition('example.com', 'SetLabels', '1.0.0'));
    expect(error.message).toContain('larger than 1048576 bytes');
    expect(sent).toBeLessThan(64 * 1_048_576);
  });

  it('applies the limit to the decompressed body', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'application/yaml', 'content-encoding': 'gzip' }).end(bomb);
    });
    const error = await failure(new RegistryClient({ url }).readme('example.com', 'SetLabels', '1.0.0'));
    expect(error.message).toContain('larger than');
  });
});

describe('a broken response', () => {
  const whole = gzipSync(JSON.stringify(EMPTY_RESULT));
  const coded = (coding: string) => ({ 'content-type': 'application/json', 'content-encoding': coding });

  it.each<[string, Handler, string]>([
    [
      'cut off',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
        response.write('{', () => response.destroy());
      },
      'the connection was closed',
    ],
    [
      'damaged',
      (_, response) => response.writeHead(200, coded('gzip')).end('no gzip'),
      'the response cannot be decompressed',
    ],
    [
      'packed and cut off',
      (_, response) => response.writeHead(200, coded('gzip')).end(whole.subarray(0, 20)),
      'cannot be decompressed',
    ],
    [
      'in an unsupported content coding',
      (_, response) => response.writeHead(200, coded('zstd')).end('x'),
      'content coding zstd',
    ],
    ['not HTTP', (request) => request.socket.end('SSH-2.0-OpenSSH\r\n'), 'the response is not HTTP'],
  ])('%s', async (_, handler, words) => {
    const url = await serve(handler);
    const error = await failure(new RegistryClient({ url }).search({}));
    expect(error.code).toBe('unreachable');
    expect(error.message).toContain(words);
  });
});

describe('the token', () => {
  const token = 'krmhub_secret';
  /** Serves an empty search, and records the Authorization headers; without one, it responds with `status`. */
  async function record(status: number): Promise<{ url: string; seen: string[] }> {
    const seen: string[] = [];
    const url = await serve((request, response) => {
      seen.push(request.headers.authorization ?? 'none');
      if (request.headers.authorization === undefined && status !== 200) response.writeHead(status).end();
      else respond(response, 200, 'application/json', JSON.stringify(EMPTY_RESULT));
    });
    return { url, seen };
  }

  it('is not sent with reads that need none, but with lists, which have what the reader may see', async () => {
    const { url, seen } = await record(200);
    const needs: boolean[] = [];
    const client = new RegistryClient({
      url,
      token: async (isRequired) => {
        needs.push(isRequired);
        return token;
      },
    });
    await failure(client.release('example.com', 'SetLabels', '1.0.0'));
    await failure(client.catalog('default'));
    await failure(client.reportLeak('krmhub_leaked'));
    expect([seen, needs]).toEqual([['none', 'none', 'none'], []]);
    await client.search({});
    expect([seen.at(-1), needs]).toEqual([`Bearer ${token}`, [false]]);
  });

  it.each([401, 404])(
    'is sent with writes, and with reads of a path that the registry answered with %i',
    async (status) => {
      const { url, seen } = await record(status);
      const client = new RegistryClient({ url, token });
      await failure(client.catalog('default'));
      await failure(client.catalog('default'));
      await failure(client.catalog('other'));
      expect(seen).toEqual(['none', `Bearer ${token}`, `Bearer ${token}`, 'none', `Bearer ${token}`]);
      const writer = await record(status);
      await failure(new RegistryClient({ url: writer.url, token: async () => token }).cutCatalog('default'));
      expect(writer.seen).toEqual([`Bearer ${token}`]);
    },
  );

  /** A response of a registry, unlike a page of a proxy. */
  const REFUSED = { title: 'Not Found', code: 'not-found', detail: 'no such catalog' };
  const invalid = { 'www-authenticate': 'Bearer error="invalid_token", error_description="it is revoked"' };
  const away = {
    'www-authenticate': 'Bearer error="temporarily_unavailable", error_description="its provider is away"',
  };

  it.each([
    [401, {}, 'token'],
    [404, invalid, 'token'],
    [200, invalid, 'token'],
    [403, {}, 'path'],
    [404, {}, 'path'],
    [404, away, 'nothing'],
    [401, away, 'nothing'],
    [410, {}, 'path'],
    [200, {}, 'nothing'],
    [200, away, 'nothing'],
    [429, {}, 'nothing'],
    [503, {}, 'nothing'],
  ])('is reported after %i with %j as refused: its %s', async (status, headers, what) => {
    const url = await serve((request, response) => {
      if (request.headers.authorization === undefined) response.writeHead(404).end();
      else
        response
          .writeHead(status, {
            'content-type': status === 200 ? 'application/json' : 'application/problem+json',
            ...headers,
          })
          .end(JSON.stringify(status === 200 ? EMPTY_RESULT : { ...REFUSED, status }));
    });
    const refused: unknown[] = [];
    const useless: string[] = [];
    const client = new RegistryClient({
      url: `${url}/below`,
      token,
      onRefused: async (refusal) => void refused.push(refusal),
      onUselessToken: async (reason) => void useless.push(reason),
    });
    await client.search({}).catch(() => undefined);
    await client.catalog('a').catch(() => undefined);
    const paths = ['/api/v1/functions', '/api/v1/catalogs/a'];
    expect(refused).toEqual(
      what === 'nothing' ? [] : paths.map((path) => (what === 'token' ? { token } : { token, path })),
    );
    // Only what succeeds has less than it could have.
    expect(useless).toHaveLength(
      status === 200 && headers !== undefined && 'www-authenticate' in headers ? 1 : 0,
    );
  });

  it.each([403, 404, 410])(
    'is not reported as refused after %i to a write, or without a problem of a registry',
    async (status) => {
      let type = 'application/problem+json';
      const url = await serve((request, response) => {
        if (request.headers.authorization === undefined) response.writeHead(404).end();
        else response.writeHead(status, { 'content-type': type }).end(JSON.stringify({ ...REFUSED, status }));
      });
      const refused: unknown[] = [];
      const client = new RegistryClient({
        url,
        token,
        onRefused: async (refusal) => void refused.push(refusal),
      });
      await failure(client.cutCatalog('a'));
      expect(refused).toEqual([]);
      for (type of ['text/html', 'application/json']) await failure(client.catalog('a'));
      expect(refused).toEqual([]);
      type = 'application/problem+json';
      await failure(client.catalog('a'));
      expect(refused).toHaveLength(1);
    },
  );

  it('closes the response if what is told of a refusal fails', async () => {
    let isClosed: Promise<unknown> = Promise.resolve();
    const url = await serve((request, response) => {
      if (request.headers.authorization === undefined) return response.writeHead(404).end();
      isClosed = once(response, 'close');
      // It has no end: an open response would keep the process alive.
      return response.writeHead(401).write('x');
    });
    const onRefused = () => Promise.reject(new Error('the disk is full'));
    const client = new RegistryClient({ url, token, onRefused });
    await expect(client.catalog('a')).rejects.toThrow('the disk is full');
    await isClosed;
  });

  it.each([400, 403, 409, 410, 429, 500, 503])('is not sent after a response with %i', async (status) => {
    const { url, seen } = await record(status);
    await failure(new RegistryClient({ url, token }).catalog('default'));
    expect(seen).toEqual(['none']);
  });

  it('is asked for as required only if the registry requires one', async () => {
    for (const [status, isRequired] of [
      [401, true],
      [404, false],
    ] as const) {
      const { url, seen } = await record(status);
      const needs: boolean[] = [];
      const nothing = async (need: boolean) => void needs.push(need) as undefined;
      await failure(new RegistryClient({ url, token: nothing }).catalog('default'));
      expect([seen, needs]).toEqual([['none'], [isRequired]]);
    }
  });
});

describe('redirects', () => {
  it('to another origin are not followed, with or without a token', async () => {
    const seen: string[] = [];
    const other = await serve((request, response) => {
      seen.push(request.headers.authorization ?? 'none');
      respond(response, 200, 'application/json', JSON.stringify(EMPTY_RESULT));
    });
    const url = await serve((_, response) => {
      response.writeHead(302, { location: `${other}/api/v1/functions` }).end();
    });
    for (const client of [new RegistryClient({ url }), new RegistryClient({ url, token: 'krmhub_secret' })]) {
      const error = await failure(client.search({}));
      expect(error.message).toContain(`redirects to ${other}/api/v1/functions`);
      expect(error.hint).toContain(`--registry ${other}`);
    }
    expect(seen).toEqual([]);
  });

  it('to what is not on the web are named as they are', async () => {
    const url = await serve((_, response) => {
      response.writeHead(302, { location: 'file:///etc/passwd' }).end();
    });
    const error = await failure(new RegistryClient({ url }).search({}));
    expect(error.message).toContain('redirects to file:///etc/passwd, which is not an http or https URL');
    expect(error.hint).toContain('Check the URL of the registry');
  });

  it('within the registry are followed up to a limit', async () => {
    const url = await serve((request, response) => {
      const next = { '/api/v1/functions': '/moved', '/loop/api/v1/functions': '/loop/api/v1/functions' }[
        request.url ?? ''
      ];
      if (next === undefined) respond(response, 200, 'application/json', JSON.stringify(EMPTY_RESULT));
      else response.writeHead(307, { location: next }).end();
    });
    expect(await new RegistryClient({ url }).search({})).toEqual(EMPTY_RESULT);
    const error = await failure(new RegistryClient({ url: `${url}/loop` }).search({}));
    expect(error.message).toContain('more than 3 redirects');
  });

  it('of a POST are not followed', async () => {
    const methods: (string | undefined)[] = [];
    const url = await serve((request, response) => {
      methods.push(request.method);
      response.writeHead(308, { location: '/other' }).end();
    });
    await failure(new RegistryClient({ url }).yank('example.com', 'SetLabels', '1.0.0', 'because'));
    expect(methods).toEqual(['POST']);
  });
});

describe('a response of a registry', () => {
  const problem = {
    type: 'about:blank',
    title: 'Conflict',
    status: 409,
    code: 'conflict',
    detail: 'the release exists with other bytes',
    hint: 'publish another release',
    requestId: 'r1',
    diagnostics: [{ code: 'a/b', severity: 'error', message: 'm', file: 'f', path: 'spec' }],
  };

  it('becomes an error with the code, hint and diagnostics of the problem', async () => {
    const url = await serve((_, response) =>
      respond(response, 409, 'application/problem+json', JSON.stringify(problem)),
    );
    const error = await failure(new RegistryClient({ url }).whoami());
    expect(error).toBeInstanceOf(RegistryError);
    const { code, message, hint, diagnostics, registry, status, requestId } = error as RegistryError;
    expect({ code, message, hint, diagnostics, registry, status, requestId }).toEqual({
      code: 'conflict',
      message: problem.detail,
      hint: problem.hint,
      diagnostics: problem.diagnostics,
      registry: url,
      status: 409,
      requestId: 'r1',
    });
  });

  it('becomes an error with the code "internal" if the code is unknown', async () => {
    const newer = JSON.stringify({ ...problem, code: 'constructor' });
    const url = await serve((_, response) => respond(response, 418, 'application/problem+json', newer));
    expect((await failure(new RegistryClient({ url }).whoami())).code).toBe('internal');
  });

  it.each([
    ['identity', '', (bytes: Buffer) => bytes],
    ['gzip', '-gzip', gzipSync],
    ['br', '-br', brotliCompressSync],
  ] as const)('has the same bytes and digest in the content coding %s', async (coding, suffix, encode) => {
    const bytes = Buffer.from('kind: Catalog\n# \u00fc\n');
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    const url = await serve((_, response) => {
      response.writeHead(200, {
        'content-type': 'application/yaml',
        etag: `"${digest}${suffix}"`,
        ...(coding === 'identity' ? {} : { 'content-encoding': coding }),
      });
      response.end(encode(bytes));
    });
    const document = await new RegistryClient({ url }).catalogDocument('default');
    expect(Buffer.from(document.bytes)).toEqual(bytes);
    expect(document.digest).toBe(digest);
  });

  it('is requested with percent-encoded names', async () => {
    const requests: string[] = [];
    const url = await serve((request, response) => {
      requests.push(`${request.method} ${request.url}`);
      respond(response, 200, 'application/yaml', 'x');
    });
    const client = new RegistryClient({ url });
    await client.catalogDocument('a/../b', { snapshot: '7', kind: 'KRMFunctionCatalog', format: 'json' });
    await client.definition('example.com', 'Set?Labels', '1.0.0');
    expect(requests).toEqual([
      'GET /catalogs/a%2F..%2Fb/snapshots/7/catalog.json?kind=KRMFunctionCatalog',
      'GET /api/v1/functions/example.com/Set%3FLabels/releases/1.0.0/definition.yaml',
    ]);
  });

  it('is requested with a README and the exact bytes of the definition', async () => {
    let body = Buffer.alloc(0);
    let type = '';
    const url = await serve((request, response) => {
      type = request.headers['content-type'] ?? '';
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        body = Buffer.concat(chunks);
        respond(response, 409, 'application/problem+json', JSON.stringify(problem));
      });
    });
    const definition = Buffer.from('kind: KRMFunctionDefinition\r\n');
    const request = {
      group: 'example.com',
      kind: 'K',
      release: '1.0.0',
      definition,
      mediaType: 'application/yaml',
    } as const;
    await failure(new RegistryClient({ url }).publish({ ...request, readme: Buffer.from('# K\n') }));
    expect(type).toMatch(/^multipart\/form-data; boundary=/);
    expect(body.toString()).toMatch(
      /name="definition"; filename="definition"\r\nContent-Type: application\/yaml\r\n\r\nkind: KRMFunctionDefinition\r\n\r\n/,
    );
    expect(body.toString()).toMatch(
      /name="readme"; filename="README.md"\r\nContent-Type: text\/markdown\r\n\r\n# K\n\r\n/,
    );
    await failure(new RegistryClient({ url }).publish(request));
    expect(type).toBe('application/yaml');
    expect(body.equals(definition)).toBe(true);
  });
});

describe('rate limits', () => {
  const problem = { type: 'about:blank', title: 'Too Many Requests', status: 429, code: 'rate-limited' };
  const limited = (retryAfter: string | undefined, times: number) => {
    let requests = 0;
    return serve((_, response) => {
      requests += 1;
      if (requests > times) return respond(response, 200, 'application/json', JSON.stringify(EMPTY_RESULT));
      if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter);
      respond(
        response,
        429,
        'application/problem+json',
        JSON.stringify({ ...problem, detail: 'too many requests' }),
      );
    });
  };

  it('become an error with the seconds of Retry-After', async () => {
    const error = await failure(new RegistryClient({ url: await limited('7', 1) }).search({}));
    expect(error).toBeInstanceOf(RegistryError);
    expect(error).toMatchObject({ code: 'rate-limited', status: 429, retryAfterSeconds: 7 });
  });

  it('lead to retries as long as the caller waits', async () => {
    const waits: number[] = [];
    const onRateLimited = async (seconds: number) => waits.push(seconds) < 3;
    const patient = new RegistryClient({ url: await limited('2', 2), onRateLimited });
    expect((await patient.search({})).total).toBe(0);
    expect(waits).toEqual([2, 2]);
    const error = await failure(new RegistryClient({ url: await limited('2', 9), onRateLimited }).search({}));
    expect(error.code).toBe('rate-limited');
    expect(waits).toEqual([2, 2, 2]);
  });

  it.each([undefined, '', '-1', 'soon', '99999999', '1.5'])(
    'lead to no retry with Retry-After %j',
    async (retryAfter) => {
      const onRateLimited = async () => true;
      const error = await failure(
        new RegistryClient({ url: await limited(retryAfter, 9), onRateLimited }).search({}),
      );
      expect(error).toMatchObject({ code: 'rate-limited', retryAfterSeconds: undefined });
    },
  );
});

describe('lists with pages', () => {
  it.each([1, 2])('stop with an error at a page that refers to one of the last %i', async (length) => {
    let requests = 0;
    const url = await serve(({ url = '' }, response) => {
      const next = requests++ % length;
      const body = url.includes('/snapshots')
        ? { catalog: 'default', snapshots: [], total: 9, next }
        : { ...EMPTY_RESULT, next: `cursor ${next}` };
      respond(response, 200, 'application/json', JSON.stringify(body));
    });
    const client = new RegistryClient({ url });
    for (const pages of [searchPages(client, { q: 'labels' }), snapshotPages(client, 'default')]) {
      requests = 0;
      const walk = async () => {
        for await (const page of pages) expect(page.total).toBeLessThan(10);
      };
      const error = await failure(walk());
      expect(error).toMatchObject({
        code: 'unreachable',
        message: expect.stringContaining('refers to an earlier page'),
      });
      expect(requests).toBe(length + 1);
    }
  });
});
