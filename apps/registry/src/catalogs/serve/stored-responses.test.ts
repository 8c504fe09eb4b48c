import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readConfig } from '../../server/config.js';
import { type RunningRegistry, startRegistry } from '../../server/serve.js';
import { definitionText, releasePath } from '../../testing/test-registry.js';

interface Received {
  status: number | undefined;
  headers: Record<string, unknown>;
  body: string;
}

let folder: string;
let registry: RunningRegistry;
const logged: { route?: string; level: number }[] = [];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-'));
  const log = pino({ level: 'debug' }, { write: (line: string) => logged.push(JSON.parse(line)) });
  registry = await startRegistry({ config: readConfig({}, { port: '0', data: folder }), log });
  await publish('SetLabels');
});
afterAll(async () => {
  await registry.close();
  await rm(folder, { recursive: true });
});

async function publish(kind: string): Promise<void> {
  const token = (await readFile(registry.adminTokenFile, 'utf8')).trim();
  const { status } = await fetch(`${registry.url}${releasePath({ kind, release: '1.0.0' })}?wait=true`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/yaml' },
    body: definitionText({ kind, release: '1.0.0' }),
  });
  expect(status).toBe(201);
}

/** Sends a request and returns the response as received, without decoding or redirects. */
async function read(file: string, method: string, headers: Record<string, string>): Promise<Received> {
  return new Promise((resolve, reject) => {
    request(`${registry.url}${file}`, { method, headers }, async (response) => {
      const pieces: Buffer[] = [];
      for await (const piece of response) pieces.push(piece);
      const { date: _, 'x-request-id': id, ...rest } = response.headers;
      expect(id).toMatch(/^[\w-]{3,}$/);
      resolve({
        status: response.statusCode,
        headers: rest,
        body: Buffer.concat(pieces).toString('base64'),
      });
    })
      .on('error', reject)
      .end();
  });
}

const TAGS = ['identity', 'gzip', 'br'] as const;

it.each(['catalog.yaml', 'catalog.json'])('responds to %s like its route', async (file) => {
  const fast = `/catalogs/default/${file}`;
  // A request with a query goes to the routes; this query asks for the default.
  const routed = `${fast}?kind=Catalog`;
  const tags: string[] = [];
  for (const coding of TAGS) {
    // The first read caches the bytes.
    const { headers } = await read(routed, 'GET', { 'Accept-Encoding': coding });
    tags.push(String(headers.etag));
  }
  expect(new Set(tags).size).toBe(3);
  for (const method of ['GET', 'HEAD']) {
    for (const accepted of [undefined, '', ...TAGS, 'gzip, br;q=0.5', '*', 'identity;q=0, zstd', 'GZIP']) {
      for (const known of [undefined, ...tags, `W/${tags[0]}, "x"`, '*', '"other"']) {
        const headers = {
          ...(accepted === undefined ? {} : { 'Accept-Encoding': accepted }),
          ...(known === undefined ? {} : { 'If-None-Match': known }),
        };
        expect(await read(fast, method, headers), JSON.stringify([method, headers])).toEqual(
          await read(routed, method, headers),
        );
      }
    }
  }
});

it('responds to an entry like its route', async () => {
  const fast = '/catalogs/default/functions/example.com/SetLabels.yaml';
  const routed = `${fast}?kind=Catalog`;
  // Only the route counts requests.
  const uncounted = ({
    headers: { ratelimit: _, 'ratelimit-policy': __, ...headers },
    ...rest
  }: Received) => ({
    ...rest,
    headers,
  });
  const { headers, body } = await read(routed, 'GET', {});
  expect(headers).toHaveProperty('ratelimit');
  expect(Buffer.from(body, 'base64').toString()).toContain('kind: SetLabels');
  for (const method of ['GET', 'HEAD']) {
    for (const known of [undefined, String(headers.etag), `W/${headers.etag}`, '*', '"other"']) {
      const sent = { 'Accept-Encoding': 'gzip', ...(known === undefined ? {} : { 'If-None-Match': known }) };
      expect(await read(fast, method, sent), `${method} ${known}`).toEqual(
        uncounted(await read(routed, method, sent)),
      );
    }
  }
  for (const path of ['example.com/setlabels', 'example.com/None', 'none.example.com/SetLabels']) {
    const file = `/catalogs/default/functions/${path}.yaml`;
    const { status, body: answer } = await read(file, 'GET', {});
    expect([status, answer], path).toEqual([path.includes('one') ? 404 : 200, expect.any(String)]);
  }
});

it('leaves the other kind of an entry to the routes, which count it, each time', async () => {
  const file = '/catalogs/default/functions/example.com/SetLabels.yaml?kind=KRMFunctionCatalog';
  for (const _ of [1, 2, 3]) {
    const { status, headers } = await read(file, 'GET', {});
    expect(status).toBe(200);
    expect(headers).toHaveProperty('ratelimit');
  }
});

it('leaves profiles to the routes', async () => {
  for (const file of ['catalog.yaml', 'functions/example.com/SetLabels.yaml']) {
    const plain = await read(`/catalogs/default/${file}`, 'GET', {});
    const profile = await read(`/catalogs/default/${file}?profile=porch`, 'GET', {
      'If-None-Match': String(plain.headers.etag),
    });
    expect(profile.status).toBe(200);
    expect(profile.headers.link).toContain('rel="describedby"');
    // Writing them may take long, so they count.
    expect(profile.headers).toHaveProperty('ratelimit');
    expect(Buffer.from(profile.body, 'base64').toString()).toContain('kind: FunctionConfig');
  }
});

it('returns a valid request id, and replaces an invalid one', async () => {
  const ids = async (given: string) =>
    (
      await fetch(`${registry.url}/catalogs/default/catalog.yaml`, { headers: { 'X-Request-Id': given } })
    ).headers.get('x-request-id');
  expect(await ids('deploy-1')).toBe('deploy-1');
  expect(await ids('x'.repeat(65))).not.toContain('x'.repeat(65));
});

it('is counted and logged like the route', async () => {
  await read('/catalogs/default/catalog.yaml', 'GET', {});
  const metrics = await (await fetch(`${registry.url}/metrics`)).text();
  expect(metrics).toMatch(
    /krmhub_http_requests_total\{method="GET",route="\/catalogs\/\{name\}\/catalog.yaml",status="200"\} [1-9]/,
  );
  expect(logged.some(({ route }) => route === '/catalogs/{name}/catalog.yaml')).toBe(true);
});

it('serves a release as soon as its publish returns', async () => {
  for (const kind of ['SetA', 'SetB', 'SetC', 'SetD', 'SetE']) {
    await publish(kind);
    const text = await (await fetch(`${registry.url}/catalogs/default/catalog.yaml`)).text();
    expect(text).toContain(kind);
  }
});

it('leaves everything else to the routes', async () => {
  for (const [file, status] of [
    ['/catalogs/none/catalog.yaml', 404],
    ['/catalogs/default/catalog.xml', 404],
    ['/catalogs/default/catalog.yaml?kind=x', 400],
  ] as const) {
    expect((await read(file, 'GET', {})).status, file).toBe(status);
  }
  expect((await read('/catalogs/default/catalog.yaml', 'POST', {})).status).toBe(405);
});
