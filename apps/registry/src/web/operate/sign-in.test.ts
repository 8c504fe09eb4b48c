import { fillPath } from '@krmhub/api/paths';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newSecret } from '../../http/auth/tokens.js';
import { SERVER_LIMITS } from '../../limits.js';
import { signedIn, TestBrowser } from '../../testing/operator-session.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry();
});
afterAll(() => registry.close());

const PAGES = ['/operate', '/operate/sources', '/operate/tokens', '/operate/tokens/new', '/operate/recipes'];

describe('a user who is not signed in', () => {
  it.each(PAGES)('is sent to sign in, and back: %s', async (page) => {
    const browser = new TestBrowser(registry);
    const asked = await browser.get(page);
    expect(asked.status).toBe(303);
    const target = asked.headers.get('location') ?? '';
    expect(target).toMatch(/^\/sign-in/);
    const form = await (await browser.get(target)).text();
    const from = /name="from" value="([^"]+)"/.exec(form)?.[1] ?? '';
    const { secret } = await registry.token({});
    const entered = await browser.signIn(secret, from);
    expect([entered.status, entered.headers.get('location')]).toEqual([303, page]);
    const seen = await browser.get(page);
    expect(seen.status).toBe(200);
    expect(await seen.text()).toMatch(/Signed in as <b><bdi>tester<\/bdi><\/b>/);
  });

  it('cannot use a bearer token', async () => {
    const { secret } = await registry.token({});
    const browser = new TestBrowser(registry);
    const response = await browser.get('/operate/tokens', { Authorization: `Bearer ${secret}` });
    expect(response.status).toBe(303);
    const posted = await browser.post(
      '/operate/tokens/new',
      { name: 'x', scopes: 'admin', groups: '*', repositories: '*', expiresInDays: '1' },
      { Authorization: `Bearer ${secret}` },
    );
    expect(posted.status).toBe(403);
    expect((await registry.parts.store.tokens()).map(({ name }) => name)).not.toContain('x');
  });
});

