import { Random } from '@krmhub/yaml/testing/random';
import { afterEach, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../limits.js';
import { TestBrowser } from '../testing/operator-session.js';
import { ProviderRegistry, PUBLIC_URL } from '../testing/provider-registry.js';

const DAY = 86_400_000;
const { unconfirmedMilliseconds } = SERVER_LIMITS;

let at: ProviderRegistry;
afterEach(() => at.close());

const start = async (...options: Parameters<typeof ProviderRegistry.start>) => {
  at = await ProviderRegistry.start(...options);
};
const offline = { isOffline: true };
const groups = async (secret: string) => (await at.whoami(secret)).body.ssoGroups;
const leave = (user = 'alice') => at.idp.users.set(user, { name: 'Alice', groups: ['other'] });
/** As a provider does whose session is over. */
const refuse = (description = 'Session not active', error = 'invalid_grant') => {
  at.idp.intercept = (request, response) => {
    if (request.url !== '/token') return false;
    response.writeHead(400, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ error, error_description: description }));
    return true;
  };
};
const signOut = (browser: TestBrowser) => browser.act('/sign-out');
const stored = async () => {
  const users = await at.registry.parts.store.users({ limit: 10 });
  const tokens = await Promise.all(users.map(({ id }) => at.registry.parts.store.tokensOfUser(id)));
  return tokens.flat();
};

/** Each way to get a personal token. */
const WAYS: Record<string, (browser: TestBrowser) => Promise<string>> = {
  'of a page': (browser) => at.makeToken(browser),
  'of krmhub login': (browser) => at.logIn(browser),
  'of krmhub login, signed out since': (browser) => at.logIn(browser, () => signOut(browser)),
  'made by another token': async (browser) => {
    const first = await at.logIn(browser);
    const wanted = { name: 'made', scopes: ['read'] };
    const bearer = `Bearer ${first}`;
    return (await at.registry.send<{ token: string }>('POST', '/api/v1/tokens', wanted, bearer)).body.token;
  },
  'of krmhub login, allowed by a session of a token': async (browser) => {
    const other = new TestBrowser(at.registry, PUBLIC_URL);
    await other.signIn(await at.makeToken(browser, { scopes: ['read', 'admin'] }));
    return at.logIn(other);
  },
};

