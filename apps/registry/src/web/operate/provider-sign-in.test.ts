import type { AuditRow } from '@krmhub/catalog';
import { afterEach, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../limits.js';
import { TestBrowser } from '../../testing/operator-session.js';
import { signInSettings, TestProvider, type TestProviderOptions } from '../../testing/test-provider.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

const URL_OF_REGISTRY = 'https://krm.example.com';
const CALLBACK = '/sign-in/callback';

let idp: TestProvider;
let registry: TestRegistry;
afterEach(async () => {
  await registry.close();
  await idp.close();
});

async function start(options: Partial<TestProviderOptions> = {}): Promise<void> {
  idp = await TestProvider.start({
    redirectUri: URL_OF_REGISTRY + CALLBACK,
    isIdTokenComplete: true,
    ...options,
  });
  registry = await openTestRegistry({ config: { publicUrl: URL_OF_REGISTRY, signIn: [settings()] } });
}

const settings = () => ({ ...signInSettings(idp), id: 'staff', name: 'Staff & <b>' });

const newBrowser = () => new TestBrowser(registry, URL_OF_REGISTRY);

/** Goes to the provider and back, and returns where the provider sends the browser. */
async function leave(
  browser: TestBrowser,
  { from = '/operate/tokens', user = 'alice' } = {},
): Promise<string> {
  const left = await browser.get(`/sign-in/staff/start?${new URLSearchParams({ from })}`);
  expect(left.status).toBe(303);
  const back = await idp.signIn(left.headers.get('location')!, user);
  expect(back.origin).toBe(URL_OF_REGISTRY);
  return back.pathname + back.search;
}

async function signIn(browser: TestBrowser, user = 'alice'): Promise<Response> {
  return browser.get(await leave(browser, { user }));
}

async function signedIn(user = 'alice'): Promise<TestBrowser> {
  const browser = newBrowser();
  expect((await signIn(browser, user)).status).toBe(200);
  return browser;
}

async function audit(action?: string): Promise<AuditRow[]> {
  const { rows } = await registry.parts.store.auditRows({}, { limit: 100 });
  return rows.filter((row) => action === undefined || row.action === action);
}

async function apply(spec: string): Promise<void> {
  const text = `apiVersion: krmhub.dev/v1alpha1\nkind: Access\nmetadata: {name: registry}\nspec:\n${spec}`;
  const response = await registry.send('PUT', '/api/v1/access', text);
  expect(response).toMatchObject({ status: 200 });
}

const ADMINS = `  teams:
  - {name: admins, members: [{ssoGroup: platform}]}
  grants:
  - {to: {team: admins}, may: [admin], in: {group: "*"}}
`;

describe('the sign-in page', () => {
  it('has a button for each provider, and a form for tokens', async () => {
    await start();
    const page = await newBrowser().text('/sign-in?from=/operate/tokens');
    expect(page).toContain('href="/sign-in/staff/start?from=%2Foperate%2Ftokens"');
    expect(page).toContain('Sign in with <bdi>Staff &amp; &lt;b&gt;</bdi>');
    expect(page).toContain('<summary>Sign in with a token</summary>');
    const { secret } = await registry.token({});
    expect((await newBrowser().signIn(secret)).status).toBe(303);
  });

  it('says that a provider is away, and lets an administrator in with a token', async () => {
    await start();
    idp.isAway = true;
    const browser = newBrowser();
    const refused = await browser.get('/sign-in/staff/start');
    expect(refused.status).toBe(503);
    expect(await refused.text()).toMatch(/Cannot use Staff &amp; &lt;b&gt;: cannot reach 127\.0\.0\.1/);
    expect(browser.cookie).toBe('');
    const { secret } = await registry.token({});
    expect((await browser.signIn(secret)).status).toBe(303);
  });

  it('has no other providers', async () => {
    await start();
    expect((await newBrowser().get('/sign-in/other/start')).status).toBe(404);
    expect((await newBrowser().get('/sign-in/constructor/start')).status).toBe(404);
  });
});

describe('signing in with a provider', () => {
  it('leads back to the page, without a script and with a cookie of the browser only', async () => {
    await start();
    const browser = newBrowser();
    const asked = await browser.get('/operate/tokens');
    expect(asked.headers.get('location')).toBe('/sign-in?from=%2Foperate%2Ftokens');
    const left = await browser.get('/sign-in/staff/start?from=/operate/tokens');
    expect(left.headers.get('set-cookie')).toMatch(
      /^__Host-krmhub-sign-in=[\w.-]+; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    expect(left.headers.get('cache-control')).toBe('private, no-store');
    const back = await idp.signIn(left.headers.get('location')!);
    const landed = await browser.get(back.pathname + back.search);
    expect(landed.status).toBe(200);
    const [flow, session] = landed.headers.getSetCookie();
    expect(flow).toMatch(/^__Host-krmhub-sign-in=; Max-Age=0; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
    expect(session).toMatch(
      /^__Host-krmhub-user=[\w-]{43}; Max-Age=28800; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    const page = await landed.text();
    expect(page).toContain('<meta http-equiv="refresh" content="0; url=/operate/tokens"/>');
    expect(page).toContain('<a class="button" href="/operate/tokens">');
    expect(page).not.toMatch(/name="formKey"/);
    const seen = await browser.text('/operate');
    expect(seen).toContain('Alice Example');
  });

  it('works for a registry below a path', async () => {
    const publicUrl = 'https://example.com/krm';
    idp = await TestProvider.start({ redirectUri: publicUrl + CALLBACK });
    registry = await openTestRegistry({ config: { publicUrl, signIn: [settings()] } });
    const browser = new TestBrowser(registry, 'https://example.com');
    const left = await browser.get('/sign-in/staff/start?from=/operate/tokens');
    expect(left.headers.get('set-cookie')).toMatch(
      /^__Secure-krmhub-sign-in=[^;]+; Max-Age=600; Path=\/krm;/,
    );
    const back = await idp.signIn(left.headers.get('location')!);
    expect(back.pathname).toBe(`/krm${CALLBACK}`);
    const landed = await browser.get(CALLBACK + back.search);
    expect(await landed.text()).toContain('content="0; url=/krm/operate/tokens"');
    expect((await browser.get('/operate')).status).toBe(200);
  });

  it('uses a code once, also if a browser asks twice at once', async () => {
    await start();
    const browser = newBrowser();
    const back = await leave(browser);
    const both = await Promise.all([browser.get(back), browser.get(back)]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect(idp.grants).toEqual(['authorization_code']);
    expect((await browser.get('/operate')).status).toBe(200);
  });

  it('gives the rights of the teams, and what is internal to everybody else', async () => {
    await start();
    idp.users.set('bob', { name: 'Bob' });
    const alice = await signedIn();
    const form = { text: 'x', expected: 'none', do: 'check' };
    expect((await alice.act('/operate/access', form)).status).toBe(403);
    await apply(ADMINS);
    expect((await alice.get('/operate/users')).status).toBe(200);
    const bob = await signedIn('bob');
    const page = await bob.text('/operate');
    expect(page).toContain('Bob');
    expect((await bob.get('/operate/users')).status).toBe(403);
  });

  it('writes who it was, from where, and not what was sent', async () => {
    await start();
    const browser = await signedIn();
    expect((await audit('operator.sign-in'))[0]).toMatchObject({
      actor: `Alice Example (alice at ${idp.issuer.replace('http://', '')})`,
      outcome: 'done',
    });
    await browser.act('/sign-out');
    expect(await audit('operator.sign-out')).toHaveLength(1);
    const written = JSON.stringify(await audit()) + registry.logged.join('\n');
    for (const secret of [idp.client.client_secret, browser.cookie.split('=')[1] || 'none', 'eyJ']) {
      expect(written).not.toContain(secret);
    }
  });

  it('replaces the session that the browser has, which nobody else could plant', async () => {
    await start();
    const browser = await signedIn();
    const before = browser.cookie;
    await signIn(browser);
    expect(browser.cookie).not.toBe(before);
    expect((await registry.request('/operate', { headers: { Cookie: before } })).status).toBe(303);
    const planted = newBrowser();
    planted.cookie = `__Host-krmhub-user=${'A'.repeat(43)}`;
    await signIn(planted);
    expect(planted.cookie).not.toContain('AAAA');
  });
});

describe('a sign-in that was not begun here', () => {
  const refused = async (response: Response): Promise<void> => {
    expect(response.status).toBe(403);
    expect(await response.text()).toContain('This browser did not begin this sign-in');
    expect(response.headers.getSetCookie().join()).not.toContain('krmhub-user');
  };

  it('is refused: a link of somebody else signs nobody in (login CSRF)', async () => {
    await start();
    idp.users.set('mallory', { name: 'Mallory' });
    const link = await leave(newBrowser(), { user: 'mallory' });
    await refused(await newBrowser().get(link));
    const victim = newBrowser();
    const own = await leave(victim, { user: 'alice' });
    await refused(await victim.get(link));
    // It did not disturb the sign-in of the victim.
    expect((await victim.get(own)).status).toBe(200);
    expect(await victim.text('/operate')).toContain('Alice Example');
    expect(idp.grants).toEqual(['authorization_code']);
  });

  it('is refused a second time', async () => {
    await start();
    const browser = newBrowser();
    const back = await leave(browser);
    const flow = browser.cookie;
    expect((await browser.get(back)).status).toBe(200);
    await refused(await browser.get(back));
    // A client that keeps the cookie.
    const again = await registry.request(back, { headers: { Cookie: flow, Accept: 'text/html' } });
    expect(again.status).toBe(403);
    expect(again.headers.getSetCookie().join()).not.toContain('krmhub-user=');
  });

  it('is refused after 10 minutes', async () => {
    await start();
    const browser = newBrowser();
    const back = await leave(browser);
    registry.advance(SERVER_LIMITS.flowMilliseconds);
    await refused(await browser.get(back));
  });

  it.each([
    ['another page', (parts: unknown[]) => [parts[0], 'https://evil.example/', parts[2]]],
    ['another provider', (parts: unknown[]) => ['other', parts[1], parts[2]]],
    ['more time', (parts: unknown[]) => [parts[0], parts[1], Number(parts[2]) + 600_000]],
    ['another shape', () => ({ provider: 'staff' })],
    ['no shape', () => null],
  ])('is refused with %s in its cookie', async (_, change) => {
    await start();
    const browser = newBrowser();
    const back = await leave(browser);
    const [, id, about] = /sign-in=([^.]+)\.(.+)$/.exec(browser.cookie) ?? [];
    const parts = JSON.parse(Buffer.from(about!, 'base64url').toString());
    const changed = Buffer.from(JSON.stringify(change(parts))).toString('base64url');
    browser.cookie = `__Host-krmhub-sign-in=${id}.${changed}`;
    await refused(await browser.get(back));
    expect(idp.grants).toEqual([]);
  });

  it.each([
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    'javascript:alert(1)',
    '/sign-in/staff/start',
    '/sign-out',
    '/api/v1/tokens',
  ])('never leads to %s afterwards', async (from) => {
    await start();
    const browser = newBrowser();
    const page = await (await browser.get(await leave(browser, { from }))).text();
    expect(page).toContain('content="0; url=/operate"');
    expect(page).not.toContain('evil');
  });

  it('is not begun by another site', async () => {
    await start();
    const browser = newBrowser();
    const asked = await browser.get('/sign-in/staff/start?from=/operate/tokens', {
      'Sec-Fetch-Site': 'cross-site',
    });
    expect(asked.headers.get('location')).toBe('/sign-in?from=%2Foperate%2Ftokens');
    expect(browser.cookie).toBe('');
  });

  it('is explained if the provider refuses, and audited', async () => {
    await start();
    const browser = newBrowser();
    const left = await browser.get('/sign-in/staff/start');
    const state = new URL(left.headers.get('location')!).searchParams.get('state');
    const answer = new URLSearchParams({
      error: 'access_denied',
      error_description: '<script>alert(1)</script>',
      state: state!,
      iss: idp.issuer,
    });
    const response = await browser.get(`${CALLBACK}?${answer}`);
    expect(response.status).toBe(403);
    const page = await response.text();
    expect(page).toContain('it did not let you in (access_denied: &lt;script&gt;');
    expect(page).not.toContain('<script>alert');
    expect((await audit('operator.sign-in'))[0]).toMatchObject({
      outcome: 'refused',
      detail: { reason: expect.stringContaining('access_denied') },
    });
  });

  it('counts as a failed login', async () => {
    await start();
    await registry.close();
    registry = await openTestRegistry({
      config: { publicUrl: URL_OF_REGISTRY, signIn: [settings()], failedLoginsPerMinute: 2 },
    });
    for (const status of [403, 403, 429]) {
      const browser = newBrowser();
      const back = await leave(browser);
      const wrong = back.replace(/code=[^&]+/, 'code=wrong');
      expect((await browser.get(wrong)).status).toBe(status);
    }
  });

  it('is of a user who is suspended here', async () => {
    await start();
    const browser = await signedIn();
    const [user] = await registry.parts.store.users({ limit: 10 });
    const act = { at: new Date().toISOString(), by: 'admin' };
    await registry.parts.store.suspendUser(user!.id, true, act);
    expect((await browser.get('/operate')).status).toBe(303);
    const again = newBrowser();
    const response = await signIn(again);
    expect(response.status).toBe(403);
    expect(await response.text()).toContain('The user &quot;Alice Example&quot; is suspended');
    expect(again.cookie).not.toContain('krmhub-user');
    // A user who is refused stays signed in.
    const admin = newBrowser();
    await admin.signIn((await registry.token({})).secret);
    expect((await signIn(admin)).status).toBe(403);
    expect((await admin.get('/operate')).status).toBe(200);
    await registry.parts.store.suspendUser(user!.id, false, act);
    expect((await signIn(newBrowser())).status).toBe(200);
  });

  it('is of no new user at the limit, and the operator reads so in the log', async () => {
    await start();
    await registry.close();
    registry = await openTestRegistry({
      config: { publicUrl: URL_OF_REGISTRY, signIn: [settings()], maxUsers: 1 },
    });
    idp.users.set('bob', { name: 'Bob Example', groups: ['platform'] });
    expect((await signIn(newBrowser())).status).toBe(200);
    const newcomer = newBrowser();
    const response = await signIn(newcomer, 'bob');
    expect(response.status).toBe(403);
    expect(await response.text()).toContain('KRMHUB_MAX_USERS');
    expect(newcomer.cookie).not.toContain('krmhub-user');
    expect(registry.logged.filter((line) => line.includes('a sign-in was refused'))).toHaveLength(1);
    expect((await signIn(newBrowser())).status).toBe(200);
  });
});
