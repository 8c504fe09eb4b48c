import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry();
});
afterAll(() => registry.close());

const ask = (target: string, headers: Record<string, string> = {}) => registry.request(target, { headers });
const browse = (target: string, headers: Record<string, string> = {}) =>
  ask(target, { Accept: BROWSER, ...headers });

describe('the first page', () => {
  it.each([
    [BROWSER, 'text/html; charset=utf-8'],
    ['text/html', 'text/html; charset=utf-8'],
    ['TEXT/HTML ; q=0.5', 'text/html; charset=utf-8'],
    ['*/*', 'text/plain; charset=UTF-8'],
    ['text/*', 'text/plain; charset=UTF-8'],
    ['text/html;q=0', 'text/plain; charset=UTF-8'],
    ['text/plain, text/html;q=0.9', 'text/plain; charset=UTF-8'],
    ['', 'text/plain; charset=UTF-8'],
  ])('is served for Accept: %s', async (accept, type) => {
    const response = await ask('/', { Accept: accept });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe(type);
    expect(response.headers.get('vary')).toContain('Accept');
  });

  it('is text without Accept', async () => {
    expect(await (await ask('/')).text()).toContain('/api/v1/functions');
  });
});

describe('a page', () => {
  it('runs and loads only files of the registry', async () => {
    const response = await browse('/');
    const policy = response.headers.get('content-security-policy');
    expect(policy).toBe(
      "default-src 'none'; style-src 'self'; script-src 'self'; script-src-attr 'none'; img-src 'self'; " +
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    );
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('referrer-policy')).toBe('no-referrer');
    const text = await response.text();
    expect(text).not.toMatch(/\sstyle=|\son[a-z]+=|<style|<script>|javascript:/);
    for (const [, target] of text.matchAll(/(?:src|href)="([^"]+)"/g)) expect(target).toMatch(/^[/#](?!\/)/);
  });

  it('responds 304 to a client that has it, in each coding', async () => {
    for (const coding of ['br', 'gzip', 'identity']) {
      const headers = { 'Accept-Encoding': coding };
      const first = await browse('/', headers);
      expect(first.headers.get('content-encoding')).toBe(coding === 'identity' ? null : coding);
      expect(first.headers.get('vary')).toBe('Accept, Accept-Encoding');
      expect(first.headers.get('cache-control')).toBe('no-cache');
      const tag = first.headers.get('etag') ?? '';
      expect(tag).not.toBe('');
      const again = await browse('/', { ...headers, 'If-None-Match': tag });
      expect([again.status, await again.text()]).toEqual([304, '']);
    }
  });

  it('is below the path of the public URL', async () => {
    const below = await openTestRegistry({ config: { publicUrl: 'https://example.com/krm' } });
    try {
      const response = await below.request('/', { headers: { Accept: BROWSER } });
      const text = await response.text();
      for (const [, target = ''] of text.matchAll(/(?:src|href|action|data-suggestions)="([^"]+)"/g)) {
        expect(target).toMatch(/^(?:\/krm(?:\/|$)|#|https:\/\/example\.com\/krm)/);
      }
      expect(text).toContain('<link rel="canonical" href="https://example.com/krm/"/>');
    } finally {
      await below.close();
    }
  });
});