describe.each(Object.entries(WAYS))('a personal token %s', (_, make) => {
  const makeToken = async () => {
    const text = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  teams: [{name: admins, members: [{ssoGroup: platform}]}]
  grants: [{to: {team: admins}, may: [admin], in: {group: "*"}}]
`;
    expect((await at.registry.send('PUT', '/api/v1/access', text)).status).toBe(200);
    return make(await at.signIn());
  };

  it('loses the rights of a group within a minute, and asks no more often', async () => {
    await start(offline);
    const secret = await makeToken();
    expect(await groups(secret)).toEqual(['platform']);
    leave();
    at.minute();
    for (let time = 0; time < 3; time++) expect(await groups(secret)).toEqual(['other']);
    expect(at.refreshes).toBe(1);
  });

  it('is refused for good once the provider refuses the user', async () => {
    await start(offline);
    const secret = await makeToken();
    at.idp.users.delete('alice');
    at.minute();
    const refused = await at.whoami(secret);
    expect([refused.status, refused.body.detail, refused.body.hint]).toEqual([
      401,
      expect.stringContaining('of a sign-in that the identity provider has ended'),
      expect.stringContaining('krmhub login'),
    ]);
    at.idp.users.set('alice', { name: 'Alice', groups: ['platform'] });
    at.registry.advance(DAY);
    expect((await at.whoami(secret)).status).toBe(401);
    expect(at.refreshes).toBeLessThanOrEqual(1);
  });
});

describe('tokens and the session of a sign-in', () => {
  it('cause one request a minute together, and never use a refresh token twice', async () => {
    await start(offline);
    const browser = await at.signIn();
    const secrets = [await at.logIn(browser), await at.makeToken(browser), await at.makeToken(browser)];
    for (let round = 1; round <= 5; round++) {
      at.minute();
      const all = await Promise.all([...secrets, ...secrets].map((secret) => at.whoami(secret)));
      expect([...new Set(all.map(({ status }) => status))]).toEqual([200]);
      expect((await browser.get('/operate')).status).toBe(200);
      expect(at.refreshes).toBe(round);
    }
  });

  it('go their ways: a signed out session leaves its tokens, a revoked token its session', async () => {
    await start(offline);
    const browser = await at.signIn();
    const secret = await at.logIn(browser);
    await signOut(browser);
    at.minute();
    expect((await at.whoami(secret)).status).toBe(200);
    const [token] = await stored();
    expect(await at.registry.parts.store.signIn(token!.signIn!.id)).toBeDefined();
    await at.registry.parts.store.revokeToken(token!.id, at.registry.parts.clock().toISOString());
    expect(await at.registry.parts.store.signIn(token!.signIn!.id)).toBeUndefined();
  });

  it('end alone if the user ends that sign-in at the provider', async () => {
    await start(offline);
    const [laptop, desktop] = [await at.logIn(await at.signIn()), await at.logIn(await at.signIn())];
    at.minute();
    expect((await at.whoami(desktop)).status).toBe(200);
    refuse('Token revoked');
    expect((await at.whoami(laptop)).status).toBe(401);
    at.idp.intercept = () => false;
    expect((await at.whoami(desktop)).status).toBe(200);
  });

  it('are opened by nothing that is stored', async () => {
    await start(offline);
    const browser = await at.signIn();
    const secret = await at.makeToken(browser);
    const { store } = at.registry.parts;
    const [token] = await stored();
    const rows = JSON.stringify([token, await store.signIn(token!.signIn!.id)]);
    expect(rows).not.toMatch(/eyJ/);
    for (const known of [secret, token!.signIn!.id]) expect(rows.includes(known)).toBe(known !== secret);
    const wrong = { id: token!.signIn!.id, key: token!.signIn!.key };
    expect(await at.registry.parts.signIns.check(wrong)).toBeUndefined();
    expect(await at.registry.parts.signIns.idToken(wrong)).toBeUndefined();
  });
});

describe('a provider whose refresh tokens end with its own session', () => {
  it('leaves a token until the user did not sign in for some days', async () => {
    await start();
    const secret = await at.logIn(await at.signIn());
    at.minute();
    expect((await at.whoami(secret)).status).toBe(200);
    refuse();
    at.minute();
    expect((await at.whoami(secret)).status).toBe(200);
    expect((await stored())[0]).not.toHaveProperty('signIn');
    at.registry.advance(30 * DAY);
    const { status, body } = await at.whoami(secret);
    expect([status, body.detail]).toEqual([401, expect.stringContaining('did not sign in for 30 days')]);
  });

  it.each([
    ['invalid_grant', 'User disabled'],
    ['access_denied', 'not assigned'],
    ['interaction_required', 'AADSTS50076'],
  ])('ends it if it refuses the user (%s: %s)', async (error, description) => {
    await start();
    const secret = await at.logIn(await at.signIn());
    refuse(description, error);
    at.minute();
    expect((await at.whoami(secret)).status).toBe(401);
  });

  it('leaves none for longer than an hour, where tokens must be confirmed', async () => {
    await start({}, { oidcConfirmDays: 0 });
    const secret = await at.logIn(await at.signIn());
    for (let hour = 0; hour < 30; hour++) {
      at.registry.advance(unconfirmedMilliseconds);
      expect((await at.whoami(secret)).status).toBe(200);
    }
    refuse();
    at.registry.advance(unconfirmedMilliseconds - 1_000);
    expect((await at.whoami(secret)).status).toBe(200);
    at.registry.advance(2_000);
    expect((await at.whoami(secret)).body.detail).toContain('did not sign in for an hour');
  });

  it('without refresh tokens, nothing is asked', async () => {
    await start({ refreshes: false });
    const secret = await at.logIn(await at.signIn());
    at.registry.advance(29 * DAY);
    expect((await at.whoami(secret)).status).toBe(200);
    expect((await stored())[0]).not.toHaveProperty('signIn');
    at.registry.advance(2 * DAY);
    expect((await at.whoami(secret)).status).toBe(401);
  });
});

describe('a token that was not used for longer than the days after which users sign in again', () => {
  it.each([true, false])('asks the provider, which may confirm it: %s', async (isConfirmed) => {
    await start(offline);
    const secret = await at.logIn(await at.signIn());
    if (!isConfirmed) at.idp.users.delete('alice');
    at.registry.advance(40 * DAY);
    expect((await at.whoami(secret)).status).toBe(isConfirmed ? 200 : 401);
  });
});

describe('while the provider is away', () => {
  it('tokens work for an hour after it confirmed them, and then wait for it', async () => {
    await start(offline);
    const secret = await at.logIn(await at.signIn());
    at.idp.isAway = true;
    at.registry.advance(unconfirmedMilliseconds - 60_000);
    expect((await at.whoami(secret)).status).toBe(200);
    at.minute();
    const { status, body } = await at.whoami(secret);
    expect([status, body.detail]).toEqual([503, expect.stringContaining('cannot confirm now')]);
    at.idp.isAway = false;
    at.minute();
    expect((await at.whoami(secret)).status).toBe(200);
  });

  it('responses that nobody can use refuse a token, but not for good', async () => {
    await start(offline);
    const secret = await at.logIn(await at.signIn());
    at.idp.editClaims = ({ groups: _, ...claims }) => ({ ...claims, groups: { wrong: true } });
    at.minute();
    for (let time = 0; time < 2; time++) {
      const { status, body } = await at.whoami(secret);
      expect([status, body.detail]).toEqual([401, expect.stringContaining('the claim "groups"')]);
    }
    expect(at.refreshes).toBe(1);
    at.idp.editClaims = (claims) => claims;
    at.minute();
    // The refresh token of that response was kept.
    expect((await at.whoami(secret)).status).toBe(200);
  });
});

it('a token that a client of OCI registries got is confirmed, and loses rights, as the one behind it', async () => {
  await start(offline);
  const text = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  teams: [{name: pushers, members: [{ssoGroup: platform}]}]
  grants: [{to: {team: pushers}, may: [publish], in: {repository: "team/*"}}]
`;
  expect((await at.registry.send('PUT', '/api/v1/access', text)).status).toBe(200);
  const secret = await at.makeToken(await at.signIn(), { scopes: ['push'] });
  const basic = `Basic ${Buffer.from(`any:${secret}`).toString('base64')}`;
  const scope = 'repository:team/a:pull,push';
  const got = await at.registry.request(`/v2/token?scope=${scope}`, { headers: { Authorization: basic } });
  const { token } = (await got.json()) as { token: string };
  const push = async () =>
    (
      await at.registry.request('/v2/team/a/blobs/uploads/', {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}` },
      })
    ).status;
  expect(Buffer.from(token.split('.')[0]!, 'base64url').toString()).not.toContain('krmhub_');
  expect(await push()).toBe(202);
  at.minute();
  expect([await push(), at.refreshes]).toEqual([202, 1]);
  leave();
  at.minute();
  expect([await push(), at.refreshes]).toEqual([403, 2]);
});

describe('whatever happens', () => {
  it('a token never has rights older than a minute while the provider can be asked', async () => {
    await start(offline);
    const random = new Random(23);
    const NAMES = ['alice', 'bob', 'carol'];
    const sign = (user: string) => at.idp.users.set(user, { name: user, groups: [`g${random.below(4)}`] });
    for (const user of NAMES) sign(user);
    const browsers: { user: string; browser: TestBrowser }[] = [];
    const tokens: { user: string; secret: string; isGood: boolean }[] = [];
    let [used, refused] = [0, 0];
    for (let step = 0; step < 160; step++) {
      const user = random.pick(NAMES);
      const one = browsers.length === 0 ? undefined : random.pick(browsers);
      const token = tokens.length === 0 ? undefined : random.pick(tokens);
      switch (random.below(9)) {
        case 0:
          if (at.idp.users.has(user)) browsers.push({ user, browser: await at.signIn(user) });
          break;
        case 1:
        case 2:
          if (one === undefined || (await one.browser.get('/operate')).status !== 200) break;
          tokens.push({
            user: one.user,
            secret: await (random.chance(0.5) ? at.makeToken(one.browser) : at.logIn(one.browser)),
            isGood: true,
          });
          break;
        case 3:
          if (one === undefined || !random.chance(0.5)) break;
          if ((await one.browser.get('/operate')).status === 200) await signOut(one.browser);
          browsers.splice(browsers.indexOf(one), 1);
          break;
        case 4:
          if (at.idp.users.has(user)) sign(user);
          break;
        case 5:
          if (random.chance(0.3)) at.idp.users.delete(user);
          else if (!at.idp.users.has(user)) sign(user);
          break;
        case 6: {
          if (token === undefined || !token.isGood) break;
          const wanted = { name: 'child', scopes: ['read'], expiresInDays: 1 };
          const made = await at.registry.send<{ token?: string }>(
            ...(['POST', '/api/v1/tokens', wanted, `Bearer ${token.secret}`] as const),
          );
          if (made.body.token !== undefined) tokens.push({ ...token, secret: made.body.token });
          break;
        }
        case 7:
          for (const { browser } of browsers) await browser.get('/operate');
          break;
        default:
          at.registry.advance(random.below(3) * 40_000);
      }
      // What is used at least a minute after the last change has the rights of now, or none.
      if (!random.chance(0.3)) continue;
      at.minute();
      for (const checked of random.some(tokens, 0.5)) {
        const { status, body } = await at.whoami(checked.secret);
        const known = at.idp.users.get(checked.user);
        used += 1;
        if (status === 200) expect([step, body.ssoGroups]).toEqual([step, known?.groups]);
        else {
          refused += 1;
          expect([step, status, checked.isGood && known !== undefined]).toEqual([step, 401, false]);
        }
        checked.isGood = status === 200;
      }
    }
    expect([used > 100, refused > 5]).toEqual([true, true]);
  });
});
