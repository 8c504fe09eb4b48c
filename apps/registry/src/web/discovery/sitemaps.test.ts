import { AccessRules } from '@krmhub/catalog';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { feedId } from '../feeds/feed-id.js';
import { SITEMAP_URLS } from './sitemap.js';
import { Sitemaps } from './sitemaps.js';

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry({ config: { publicUrl: 'https://krm.example.com/hub' } });
  await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
});
afterAll(() => registry.close());

describe('sitemaps', () => {
  it('list every function and catalog with whole URLs', async () => {
    expect(await (await registry.request('/robots.txt')).text()).toContain(
      'Sitemap: https://krm.example.com/hub/sitemap.xml',
    );
    const index = await registry.request('/sitemap.xml');
    expect(index.headers.get('content-type')).toBe('application/xml; charset=utf-8');
    expect(await index.text()).toContain('<loc>https://krm.example.com/hub/sitemaps/1.xml</loc>');
    const text = await (await registry.request('/sitemaps/1.xml')).text();
    expect(text).toMatch(
      /<loc>https:\/\/krm\.example\.com\/hub\/functions\/example\.com\/SetLabels<\/loc><lastmod>\d{4}-/,
    );
    expect(text).toContain('/hub/catalogs/default</loc>');
    for (const path of ['/sitemaps/2.xml', '/sitemaps/0.xml', '/sitemaps/x.xml'])
      expect((await registry.request(path)).status).toBeGreaterThanOrEqual(400);
  });

  it('do not exist without a public URL', async () => {
    const other = await openTestRegistry();
    try {
      expect((await other.request('/sitemap.xml')).status).toBe(404);
      expect(await (await other.request('/robots.txt')).text()).not.toContain('Sitemap');
    } finally {
      await other.close();
    }
  });

  it('have several parts, and are read once an hour', async () => {
    let reads = 0;
    let now = 0;
    const store = {
      catalogs: async () => [],
      ownerClaims: async () => [],
      async *allFunctions() {
        reads += 1;
        for (let at = 0; at < SITEMAP_URLS; at += 1)
          yield { group: 'example.com', kind: `Kind${at}`, revision: 1, releases: [] };
      },
    };
    const site = { whole: (path: string) => `https://x.example${path}` };
    const made = new Sitemaps(store, site as never, () => new Date(now), { rules: new AccessRules() });
    const [first, again] = await Promise.all([made.current(), made.current()]);
    expect(first).toBe(again);
    expect(first.parts).toHaveLength(2);
    expect(first.parts[0]!.match(/<url>/g)).toHaveLength(SITEMAP_URLS);
    expect(first.index.match(/<sitemap>/g)).toHaveLength(2);
    expect(reads).toBe(1);
    now += 3_600_000;
    await made.current();
    expect(reads).toBe(2);
  });
});

it('feeds keep their ID when the URL of the registry changes', async () => {
  const { store } = registry.parts;
  const text = await (await registry.request('/functions.atom')).text();
  const id = /<id>(.*?)<\/id>/.exec(text)?.[1];
  expect(id).toBe(await feedId(store, '/functions.atom'));
  const page = await (await registry.request('/catalogs/default/snapshots.atom')).text();
  expect(/<id>(.*?)<\/id>/.exec(page)?.[1]).not.toBe(id);
  const reopened = await registry.reopen();
  try {
    expect(await feedId(reopened.parts.store, '/functions.atom')).toBe(id);
  } finally {
    registry = reopened;
  }
});