describe('a token', () => {
  it.each([
    ['unknown', newSecret(), 'Unknown token.'],
    ['malformed', 'krmhub_123', 'Malformed token: '],
    ['empty', '', 'Malformed token: '],
    ['of markup', '"><script>alert(1)</script>', 'Malformed token: '],
  ])('that is %s is refused, and never shown', async (_, secret, message) => {
    const browser = new TestBrowser(registry);
    const response = await browser.signIn(secret);
    expect(response.status).toBe(403);
    expect(response.headers.get('set-cookie')).toBeNull();
    const page = await response.text();
    expect(page).toContain(message);
    expect(page).toMatch(/<code>(<bdi>)?krmhub token create(<\/bdi>)?<\/code>/);
    if (secret !== '') expect(page).not.toContain(secret);
    expect(page).not.toContain('<script>alert');
  });

  it('that was revoked or has expired is refused', async () => {
    const revoked = await registry.token({});
    await registry.parts.store.revokeToken(revoked.id, new Date().toISOString());
    const response = await new TestBrowser(registry).signIn(revoked.secret);
    expect(response.status).toBe(403);
    expect(await response.text()).toContain('is revoked');
    const other = await openTestRegistry();
    try {
      const expired = await other.token({ expiresInDays: 1 });
      other.advance(86_400_000);
      const refused = await new TestBrowser(other).signIn(expired.secret);
      expect(refused.status).toBe(403);
      expect(await refused.text()).toContain('is expired');
    } finally {
      await other.close();
    }
  });

  it('may have white space around it', async () => {
    const { secret } = await registry.token({});
    expect((await new TestBrowser(registry).signIn(`  ${secret}\n`)).status).toBe(303);
  });

  it('cannot be guessed: failures count as those of the HTTP API do', async () => {
    const limited = await openTestRegistry({ config: { failedLoginsPerMinute: 3 } });
    try {
      const good = await limited.token({});
      const browser = new TestBrowser(limited);
      expect((await browser.signIn(newSecret())).status).toBe(403);
      expect((await browser.signIn('x')).status).toBe(403);
      const whoami = await limited.request(fillPath('whoami', {}), {
        headers: { Authorization: `Bearer ${newSecret()}` },
      });
      expect(whoami.status).toBe(401);
      const refused = await browser.signIn(newSecret());
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(refused.headers.get('set-cookie')).toBeNull();
      expect(refused.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect((await browser.signIn(good.secret)).status).toBe(303);
    } finally {
      await limited.close();
    }
  });
});

describe('the cookie', () => {
  it.each([
    [
      undefined,
      'http://registry.test',
      /^krmhub-user=[\w-]{43}; Max-Age=28800; Path=\/; HttpOnly; SameSite=Strict$/,
    ],
    [
      undefined,
      'https://registry.test',
      /^krmhub-user=[\w-]{43}; Max-Age=28800; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    ],
    [
      'http://10.0.0.1:8080',
      'http://10.0.0.1:8080',
      /^krmhub-user=[\w-]{43}; Max-Age=28800; Path=\/; HttpOnly; SameSite=Strict$/,
    ],
    [
      'https://krm.example.com',
      'https://krm.example.com',
      /^__Host-krmhub-user=[\w-]{43}; Max-Age=28800; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    ],
    [
      'https://example.com/krm',
      'https://example.com',
      /^__Secure-krmhub-user=[\w-]{43}; Max-Age=28800; Path=\/krm; HttpOnly; Secure; SameSite=Strict$/,
    ],
  ])(
    'is as narrow as possible with the public URL %s, reached at %s',
    async (publicUrl, origin, expected) => {
      const other = await openTestRegistry({ config: publicUrl === undefined ? {} : { publicUrl } });
      try {
        const browser = new TestBrowser(other, origin);
        const { secret } = await other.token({});
        const response = await browser.signIn(secret, '/operate/tokens');
        expect(browser.setCookie).toMatch(expected);
        const base = publicUrl?.endsWith('/krm') === true ? '/krm' : '';
        expect(response.headers.get('location')).toBe(`${base}/operate/tokens`);
        expect((await browser.get('/operate/tokens')).status).toBe(200);
        const gone = await browser.post('/sign-out', { formKey: await browser.formKey() });
        expect(gone.headers.get('set-cookie')).toMatch(/Max-Age=0/);
        expect(gone.headers.get('set-cookie')?.replace(/=[^;]*;.*/, '')).toBe(
          /^([^=]+)/.exec(expected.source.slice(1))?.[1],
        );
      } finally {
        await other.close();
      }
    },
  );

  it('contains neither the token, nor its hash, nor its ID', async () => {
    const browser = await signedIn(registry);
    const value = browser.cookie.split('=')[1] ?? '';
    const texts = [value, Buffer.from(value, 'base64url').toString('latin1')];
    for (const text of texts) {
      expect(text).not.toContain(browser.secret.slice(7, 27));
      expect(text).not.toContain(browser.tokenId);
    }
    expect(value).toMatch(/^[\w-]+$/);
  });

  it('is new after each sign-in, and the old one is invalid', async () => {
    const browser = await signedIn(registry);
    const before = browser.cookie;
    await browser.signIn(browser.secret);
    expect(browser.cookie).not.toBe(before);
    expect((await registry.request('/operate', { headers: { Cookie: before } })).status).toBe(303);
  });

  it('is refused if the registry did not issue it', async () => {
    const planted = `krmhub-user=${'A'.repeat(43)}`;
    const browser = new TestBrowser(registry);
    browser.cookie = planted;
    expect((await browser.get('/operate')).status).toBe(303);
    browser.cookie = planted;
    const { secret } = await registry.token({});
    await browser.signIn(secret);
    expect(browser.cookie).not.toBe(planted);
    expect((await registry.request('/operate', { headers: { Cookie: planted } })).status).toBe(303);
  });
});

describe('a session', () => {
  it('ends at sign-out, also for a client that retains the cookie', async () => {
    const browser = await signedIn(registry);
    const { cookie } = browser;
    expect((await browser.act('/sign-out')).headers.get('location')).toBe('/sign-in');
    expect(browser.cookie).toBe('');
    const again = await registry.request('/operate', { headers: { Cookie: cookie } });
    expect(again.status).toBe(303);
    expect(again.headers.get('location')).toBe('/sign-in?ended=true');
  });

  it('ends at once when its token is revoked', async () => {
    const browser = await signedIn(registry);
    expect((await browser.get('/operate/tokens')).status).toBe(200);
    const formKey = await browser.formKey();
    const { cookie } = browser;
    await registry.parts.store.revokeToken(browser.tokenId, new Date().toISOString());
    const refused = await browser.post(`/operate/tokens/new`, {
      formKey,
      name: 'too late',
      scopes: 'admin',
      groups: '*',
      repositories: '*',
      expiresInDays: '1',
    });
    expect(refused.status).toBe(403);
    expect(browser.cookie).toBe('');
    browser.cookie = cookie;
    const page = await browser.get('/operate/tokens');
    expect(page.status).toBe(303);
    expect((await registry.parts.store.tokens()).map(({ name }) => name)).not.toContain('too late');
    expect(await (await browser.get('/sign-in?ended=true')).text()).toContain('You were signed out');
  });

  it('ends after a working day, and never outlives its token', async () => {
    const other = await openTestRegistry();
    try {
      const [day, short] = [await signedIn(other), new TestBrowser(other)];
      const { secret } = await other.token({ expiresInDays: 1 });
      other.advance(SERVER_LIMITS.sessionMilliseconds - 60_000);
      expect((await day.get('/operate')).status).toBe(200);
      other.advance(60_000);
      expect((await day.get('/operate')).status).toBe(303);
      other.advance(86_400_000 - SERVER_LIMITS.sessionMilliseconds - 3_600_000);
      expect((await short.signIn(secret)).status).toBe(303);
      const seconds = Number(/Max-Age=(\d+)/.exec(short.setCookie)?.[1]);
      expect(seconds).toBeGreaterThan(3_500);
      expect(seconds).toBeLessThanOrEqual(3_600);
      expect((await short.get('/operate')).status).toBe(200);
      other.advance(3_600_000);
      expect((await short.get('/operate')).status).toBe(303);
    } finally {
      await other.close();
    }
  });

  it('works for the pages only: neither the API nor /v2/ accepts it', async () => {
    const browser = await signedIn(registry);
    const { cookie } = browser;
    const value = cookie.split('=')[1]!;
    for (const headers of [{ Cookie: cookie }, { Authorization: `Bearer ${value}` }]) {
      const whoami = await registry.request('/api/v1/tokens', { headers });
      expect(whoami.status).toBe(401);
      const made = await registry.request('/api/v1/tokens', {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body: '{"name":"x","scopes":["yank"]}',
      });
      expect(made.status).toBe(401);
      expect((await registry.request('/v2/', { headers })).status).toBe(401);
      const upload = await registry.request('/v2/team/a/blobs/uploads/', { method: 'POST', headers });
      expect(upload.status).toBe(401);
    }
    const basic = `Basic ${btoa(`x:${value}`)}`;
    expect((await registry.request('/v2/token', { headers: { Authorization: basic } })).status).toBe(401);
  });

  it('cannot start with an access token of /v2/token', async () => {
    const { secret } = await registry.token({});
    const issued = await registry.request('/v2/token?scope=repository:team/a:push', {
      headers: { Authorization: `Basic ${btoa(`x:${secret}`)}` },
    });
    const { token } = (await issued.json()) as { token: string };
    const browser = new TestBrowser(registry);
    browser.cookie = `krmhub-user=${token}`;
    expect((await browser.get('/operate')).status).toBe(303);
    expect((await browser.signIn(token)).status).toBe(403);
  });

  it('cannot start with the token of a directory, which may do nothing else', async () => {
    const { secret } = await registry.token({ scopes: ['scim'] });
    const browser = new TestBrowser(registry);
    const response = await browser.signIn(secret);
    expect([response.status, browser.cookie]).toEqual([403, '']);
    expect(await response.text()).toContain('The token of a directory signs nobody in');
  });

  it('leaves no secret in the log', async () => {
    const browser = await signedIn(registry);
    const formKey = await browser.formKey();
    await browser.get('/operate/tokens');
    await browser.signIn('krmhub_typed-wrong');
    const log = registry.logged.join('\n');
    expect(log).toContain('/operate/tokens');
    for (const secret of [browser.secret, browser.cookie.split('=')[1]!, formKey, 'krmhub_typed-wrong']) {
      expect(log).not.toContain(secret);
    }
  });
});

describe('the path after signing in', () => {
  it.each([
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/operate//evil.example/%2e%2e',
    '/operate/../../evil',
    '/operate\\@evil.example',
    '/operate@evil.example',
    '/operate.evil.example',
    'javascript:alert(1)',
    '/operate\r\nLocation: https://evil.example',
    '/operate/%0d%0aSet-Cookie:a=b',
    '/api/v1/tokens',
    '/sign-out',
    '/sign-in?from=x',
    '/operate?next=//evil.example',
    '/functions//evil.example',
    '/functions/..%2f..',
    '/functions/../../evil.example',
    '/functionsevil.example',
    '/catalogs/a..evil/b',
    ' /operate/tokens',
    '"><script>alert(1)</script>',
  ])('never leads to another site: %s', async (from) => {
    const browser = new TestBrowser(registry);
    const page = await (await browser.get(`/sign-in?${new URLSearchParams({ from })}`)).text();
    expect(page).toContain('name="from" value="/operate"');
    expect(page).not.toContain('evil');
    const { secret } = await registry.token({});
    const response = await browser.signIn(secret, from);
    expect([response.status, response.headers.get('location')]).toEqual([303, '/operate']);
    const known = await browser.get(`/sign-in?${new URLSearchParams({ from })}`);
    expect([known.status, known.headers.get('location')]).toEqual([303, '/operate']);
  });

  it('may be any page', async () => {
    for (const from of [
      '/operate/recipes/platform-2',
      '/operate/sources?catalog=default&problems=true',
      '/functions/example.com/SetLabels/releases/1.0.0-rc.1/source',
      '/catalogs/platform?source=ours',
    ]) {
      const { secret } = await registry.token({});
      const response = await new TestBrowser(registry).signIn(secret, from);
      expect(response.headers.get('location')).toBe(from);
    }
  });
});