describe('failures', () => {
  it('are pages for browsers, with the texts of the problem', async () => {
    const response = await browse('/nothing/here');
    expect(response.status).toBe(404);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(response.headers.get('cache-control')).toBe('no-store');
    const text = await response.text();
    expect(text).toContain('Path /nothing/here not found.');
    expect(text).toContain('Not Found');
    expect(text).toContain(response.headers.get('x-request-id') ?? 'no id');
  });

  it.each([
    '/api/v1/nothing',
    '/api/v1/functions?limit=x',
    '/catalogs/none/catalog.yaml',
    '/schemas/a.b/v1/C.json',
  ])('on paths of programs stay problems: %s', async (target) => {
    const response = await browse(target);
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
  });

  it('are problems for clients that do not accept a page', async () => {
    const response = await ask('/nothing', { Accept: '*/*' });
    expect(response.headers.get('content-type')).toBe('application/problem+json');
  });

  it('show hostile text as text', async () => {
    const text = await (await browse(`/${encodeURIComponent('<script>alert(1)</script>\u202e"\'')}`)).text();
    expect(text).not.toContain('<script>alert');
    expect(text).not.toContain('\u202e');
  });

  it('count as reads where they are pages, and beyond the limit they are a line of text', async () => {
    const limited = await openTestRegistry({ config: { requestsPerMinute: 4 } });
    try {
      const page = { headers: { Accept: BROWSER } };
      expect((await limited.request('/nothing', page)).status).toBe(404);
      expect((await limited.request('/assets/x/nothing.css', page)).status).toBe(404);
      expect((await limited.request('/sign-out', page)).status).toBe(405);
      expect((await limited.request('/sign-out', { ...page, method: 'POST' })).status).toBe(403);
      for (const target of ['/nothing', '/functions']) {
        const refused = await limited.request(target, page);
        expect([refused.status, refused.headers.get('content-type')]).toEqual([
          429,
          'text/plain; charset=utf-8',
        ]);
        expect(await refused.text()).toMatch(/too many requests from your address\nTry again in \d+ seconds/);
        expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
      }
      expect((await limited.request('/nothing', { headers: { Accept: '*/*' } })).status).toBe(404);
    } finally {
      await limited.close();
    }
  });

  it('list the allowed methods for a wrong one', async () => {
    const response = await registry.request('/', { method: 'POST', headers: { Accept: BROWSER } });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect(await response.text()).toContain('Method POST is not allowed');
  });

  it('list the allowed methods of every path that is served', async () => {
    const methods = new Map<string, Set<string>>();
    for (const { path, method } of registry.app.routes) {
      if (path.includes('*') || path.startsWith('/v2')) continue;
      methods.set(path, (methods.get(path) ?? new Set()).add(method));
    }
    expect(methods.size).toBeGreaterThan(80);
    const wrong: string[] = [];
    for (const [path, known] of methods) {
      // What the patterns of parameters end with, such as `.yaml`.
      const target = path.replace(
        /:\w+(\{[^}]*\})?/g,
        (_, pattern = '') => `a1${/\\(\.[\w.]+)\}$/.exec(pattern)?.[1] ?? ''}`,
      );
      for (const method of ['GET', 'PUT', 'POST', 'DELETE', 'PATCH', 'QUERY']) {
        // `report-leak` may also be the ID of a token.
        if (known.has(method) || (method === 'DELETE' && target.endsWith('/tokens/report-leak'))) continue;
        const response = await registry.request(target, { method });
        await response.text();
        const allowed = (response.headers.get('allow') ?? '').split(', ');
        const isRight = response.status === 405 && allowed[0] !== '' && !allowed.includes(method);
        if (!isRight) wrong.push(`${method} ${target}: ${response.status}, Allow: ${allowed}`);
      }
      const options = await registry.request(target, { method: 'OPTIONS' });
      if (options.status !== 204) wrong.push(`OPTIONS ${target}: ${options.status}`);
    }
    expect(wrong).toEqual([]);
  });
});

describe('files that pages load', () => {
  it('can be cached forever under their digest', async () => {
    const page = await (await browse('/')).text();
    const targets = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, target]) => target!);
    const types = new Map<string, string>();
    for (const target of new Set(targets)) {
      const response = await ask(target, { 'Accept-Encoding': 'br' });
      expect(response.status, target).toBe(200);
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(response.headers.get('content-encoding')).toBe('br');
      types.set(target.split('/').at(-1)!, response.headers.get('content-type')!);
    }
    expect(Object.fromEntries(types)).toEqual({
      'icon.svg': 'image/svg+xml',
      'style.css': 'text/css; charset=utf-8',
      'theme.js': 'text/javascript; charset=utf-8',
      'script.js': 'text/javascript; charset=utf-8',
    });
  });

  it('are small', async () => {
    const { assets } = (await import('./site.js')).createSite({}, (await import('./assets.js')).readAssets());
    expect(assets.find('style.css')!.bytes.byteLength).toBeLessThan(26_000);
    expect(assets.find('script.js')!.bytes.byteLength).toBeLessThan(7_000);
  });

  it.each(['/assets/0000000000000000/style.css', '/assets/x/..%2Fpackage.json', '/assets/x/__proto__'])(
    'do not include others: %s',
    async (target) => {
      expect((await ask(target)).status).toBe(404);
    },
  );

  it('include the icon under its conventional name', async () => {
    const response = await ask('/favicon.ico');
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
  });
});
