import type { LoginResult, PendingLogin, Token } from '@krmhub/api/model';
import type { KrmhubError } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createToken } from '../http/auth/tokens.js';
import { SERVER_LIMITS } from '../limits.js';
import { signedIn, TestBrowser } from '../testing/operator-session.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';
import { userSignedIn } from '../testing/user-session.js';
import { readCode, requestLogin } from './device-login.js';

const PAGE = '/login/device';
let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry();
});
afterAll(() => registry.close());

const post = <Body>(target: string, body: object) =>
  registry.send<Body & { code?: string; detail?: string }>('POST', target, body, '');
const startAt = async (own: TestRegistry) =>
  (await own.send<PendingLogin>('POST', '/api/v1/login/requests', { client: 'a' }, '')).body;
const start = async (client = 'laptop') => {
  const { body, status } = await post<PendingLogin>('/api/v1/login/requests', { client });
  expect(status).toBe(201);
  return body;
};
const ask = ({ secret }: { secret: string }) => post<LoginResult>('/api/v1/login/token', { secret });
const answer = (browser: TestBrowser, code: string, fields: Record<string, string> = {}) =>
  browser.act(PAGE, { code, answer: 'allow', ...fields });
const whoami = async (token: string) =>
  (await registry.send<Token>('GET', '/api/v1/whoami', undefined, `Bearer ${token}`)).body;

describe('a program that signs in', () => {
  it('gets a personal token once, after its user has allowed it', async () => {
    const browser = await userSignedIn(registry, { name: 'Ada' });
    const login = await start('laptop.example.com');
    expect(login).toMatchObject({ page: `${PAGE}?code=${login.code}`, interval: 5, hasUsers: false });
    expect(await ask(login)).toMatchObject({ status: 202, body: { state: 'pending' } });
    const page = await browser.text(login.page);
    for (const shown of [login.code, 'laptop.example.com', 'not verified', 'Allow it']) {
      expect(page).toContain(shown);
    }
    const allowed = await answer(browser, login.code, { days: '7' });
    expect([allowed.status, allowed.headers.get('location')]).toEqual([303, `${PAGE}?answered=allowed`]);
    const got = await ask(login);
    expect(got).toMatchObject({ status: 200, body: { state: 'approved' } });
    const token = await whoami(got.body.token!);
    expect(token).toMatchObject({
      name: 'laptop.example.com',
      user: { id: browser.user.id, name: 'Ada' },
      scopes: ['read', 'publish', 'yank', 'push'],
    });
    const days = (Date.parse(token.expiresAt!) - Date.parse(token.createdAt)) / 86_400_000;
    expect(days).toBe(7);
    expect(await ask(login)).toMatchObject({ status: 410, body: { code: 'gone' } });
    expect(await registry.parts.store.tokensOfUser(browser.user.id)).toMatchObject([{ kind: 'login' }]);
  });

  it('gets none after it was denied', async () => {
    const browser = await userSignedIn(registry);
    const login = await start();
    expect((await answer(browser, login.code, { answer: 'deny' })).status).toBe(303);
    const denied = await ask(login);
    expect(denied).toMatchObject({ status: 403, body: { detail: expect.stringContaining('denied') } });
    expect((await answer(browser, login.code)).status).toBe(409);
    expect((await ask(login)).status).toBe(403);
    expect(await registry.parts.store.tokensOfUser(browser.user.id)).toEqual([]);
  });

  it.each([
    ['before an answer', false],
    ['after an answer', true],
  ])('gets none when it has expired %s', async (_, isAllowed) => {
    const own = await openTestRegistry();
    try {
      const browser = await userSignedIn(own);
      const send = <Body>(target: string, body: object) => own.send<Body>('POST', target, body, '');
      const { body: login } = await send<PendingLogin>('/api/v1/login/requests', { client: 'a' });
      if (isAllowed) expect((await answer(browser, login.code)).status).toBe(303);
      own.advance(SERVER_LIMITS.loginRequestMilliseconds);
      expect((await send('/api/v1/login/token', { secret: login.secret })).status).toBe(410);
      expect((await answer(browser, login.code)).status).toBe(409);
      expect((await browser.get(login.page)).status).toBe(404);
      expect(await own.parts.store.tokensOfUser(browser.user.id)).toEqual([]);
    } finally {
      await own.close();
    }
  });

  it('gets none if the user was suspended since', async () => {
    const browser = await userSignedIn(registry);
    const login = await start();
    await answer(browser, login.code);
    const at = registry.parts.clock().toISOString();
    await registry.parts.store.suspendUser(browser.user.id, true, { at, by: 'admin' });
    const refused = await ask(login);
    expect(refused).toMatchObject({ status: 403, body: { detail: expect.stringContaining('suspended') } });
    expect(await registry.parts.store.tokensOfUser(browser.user.id)).toEqual([]);
  });

  it('waits as long as it is told if it asks too often', async () => {
    const login = await start();
    let answers = 0;
    let last = await ask(login);
    while (last.status === 202 && answers++ < 100) last = await ask(login);
    expect(last).toMatchObject({ status: 429, body: { code: 'rate-limited' } });
    expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(0);
    // Others do not.
    expect((await ask(await start())).status).toBe(202);
  });

  it('is told nothing by the answer to an unknown or malformed secret', async () => {
    expect((await ask({ secret: 'A'.repeat(43) })).status).toBe(410);
    for (const secret of ['', 'short', `${'A'.repeat(42)}!`, 'A'.repeat(44)]) {
      expect((await ask({ secret })).status).toBe(400);
    }
    const login = await start();
    // The code is no secret, and the hash of the secret neither.
    expect((await ask({ secret: login.code })).status).toBe(400);
  });

  it('is never cached', async () => {
    const browser = await userSignedIn(registry);
    const login = await start();
    const answers = [
      await post('/api/v1/login/requests', { client: 'a' }),
      await ask(login),
      await ask({ secret: 'B'.repeat(43) }),
      await browser.get(login.page),
      await browser.get(PAGE),
      await answer(browser, login.code),
      await ask(login),
      await browser.get(`${PAGE}/other`),
    ];
    for (const { headers } of answers) expect(headers.get('cache-control')).toMatch(/no-store/);
  });

  it.each([
    ['a control character', 'a\u0007b'],
    ['an invisible character', 'a\u202eb'],
    ['nothing', ''],
    ['spaces', '  '],
    ['too much', 'a'.repeat(101)],
  ])('cannot call itself %s', async (_, client) => {
    expect((await post('/api/v1/login/requests', { client })).status).toBe(400);
  });

  it('is shown escaped', async () => {
    const browser = await userSignedIn(registry);
    const { page } = await start('<script>alert(1)</script>"&amp;');
    const text = await browser.text(page);
    expect(text).not.toContain('<script>alert');
    expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  });
});

