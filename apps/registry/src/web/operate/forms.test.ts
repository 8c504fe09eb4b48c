import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../limits.js';
import { signedIn, TestBrowser } from '../../testing/operator-session.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { OPERATE_ROUTES } from './operate-routes.js';

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry();
});
afterAll(() => registry.close());

/** A form that would create a token. */
const TOKEN = { name: 'forged', scopes: 'admin', groups: '*', repositories: '*', expiresInDays: '1' };
const names = async () => (await registry.parts.store.tokens()).map(({ name }) => name);

describe('a form that changes something', () => {
  it('is refused without the key of the session, or with another one', async () => {
    const browser = await signedIn(registry);
    const formKey = await browser.formKey();
    const other = await (await signedIn(registry)).formKey();
    expect(other).not.toBe(formKey);
    const keys: (string | string[] | undefined)[] = [
      undefined,
      '',
      other,
      formKey.slice(0, -1),
      `${formKey}A`,
      formKey.toLowerCase(),
      [formKey, formKey],
      [other, formKey],
    ];
    for (const key of keys) {
      const response = await browser.post('/operate/tokens/new', {
        ...TOKEN,
        ...(key === undefined ? {} : { formKey: key }),
      });
      expect(response.status, String(key)).toBe(403);
      expect(await response.text()).toContain('Nothing was changed');
    }
    const inQuery = await browser.post(`/operate/tokens/new?formKey=${formKey}`, TOKEN);
    expect(inQuery.status).toBe(400);
    expect(await names()).not.toContain('forged');
  });

  it.each<[string, Record<string, string | undefined>]>([
    ['another origin', { Origin: 'https://evil.example' }],
    [
      'another origin that says it is ours',
      { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'same-origin' },
    ],
    ['another port', { Origin: 'http://registry.test:81', 'Sec-Fetch-Site': 'same-site' }],
    [
      'a name that begins as ours',
      { Origin: 'http://registry.test.evil.example', 'Sec-Fetch-Site': undefined },
    ],
    ['no origin', { Origin: undefined }],
    ['an opaque origin', { Origin: 'null', 'Sec-Fetch-Site': 'cross-site' }],
    ['an opaque origin alone', { Origin: 'null', 'Sec-Fetch-Site': undefined }],
    ['another site', { 'Sec-Fetch-Site': 'cross-site' }],
    ['another host of our site', { 'Sec-Fetch-Site': 'same-site' }],
    ['nothing that browsers send', { Origin: undefined, 'Sec-Fetch-Site': undefined }],
    [
      'a referrer alone',
      { Origin: undefined, 'Sec-Fetch-Site': undefined, Referer: 'http://registry.test/operate' },
    ],
    ['two origins', { Origin: 'http://registry.test, https://evil.example' }],
  ])('is refused from %s, whatever its content', async (_, headers) => {
    const browser = await signedIn(registry);
    const formKey = await browser.formKey();
    const response = await browser.post('/operate/tokens/new', { ...TOKEN, formKey }, headers);
    expect(response.status).toBe(403);
    expect(await response.text()).toContain('is not from a page of this registry');
    expect(await names()).not.toContain('forged');
    // Other sites can sign no one in or out.
    const { secret } = await registry.token({});
    const victim = new TestBrowser(registry);
    const login = await victim.post('/sign-in', { token: secret, from: '/operate' }, headers);
    expect([login.status, login.headers.get('set-cookie')]).toEqual([403, null]);
    expect((await browser.post('/sign-out', { formKey }, headers)).status).toBe(403);
    expect((await browser.get('/operate')).status).toBe(200);
  });

  it('is accepted if the browser sends only the origin', async () => {
    const browser = await signedIn(registry);
    const formKey = await browser.formKey();
    const sent = await browser.post(
      '/operate/tokens/new',
      { ...TOKEN, name: 'of an older browser', formKey },
      { 'Sec-Fetch-Site': undefined },
    );
    expect(sent.status).toBe(303);
  });

  it('must come from the public URL if there is one, whatever the Host header says', async () => {
    const named = await openTestRegistry({ config: { publicUrl: 'https://krm.example.com' } });
    try {
      const { secret } = await named.token({});
      for (const origin of ['http://krm.example.com', 'http://registry.test', 'https://evil.example']) {
        const browser = new TestBrowser(named, origin);
        const headers = { Host: new URL(origin).host, 'X-Forwarded-Host': 'krm.example.com' };
        const response = await browser.post('/sign-in', { token: secret, from: '/operate' }, headers);
        expect([origin, response.status]).toEqual([origin, 403]);
        expect(await response.text()).toContain('https://krm.example.com/operate');
      }
      expect((await new TestBrowser(named, 'https://krm.example.com').signIn(secret)).status).toBe(303);
    } finally {
      await named.close();
    }
  });

  it.each(['text/plain', 'application/json', 'multipart/form-data; boundary=x', undefined])(
    'is refused as %s',
    async (type) => {
      const browser = await signedIn(registry);
      const formKey = await browser.formKey();
      const response = await browser.post(
        '/operate/tokens/new',
        { ...TOKEN, formKey },
        { 'Content-Type': type },
      );
      expect([415, 400]).toContain(response.status);
      expect(await names()).not.toContain('forged');
    },
  );

  it('has a bounded size and number of fields', async () => {
    const browser = await signedIn(registry);
    const formKey = await browser.formKey();
    const { maxFormBytes, maxFormFields } = SERVER_LIMITS;
    const sized = async (bytes: number) => {
      const form = new URLSearchParams({ formKey, ...TOKEN, expiresInDays: '' }).toString();
      return browser.post('/operate/tokens/new', {
        formKey,
        ...TOKEN,
        expiresInDays: '0'.repeat(bytes - form.length),
      });
    };
    expect((await sized(maxFormBytes)).status).toBe(400);
    expect((await sized(maxFormBytes + 1)).status).toBe(413);
    const many = async (fields: number) => {
      const others = Array.from({ length: fields - 1 }, (_, index) => [`f${index}`, 'x']);
      return (await browser.post('/sign-out', { formKey, ...Object.fromEntries(others) })).text();
    };
    expect(await many(maxFormFields)).toContain('is unknown');
    expect(await many(maxFormFields + 1)).toContain(`more than ${maxFormFields} fields`);
    expect((await browser.post('/operate/tokens/new', { formKey, ...TOKEN, more: 'x' })).status).toBe(400);
    const twice = await browser.post('/operate/tokens/new', { formKey, ...TOKEN, name: ['a', 'b'] });
    expect(twice.status).toBe(400);
    expect(await names()).not.toContain('forged');
  });

  it('is never sent by a GET: no GET of a page changes anything', async () => {
    const browser = await signedIn(registry);
    const query = new URLSearchParams({ ...TOKEN, formKey: await browser.formKey() });
    for (const { method, path } of Object.values(OPERATE_ROUTES)) {
      if (method !== 'post') continue;
      const target = path.replace('{id}', browser.tokenId).replace(/\{\w+\}/g, 'default');
      for (const verb of ['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
        const init = { method: verb, headers: { Cookie: browser.cookie, 'X-HTTP-Method-Override': 'POST' } };
        const response = await registry.request(`${target}?${query}`, init);
        expect(response.status, `${verb} ${target}`).toBeLessThan(500);
      }
    }
    expect((await browser.get('/operate')).status).toBe(200);
    expect(await names()).not.toContain('forged');
  });
});

describe('every response below /operate', () => {
  it('is not cached, and not readable by pages of another origin', async () => {
    const browser = await signedIn(registry);
    const lesser = await signedIn(registry, { scopes: ['publish'], groups: ['example.com'] });
    const formKey = await browser.formKey();
    const responses: [string, Promise<Response>][] = [];
    for (const { method, path } of Object.values(OPERATE_ROUTES)) {
      const target = path.replace('{id}', browser.tokenId).replace(/\{\w+\}/g, 'default');
      if (method === 'get') {
        for (const who of [browser, lesser, new TestBrowser(registry)]) {
          responses.push([target, who.get(target, { Origin: 'https://evil.example' })]);
        }
        responses.push([`${target}?wrong=1`, browser.get(`${target}?wrong=1`)]);
      } else if (path !== '/sign-out' && !path.endsWith('/revoke')) {
        responses.push([target, browser.post(target, { formKey })]);
        responses.push([target, browser.post(target, {}, { Origin: 'https://evil.example' })]);
      }
    }
    responses.push(['nothing', browser.get('/operate/nothing')], ['no method', browser.get('/sign-out')]);
    expect(responses.length).toBeGreaterThan(30);
    for (const [target, reply] of responses) {
      const { headers, status } = await reply;
      expect([target, status, headers.get('cache-control')]).toEqual([target, status, 'private, no-store']);
      expect(headers.get('access-control-allow-origin')).toBeNull();
      expect(headers.get('access-control-allow-credentials')).toBeNull();
      expect(headers.get('etag')).toBeNull();
      // With `no-referrer`, browsers would send the registry's forms with `Origin: null`.
      expect(headers.get('referrer-policy')).toBe('same-origin');
      expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
      if (status === 200) expect(headers.get('content-security-policy')).toContain("form-action 'self'");
    }
  });

  it('is not compressed if it contains a secret', async () => {
    const browser = await signedIn(registry);
    const response = await browser.get('/operate', { 'Accept-Encoding': 'gzip, br' });
    expect(response.headers.get('content-encoding')).toBeNull();
  });

  it('does not affect other reads', async () => {
    const response = await registry.request('/api/v1/functions', {
      headers: { Origin: 'https://a.example' },
    });
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    const page = await registry.request('/functions', { headers: { Accept: 'text/html' } });
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
  });
});
