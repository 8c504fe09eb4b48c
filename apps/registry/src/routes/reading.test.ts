import type { EventPage, Problem, SearchResult } from '@krmhub/api/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry();
  await registry.publish({
    kind: 'SetLabels',
    release: '1.0.0',
    tags: ['mutator', 'labels'],
    versions: ['v1', 'v1beta1'],
  });
  await registry.publish(
    {
      kind: 'SetLabels',
      release: '2.0.0',
      tags: ['mutator', 'labels'],
      versions: ['v1'],
    },
    '?wait=true&allowBreaking=true',
  );
  await registry.publish({
    kind: 'RequireLimits',
    release: '0.1.0',
    tags: ['validator'],
    description: 'Check limits of containers.',
  });
  await registry.publish({ kind: 'Peel', release: '1.0.0', tags: ['mutator'], group: 'banana.co' });
});
afterAll(() => registry.close());

const search = async (query: string) =>
  (await (await registry.request(`/api/v1/functions${query}`)).json()) as SearchResult;
const problem = async (target: string) => {
  const response = await registry.request(target);
  return { status: response.status, body: (await response.json()) as Problem };
};

const NOT_SIGNED = 'not signed; no registry policy requires a signature';

describe('search', () => {
  it('finds by text and filters, with facets', async () => {
    const all = await search('');
    expect(all.total).toBe(3);
    expect(all.facets.tag).toContainEqual({ value: 'mutator', count: 2 });
    expect((await search('?q=limits')).items.map(({ kind }) => kind)).toEqual(['RequireLimits']);
    expect((await search('?q=')).total).toBe(3);
    const found = await search(
      '?tag=labels&tag=mutator&tag=labels&group=example.com&runtime=container&catalog=default',
    );
    expect((await search('?apiVersion=example.com/v1&network=false&pinned=true&pinned=false')).total).toBe(
      (await search('?group=example.com')).total,
    );
    expect((await search('?kind=Peel&kind=RequireLimits')).total).toBe(2);
    expect(found.items).toHaveLength(1);
    expect(found.items[0]).toEqual({
      group: 'example.com',
      kind: 'SetLabels',
      description: 'SetLabels does what its name says.',
      publisher: 'Example Co',
      release: '2.0.0',
      publishedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      versions: ['v1'],
      tags: ['mutator', 'labels'],
      runtimes: ['container'],
      license: 'Apache-2.0',
      network: false,
      storage: false,
      pinned: expect.any(Boolean),
      signedBy: [],
      signature: { trusted: false, state: 'unsigned', text: NOT_SIGNED, reason: NOT_SIGNED },
      yanked: false,
      deprecated: false,
    });
  });

  it('pages by cursor', async () => {
    const kinds: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await search(
        `?limit=1${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      expect(page.items.length).toBeLessThanOrEqual(1);
      kinds.push(...page.items.map(({ kind }) => kind));
      cursor = page.next;
    } while (cursor !== undefined && kinds.length < 10);
    expect(kinds.sort()).toEqual(['Peel', 'RequireLimits', 'SetLabels']);
  });

  it.each(['0', '-1', '1e9', '9223372036854775808', 'NaN', '', '1.5', '0x10'])(
    'accepts or refuses limit=%s',
    async (limit) => {
      const { status, body } = await problem(`/api/v1/functions?limit=${limit}`);
      const isWhole = /^-?\d+$/.test(limit);
      expect(status).toBe(isWhole ? 200 : 400);
      if (!isWhole) expect(body.detail).toContain('"limit"');
    },
  );

  it('names every wrong parameter', async () => {
    const { status, body } = await problem(
      `/api/v1/functions?tags=x&limit=a&limit=b&runtime=docker&kind=&q=${'x'.repeat(501)}`,
    );
    expect(status).toBe(400);
    for (const part of [
      '"tags" is unknown: did you mean "tag"?',
      '"limit" is set 2 times',
      '"runtime"',
      '"kind" is empty',
      '"q" is longer',
    ]) {
      expect(body.detail).toContain(part);
    }
    expect((await problem('/api/v1/functions?__proto__=x')).status).toBe(400);
    const many = await problem(
      `/api/v1/functions?${Array.from({ length: 1_000 }, (_, at) => `x${at}`).join('&')}`,
    );
    expect([many.status, many.body.detail?.match(/is unknown/g)?.length]).toEqual([400, 20]);
    expect((await problem('/api/v1/functions?cursor=nonsense')).status).toBe(400);
  });

  it.each(['"', "'", '*', '(', 'a AND', 'NEAR(', '-', ':', '%00', 'set*labels"', '你好', '%F0%9F%8D%8C'])(
    'accepts any text: %s',
    async (text) => {
      expect((await registry.request(`/api/v1/functions?q=${text}`)).status).toBe(200);
    },
  );
});

describe('functionConfig schemas', () => {
  it('come from the newest release that serves the API version', async () => {
    const response = await registry.request('/schemas/example.com/v1/setlabels.json');
    expect(response.headers.get('content-type')).toBe('application/schema+json');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('etag')).toMatch(/^"sha256:[a-f0-9]{64}"$/);
    const schema = (await response.json()) as { properties: Record<string, object> };
    expect(schema.properties).toMatchObject({
      kind: { const: 'SetLabels' },
      apiVersion: { const: 'example.com/v1' },
    });
    const again = await registry.request('/schemas/example.com/v1/SetLabels.json', {
      headers: { 'If-None-Match': response.headers.get('etag') ?? '' },
    });
    expect(again.status).toBe(304);
    expect((await registry.request('/schemas/example.com/v1beta1/SetLabels.json')).status).toBe(200);
    expect((await problem('/schemas/example.com/v3/SetLabels.json')).body.hint).toContain('v1beta1');
  });
});

describe('events', () => {
  it('are returned in order and in pages', async () => {
    const seen: number[] = [];
    let after = 0;
    for (;;) {
      const page = (await (
        await registry.request(`/api/v1/events?after=${after}&limit=2`)
      ).json()) as EventPage;
      seen.push(...page.events.map(({ sequence }) => sequence));
      if (page.events.length === 0) break;
      after = page.next;
    }
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.length).toBeGreaterThanOrEqual(6);
    expect((await problem('/api/v1/events?after=-1')).status).toBe(400);
  });
});

describe('operations', () => {
  it('report that the registry is healthy', async () => {
    expect(await (await registry.request('/healthz')).json()).toEqual({ status: 'ok' });
    const ready = await registry.request('/readyz');
    expect([ready.status, ((await ready.json()) as { status: string }).status]).toEqual([200, 'ok']);
    expect(await (await registry.request('/readyz?exclude=store&exclude=blobs')).json()).toMatchObject({
      status: 'ok',
      checks: [{ name: 'catalogs' }],
    });
    expect((await problem('/readyz?exclude=etcd')).status).toBe(400);
    expect(await (await registry.request('/')).text()).toContain('/openapi.json');
    expect(await (await registry.request('/openapi.json')).json()).toHaveProperty('openapi', '3.1.0');
  });

  it('count requests by template, never by path', async () => {
    await registry.request('/api/v1/functions/example.com/SetLabels');
    await registry.request('/some/path/that/is/not');
    const metrics = await (await registry.request('/metrics')).text();
    expect(metrics).toContain('route="/api/v1/functions/{group}/{kind}",status="200"');
    expect(metrics).toContain('route="unmatched",status="404"');
    expect(metrics).not.toContain('SetLabels');
    expect(metrics).toMatch(/^krmhub_functions 3$/m);
    expect(metrics).toMatch(/^krmhub_catalog_functions\{catalog="default"\} 3$/m);
  });

  it('respond to unknown paths and methods with problems', async () => {
    const missing = await problem('/api/v1/nothing');
    expect([missing.status, missing.body.code]).toEqual([404, 'not-found']);
    const response = await registry.request('/api/v1/functions', { method: 'DELETE' });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    const release = await registry.request('/api/v1/functions/example.com/SetLabels/releases/1.0.0', {
      method: 'PATCH',
    });
    expect(release.headers.get('allow')?.split(', ').sort()).toEqual(['GET', 'HEAD', 'PUT']);
    expect((await registry.request('/healthz', { method: 'OPTIONS' })).status).toBe(204);
  });

  it('give every response a request ID and headers that protect browsers', async () => {
    for (const target of [
      '/',
      '/healthz',
      '/api/v1/functions',
      '/nothing',
      '/metrics',
      '/catalogs/default/catalog.yaml',
    ]) {
      const { headers } = await registry.request(target);
      expect(headers.get('x-content-type-options'), target).toBe('nosniff');
      expect(headers.get('content-security-policy'), target).toContain("default-src 'none'");
      expect(headers.get('x-request-id'), target).toMatch(/^[0-9a-f-]{36}$/);
    }
    const own = await registry.request('/healthz', { headers: { 'X-Request-Id': 'trace-1' } });
    expect(own.headers.get('x-request-id')).toBe('trace-1');
    const hostile = await registry.request('/healthz', {
      headers: { 'X-Request-Id': `{"a": ${'x'.repeat(100)}}` },
    });
    expect(hostile.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });
});