describe('the page', () => {
  it('allows nothing by GET or HEAD, whatever the query', async () => {
    const browser = await userSignedIn(registry);
    const login = await start();
    const key = await browser.formKey(login.page);
    for (const query of ['', '&answer=allow', `&answer=allow&days=7&formKey=${key}`, '&answered=allowed']) {
      await browser.get(`${login.page}${query}`);
      await registry.request(`${login.page}${query}`, {
        method: 'HEAD',
        headers: { Cookie: browser.cookie, Accept: 'text/html' },
      });
    }
    expect((await ask(login)).status).toBe(202);
  });

  it('sends those who are not signed in to sign in, and back', async () => {
    const stranger = new TestBrowser(registry);
    const login = await start();
    const sent = await stranger.get(login.page);
    expect(sent.status).toBe(303);
    expect(sent.headers.get('location')).toContain(encodeURIComponent(login.page));
    const { secret } = await registry.token({});
    const back = await stranger.signIn(secret, login.page);
    expect(back.headers.get('location')).toBe(login.page);
  });

  it.each([
    ['no key', () => undefined],
    ['the key of another session', (other: string) => other],
  ])('refuses a form with %s', async (_, keyOf) => {
    const browser = await userSignedIn(registry);
    const other = await (await userSignedIn(registry)).formKey(PAGE);
    const login = await start();
    const key = keyOf(other);
    const fields = { code: login.code, answer: 'allow', ...(key === undefined ? {} : { formKey: key }) };
    expect((await browser.post(PAGE, fields)).status).toBe(403);
    expect((await ask(login)).status).toBe(202);
  });

  it('refuses a form from another site, and from nobody', async () => {
    const browser = await userSignedIn(registry);
    const formKey = await browser.formKey(PAGE);
    const login = await start();
    const fields = { code: login.code, answer: 'allow', formKey };
    const elsewhere = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' };
    expect((await browser.post(PAGE, fields, elsewhere)).status).toBe(403);
    expect((await browser.post(PAGE, fields, { Cookie: undefined })).status).toBe(403);
    expect((await ask(login)).status).toBe(202);
  });

  it('lets one of several sessions answer', async () => {
    const browsers = [
      await userSignedIn(registry),
      await userSignedIn(registry),
      await userSignedIn(registry),
    ];
    for (const _ of [1, 2, 3]) {
      const login = await start();
      const statuses = await Promise.all(browsers.map(async (one) => (await answer(one, login.code)).status));
      expect(statuses.sort()).toEqual([303, 409, 409]);
      const got = await Promise.all([ask(login), ask(login), ask(login)]);
      expect(got.map(({ status }) => status).sort()).toEqual([200, 410, 410]);
    }
    const tokens = await Promise.all(browsers.map(({ user }) => registry.parts.store.tokensOfUser(user.id)));
    expect(tokens.flat()).toHaveLength(3);
  });

  it('offers lifetimes up to the limit of the registry, and takes no longer one', async () => {
    const own = await openTestRegistry({ config: { maxTokenDays: 20 } });
    try {
      const browser = await userSignedIn(own);
      const login = await startAt(own);
      const offered = [...(await browser.text(login.page)).matchAll(/<option value="(\d+)"/g)].map(
        ([, days]) => Number(days),
      );
      expect(offered).toEqual([1, 7, 20]);
      for (const days of ['21', '0', '-1', '1e3', '']) {
        expect((await answer(browser, login.code, { days })).status).toBe(400);
      }
      expect((await answer(browser, login.code, { days: '20' })).status).toBe(303);
    } finally {
      await own.close();
    }
  });
});

