import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { unknownHighlights } from './highlights.js';

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry();
});
afterAll(() => registry.close());

const home = async () => (await registry.request('/', { headers: { Accept: 'text/html' } })).text();

describe('the first page', () => {
  it('of an empty registry explains how to publish', async () => {
    const page = await home();
    expect(page).toContain('It has no functions yet');
    expect(page).toContain('krmhub publish');
    expect(page).toContain('krmhub fn eval');
    expect(page).toContain('krmhub catalog apply --example kpt-functions');
    expect(page).toContain('href="/operate/recipes#ready-recipes"');
    expect(page).not.toContain('Newest releases');
  });

  it('shows the functions of the registry', async () => {
    await registry.publish({ kind: 'SetLabels', release: '1.0.0', tags: ['mutator', 'labels'] });
    await registry.publish({ kind: 'CheckLimits', release: '2.0.0', tags: ['validator', 'labels'] });
    await registry.publish({ kind: 'Yanked', release: '1.0.0', tags: ['gone'] });
    const yank = await registry.send('POST', '/api/v1/functions/example.com/Yanked/releases/1.0.0/yank', {
      reason: 'wrong',
    });
    expect(yank.status).toBe(200);
    await registry.waitForCatalogs();
    const page = await home();
    expect(page).toContain('>3 functions</a>');
    expect(page).toContain('>1 catalog</a>');
    expect(page).toMatch(/href="\/functions\?tag=labels"><bdi>labels<\/bdi> <span class="quiet">2</);
    expect(page.indexOf('/functions/example.com/CheckLimits')).toBeLessThan(
      page.indexOf('/functions/example.com/SetLabels'),
    );
    expect(page).not.toContain('/functions/example.com/Yanked');
    expect(page).toMatch(/href="\/catalogs\/default">default<\/a> <span class="quiet">2 functions/);
    expect(page).toContain('krmhub show example.com/CheckLimits');
    expect(page).toContain('/functions/example.com/checklimits:2.0.0');
  });

  it('says what a function is, with a picture, and shows who published and signed a release', async () => {
    const page = await home();
    expect(page).toContain(
      'A KRM function is a program that changes, checks, or generates Kubernetes manifests.',
    );
    expect(page).toMatch(/<svg [^>]*role="img" aria-labelledby="picture-title"><title id="picture-title">/);
    const [, newest = ''] = page.split('id="newest"');
    expect(newest).toContain('not verified: says it is published by <bdi>Example Co</bdi>');
    expect(newest).toContain('>not signed</span>');
    expect(page).not.toContain('Highlights');
  });

  it('shows the functions that the operator chose, without those that it does not have', async () => {
    const config = {
      highlights: ['SetLabels', 'Missing', 'Yanked'].map((kind) => ({ group: 'example.com', kind })),
    };
    const chosen = await openTestRegistry({ config });
    try {
      for (const kind of ['SetLabels', 'Other', 'Yanked']) await chosen.publish({ kind, release: '1.0.0' });
      const yank = await chosen.send('POST', '/api/v1/functions/example.com/Yanked/releases/1.0.0/yank', {
        reason: 'wrong',
      });
      expect(yank.status).toBe(200);
      const page = await (await chosen.request('/', { headers: { Accept: 'text/html' } })).text();
      const highlights = page.slice(page.indexOf('id="highlights"'), page.indexOf('id="newest"'));
      expect(
        [...highlights.matchAll(/href="\/functions\/example.com\/(\w+)"/g)].map(([, kind]) => kind),
      ).toEqual(['SetLabels']);
      expect(await unknownHighlights(chosen.parts.store, config.highlights)).toEqual([
        { group: 'example.com', kind: 'Missing' },
      ]);
    } finally {
      await chosen.close();
    }
  });

  it('names the registry by its public URL in commands, never by the Host header', async () => {
    const named = await openTestRegistry({ config: { publicUrl: 'https://krm.example.com' } });
    try {
      await named.publish({ kind: 'SetLabels', release: '1.0.0' });
      const headers = { Accept: 'text/html', Host: 'evil.example', 'X-Forwarded-Host': 'evil.example' };
      const page = await (await named.request('/', { headers })).text();
      expect(page).toContain('export KRMHUB_REGISTRY=https://krm.example.com\n');
      expect(page).toContain('oras pull krm.example.com/functions/example.com/setlabels:1.0.0');
      expect(page).not.toContain('evil');
      expect(page).not.toContain('registry.test');
    } finally {
      await named.close();
    }
  });
});