describe('a code', () => {
  it('cannot be guessed: wrong ones count as failed logins of who types them', async () => {
    const own = await openTestRegistry({ config: { failedLoginsPerMinute: 10 } });
    try {
      const browser = await userSignedIn(own);
      const login = await startAt(own);
      const statuses: number[] = [];
      for (let guess = 0; guess < 12; guess++) {
        statuses.push((await browser.get(`${PAGE}?code=0000-${String(guess).padStart(4, '0')}`)).status);
      }
      expect(statuses.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 404));
      expect(statuses.slice(10)).toEqual([429, 429]);
      // Also for the right one, and in a form.
      expect((await browser.get(login.page)).status).toBe(429);
      expect((await answer(browser, login.code)).status).toBe(429);
    } finally {
      await own.close();
    }
  });

  it('is read as people type it', async () => {
    const random = new Random(1);
    const alike: Record<string, string[]> = { '0': ['0', 'O', 'o'], '1': ['1', 'I', 'i', 'L', 'l'] };
    const logins = [];
    for (let count = 0; count < 20; count++) logins.push(await start());
    for (const { code } of logins) {
      const typed = [...code]
        .map((one) => (one === '-' ? random.pick(['', '-', ' ', '--']) : random.pick(alike[one] ?? [one])))
        .map((one) => (random.chance(0.5) ? one.toLowerCase() : one))
        .join('');
      expect([typed, readCode(` ${typed} `)]).toEqual([typed, code]);
    }
    for (const text of ['', 'ABCD', 'ABCD-EFG', 'ABCD-EFGHJ', 'ABCU-EFGH', '<script>', 'ABCD-EFG\u0000']) {
      expect(readCode(text)).toBeUndefined();
    }
  });
});

describe('programs of one network', () => {
  it('wait up to a limit, so that they displace no others', async () => {
    const own = await openTestRegistry();
    try {
      const begin = () => own.send('POST', '/api/v1/login/requests', { client: 'a' }, '');
      const max = SERVER_LIMITS.maxLoginRequestsOfNetwork;
      for (let count = 0; count < max; count++) expect((await begin()).status).toBe(201);
      expect((await begin()).status).toBe(429);
      own.advance(SERVER_LIMITS.loginRequestMilliseconds);
      expect((await begin()).status).toBe(201);
    } finally {
      await own.close();
    }
  });
});

it('users behind one address sign in up to a limit within the life of a code, also if nothing waits', async () => {
  const own = await openTestRegistry();
  try {
    const { store, clock } = own.parts;
    const client = { client: 'a', address: '192.0.2.1' };
    const signIn = async () => {
      const { request } = await requestLogin(own.parts, client);
      await store.answerLogin(request.code, 'denied', { at: clock().toISOString(), by: 'Eve' });
    };
    for (let count = 0; count < SERVER_LIMITS.maxEndedLoginsOfNetwork; count++) await signIn();
    await expect(signIn()).rejects.toMatchObject({ code: 'rate-limited' });
    await requestLogin(own.parts, { ...client, address: '192.0.2.2' });
    own.advance(SERVER_LIMITS.loginRequestMilliseconds);
    await signIn();
  } finally {
    await own.close();
  }
});

it('programs of one site of IPv6 wait up to a limit, however many networks it has', async () => {
  const own = await openTestRegistry();
  try {
    const { maxLoginRequestsOfSite: max, maxLoginRequestsOfNetwork: maxOfNetwork } = SERVER_LIMITS;
    const begin = (address: string) =>
      requestLogin(own.parts, { client: 'a', address }).then(
        () => 'added',
        ({ code }: KrmhubError) => code,
      );
    const outcomes: string[] = [];
    // Both spellings are of one site, and the second is also the beginning of others.
    for (let count = 0; count < max + 10; count++)
      outcomes.push(await begin(`2001:db8:${count % 2 === 0 ? '1' : '0001'}:${count.toString(16)}::1`));
    expect(outcomes.filter((one) => one === 'added')).toHaveLength(max);
    expect(new Set(outcomes.slice(max))).toEqual(new Set(['rate-limited']));
    expect(await Promise.all(['2001:db8:12::1', '2001:db8::1', '192.0.2.1'].map(begin))).toEqual([
      ...['added', 'added', 'added'],
    ]);
    for (let count = 1; count < maxOfNetwork; count++) expect(await begin('2001:db8:12::2')).toBe('added');
    expect(await begin('2001:db8:12::3')).toBe('rate-limited');
  } finally {
    await own.close();
  }
});

describe('somebody who signed in with a token', () => {
  it('allows a program as an administrator, for as long as the token is one', async () => {
    const browser = await signedIn(registry, { name: 'root' });
    const [login, later] = [await start('laptop'), await start('laptop')];
    for (const { code } of [login, later]) {
      expect((await answer(browser, code, { wide: 'on' })).status).toBe(303);
    }
    const token = await whoami((await ask(login)).body.token!);
    expect(token).toMatchObject({ name: 'root on laptop', createdBy: 'root' });
    expect(token.scopes).toContain('admin');
    expect(token.user).toBeUndefined();
    await registry.parts.store.revokeToken(browser.tokenId, registry.parts.clock().toISOString());
    const refused = await ask(later);
    expect(refused).toMatchObject({ status: 403, body: { detail: expect.stringContaining('was revoked') } });
  });

  it('cannot allow one otherwise: a token would have another one', async () => {
    const browser = await signedIn(registry, { scopes: ['publish'], groups: ['example.com'] });
    const login = await start();
    const page = await browser.text(login.page);
    expect(page).toContain('You cannot allow it');
    expect(page).not.toContain('Allow it');
    expect((await answer(browser, login.code)).status).toBe(403);
    expect((await ask(login)).status).toBe(202);
    expect((await answer(browser, login.code, { answer: 'deny' })).status).toBe(303);
  });

  it('cannot allow one with a personal token, which would get one without its limits', async () => {
    const { user } = await userSignedIn(registry);
    const wanted = { name: 'ci', scopes: ['read' as const], groups: ['a.example.com'], repositories: ['a'] };
    const context = { now: registry.parts.clock(), by: user.name };
    const limited = await createToken(registry.parts.store, { ...wanted, user, expiresInDays: 1 }, context);
    const browser = new TestBrowser(registry);
    expect((await browser.signIn(limited.secret)).status).toBe(303);
    const login = await start();
    expect((await answer(browser, login.code, { days: '365' })).status).toBe(403);
    expect((await ask(login)).status).toBe(202);
    // Nor does it end another one.
    const other = await createToken(registry.parts.store, { ...wanted, user }, context);
    expect((await browser.act(`/operate/tokens/${other.token.id}/revoke`)).status).toBe(403);
    expect(await whoami(other.secret)).toMatchObject({ name: 'ci' });
  });

  it('gives rights over the whole registry only if asked', async () => {
    const browser = await signedIn(registry);
    const login = await start();
    await answer(browser, login.code);
    const { scopes } = await whoami((await ask(login)).body.token!);
    expect(scopes).toEqual(['publish', 'yank', 'push']);
    const only = await signedIn(registry, { scopes: ['admin'] });
    const other = await start();
    await answer(only, other.code);
    expect((await whoami((await ask(other)).body.token!)).scopes).toEqual(['admin']);
  });
});
