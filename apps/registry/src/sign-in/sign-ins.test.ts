import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { openSignIn } from '../http/auth/open-sign-in.js';
import { SERVER_LIMITS } from '../limits.js';
import { TestBrowser } from '../testing/operator-session.js';
import { signInSettings, TestProvider, type TestProviderOptions } from '../testing/test-provider.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';
import { Sessions, sessionHash } from '../web/operate/sessions.js';
import type { IdentityProvider } from './identity-provider.js';
import { SignIns } from './sign-ins.js';

const PUBLIC_URL = 'https://krm.example.com';
const {
  confirmMilliseconds,
  unconfirmedMilliseconds,
  claimMilliseconds,
  clockMilliseconds,
  sessionMilliseconds,
} = SERVER_LIMITS;

let idp: TestProvider;
let registry: TestRegistry;
afterEach(async () => {
  await registry.close();
  await idp.close();
});

async function start(options: Partial<TestProviderOptions> = {}): Promise<void> {
  idp = await TestProvider.start({
    redirectUri: `${PUBLIC_URL}/sign-in/callback`,
    isIdTokenComplete: true,
    ...options,
  });
  registry = await openTestRegistry({ config: { publicUrl: PUBLIC_URL, signIn: [signInSettings(idp)] } });
}

async function signedIn(user = 'alice'): Promise<TestBrowser> {
  const browser = new TestBrowser(registry, PUBLIC_URL);
  const left = await browser.get('/sign-in/test/start');
  const back = await idp.signIn(left.headers.get('location')!, user);
  expect((await browser.get(back.pathname + back.search)).status).toBe(200);
  return browser;
}

const idOf = (browser: TestBrowser) => /krmhub-user=([\w-]+)/.exec(browser.cookie)![1]!;
const recordOf = async (browser: TestBrowser) => registry.parts.store.session(sessionHash(idOf(browser)));
const sealedOf = async (browser: TestBrowser) =>
  (await registry.parts.store.signIn((await recordOf(browser))!.signIn!.id))?.sealed;
/** Whether the session continues, in another process. */
const continues = async (id: string, parts: Partial<TestRegistry['parts']> = {}) => {
  const { store, signIn, clock, log } = { ...registry.parts, ...parts };
  const sessions = new Sessions(store, new SignIns({ store, signIn, clock, log }));
  return (await sessions.find(id, clock().getTime())) !== undefined;
};
const status = async (browser: TestBrowser, page = '/operate') => (await browser.get(page)).status;
const refreshes = () => idp.grants.filter((grant) => grant === 'refresh_token').length;
const userOf = async () => (await registry.parts.store.users({ limit: 10 }))[0]!;

describe('a session in use', () => {
  it('asks the provider once a minute', async () => {
    await start();
    const browser = await signedIn();
    registry.advance(confirmMilliseconds - 40_000);
    expect(await status(browser)).toBe(200);
    expect(refreshes()).toBe(0);
    registry.advance(40_000);
    for (let time = 0; time < 3; time++) expect(await status(browser)).toBe(200);
    expect(refreshes()).toBe(1);
    registry.advance(confirmMilliseconds);
    expect(await status(browser)).toBe(200);
    expect(refreshes()).toBe(2);
  });

  it('lasts for a working day, if it is used', async () => {
    await start();
    const browser = await signedIn();
    const { cookie } = browser;
    for (let at = 0; at < sessionMilliseconds - 1_800_000; at += 1_800_000) {
      registry.advance(1_800_000);
      expect(await status(browser)).toBe(200);
    }
    registry.advance(1_800_000);
    browser.cookie = cookie;
    expect(await status(browser)).toBe(303);
  });

  it('loses the rights of a group within a minute, and gets those of another one', async () => {
    await start();
    const text = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  teams: [{name: admins, members: [{ssoGroup: platform}]}]
  grants: [{to: {team: admins}, may: [admin], in: {group: "*"}}]
`;
    expect(await registry.send('PUT', '/api/v1/access', text)).toMatchObject({ status: 200 });
    const browser = await signedIn();
    expect(await status(browser, '/operate/users')).toBe(200);
    idp.users.set('alice', { name: 'Alice', groups: ['other'] });
    registry.advance(confirmMilliseconds);
    expect((await browser.act('/operate/access', { text, expected: '1', do: 'apply' })).status).toBe(403);
    idp.users.set('alice', { name: 'Alice', groups: ['platform'] });
    registry.advance(confirmMilliseconds);
    expect(await status(browser, '/operate/users')).toBe(200);
  });

  it('ends within a minute for a user whom the provider no longer knows, on pages for everybody too', async () => {
    await start();
    // Where nothing is hidden, pages do not ask who reads them.
    const text = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec: {catalogs: [{pattern: "team-*", visibility: private}]}
`;
    expect(await registry.send('PUT', '/api/v1/access', text)).toMatchObject({ status: 200 });
    const [first, second] = [await signedIn(), await signedIn()];
    expect(await second.text('/functions')).toContain('Alice Example');
    idp.users.delete('alice');
    registry.advance(confirmMilliseconds);
    expect(await status(first)).toBe(303);
    expect(await second.text('/functions')).not.toContain('Signed in as');
    expect(await recordOf(second).catch(() => undefined)).toBeUndefined();
    const { rows } = await registry.parts.store.auditRows({ action: 'session.end' }, { limit: 10 });
    expect(rows).toMatchObject([
      {
        actor: 'krmhub',
        object: `user/${(await userOf()).id}`,
        detail: { reason: expect.stringContaining('Test') },
      },
      {},
    ]);
  });

  it('logs why the claims of a user cannot be read, and no token of the provider', async () => {
    await start();
    const browser = await signedIn();
    idp.users.set('alice', { name: 'Alice', groups: [''] });
    let given: Record<string, unknown> = {};
    idp.editTokens = (body) => {
      given = body;
      return body;
    };
    registry.advance(confirmMilliseconds);
    await status(browser);
    const lines = registry.logged.filter((line) => line.includes('cannot ask the identity provider'));
    expect(lines).toEqual([expect.stringContaining('the claim \\"groups\\"')]);
    for (const name of ['access_token', 'id_token', 'refresh_token']) {
      expect(given[name], name).toMatch(/[\w-]{20}/);
      expect(lines[0], name).not.toContain(given[name]);
    }
  });

  it('ends if the provider is not configured any more', async () => {
    await start();
    const browser = await signedIn();
    await registry.parts.close();
    const { folder } = registry;
    registry = await openTestRegistry({ folder, config: { publicUrl: PUBLIC_URL } });
    const again = new TestBrowser(registry, PUBLIC_URL);
    again.cookie = browser.cookie;
    expect(await status(again)).toBe(200);
    registry.advance(confirmMilliseconds);
    expect(await status(again)).toBe(303);
  });

  it('has its tokens encrypted for the browser alone', async () => {
    await start();
    const browser = await signedIn();
    const other = await signedIn();
    const { signIn: sealed } = (await recordOf(browser))!;
    const opened = openSignIn(idOf(browser), sealed!)!;
    expect(openSignIn(idOf(other), sealed!)).toBeUndefined();
    const { signIns, store } = registry.parts;
    expect(await signIns.idToken(opened)).toMatch(/^eyJ/);
    const [wrong, right] = [{ ...opened, key: sealed!.key }, await store.signIn(opened.id)];
    expect([await signIns.idToken(wrong), await signIns.check(wrong)]).toEqual([undefined, undefined]);
    expect(Buffer.from(right!.sealed, 'base64url').toString('latin1')).not.toContain('eyJ');
  });
});

describe('while the provider is away', () => {
  it('a session continues for an hour after it was confirmed, and asks once a minute', async () => {
    await start();
    const browser = await signedIn();
    idp.isAway = true;
    let asked = 0;
    for (let minute = 1; minute < 60; minute += 10) {
      registry.advance(600_000 - (minute === 1 ? 60_000 : 0));
      expect(await status(browser)).toBe(200);
      const sealed = await sealedOf(browser);
      expect(await status(browser)).toBe(200);
      expect(await sealedOf(browser)).toEqual(sealed);
      asked += 1;
    }
    expect(asked).toBe(6);
    registry.advance(60_000);
    expect(await status(browser)).toBe(303);
  });

  it('a session that it confirms again lasts longer', async () => {
    await start();
    const browser = await signedIn();
    idp.isAway = true;
    registry.advance(unconfirmedMilliseconds - 600_000);
    expect(await status(browser)).toBe(200);
    idp.isAway = false;
    registry.advance(confirmMilliseconds);
    expect(await status(browser)).toBe(200);
    expect(refreshes()).toBe(1);
    idp.isAway = true;
    registry.advance(unconfirmedMilliseconds - 600_000);
    expect(await status(browser)).toBe(200);
  });
});

it('without refresh tokens, a session lasts one hour', async () => {
  await start({ refreshes: false });
  const browser = await signedIn();
  expect(browser.setCookie).toMatch(/Max-Age=3600;/);
  registry.advance(unconfirmedMilliseconds - 600_000);
  expect(await status(browser)).toBe(200);
  registry.advance(600_000);
  expect(await status(browser)).toBe(303);
  expect(refreshes()).toBe(0);
});

describe('several processes and requests at once', () => {
  /** As two processes with one database do. */
  const together = async (browser: TestBrowser, count = 4): Promise<boolean[]> => {
    const id = idOf(browser);
    return Promise.all(Array.from({ length: 2 * count }, () => continues(id)));
  };

  it('use a refresh token once, so that nobody is signed out', async () => {
    await start();
    const browser = await signedIn();
    for (let round = 1; round <= 5; round++) {
      registry.advance(confirmMilliseconds);
      expect(await together(browser)).toEqual(Array(8).fill(true));
      expect(refreshes()).toBe(round);
    }
    expect(await status(browser)).toBe(200);
  });

  it('use a refresh token for one process at a time, although their clocks differ by minutes', async () => {
    await start({ isOffline: true });
    const browser = await signedIn();
    const skews = [0, 240_000, -240_000];
    const { parts } = registry;
    const processes = skews.map((skew) => {
      const clock = () => new Date(parts.clock().getTime() + skew);
      const signIns = new SignIns({ ...parts, clock });
      return { clock, sessions: new Sessions(parts.store, signIns) };
    });
    for (let round = 1; round <= 4; round++) {
      registry.advance(confirmMilliseconds + 300_000);
      const found = await Promise.all(
        Array.from({ length: 9 }, (_, at) => {
          const { clock, sessions } = processes[at % 3]!;
          return sessions.find(idOf(browser), clock().getTime());
        }),
      );
      expect(found.map((session) => session !== undefined)).toEqual(Array(9).fill(true));
    }
    expect(await status(browser)).toBe(200);
  });

  it('ask for themselves if a process whose clock is ahead asked', async () => {
    await start();
    const browser = await signedIn();
    const ahead = { clock: () => new Date(Date.now() + 600_000) };
    expect(await continues(idOf(browser), ahead)).toBe(true);
    expect(refreshes()).toBe(1);
    expect(await status(browser)).toBe(200);
    expect(await status(browser)).toBe(200);
    expect(refreshes()).toBe(2);
  });

  it('end a session together', async () => {
    await start();
    const browser = await signedIn();
    idp.users.delete('alice');
    registry.advance(confirmMilliseconds);
    expect(await together(browser)).toEqual(Array(8).fill(false));
    expect(idp.grants.length).toBeLessThanOrEqual(2);
  });

  it('wait for one that is slow, and do its work if it never finishes', async () => {
    await start();
    const browser = await signedIn();
    registry.advance(confirmMilliseconds);
    const id = idOf(browser);
    let hang: (() => void) | undefined;
    const stopped = new Promise<void>((resolve) => {
      hang = resolve;
    });
    // A process that was killed after it claimed the sign-in.
    const provider = {
      ...registry.parts.signIn.all[0],
      refresh: () => stopped,
    } as unknown as IdentityProvider;
    const signIn = Object.assign(Object.create(registry.parts.signIn), { byIssuer: () => provider });
    const before = await sealedOf(browser);
    void continues(id, { signIn }).catch(() => undefined);
    while ((await sealedOf(browser)) === before) await sleep(1);
    const claimed = await sealedOf(browser);
    registry.advance(claimMilliseconds + clockMilliseconds);
    expect(await continues(id)).toBe(true);
    expect(refreshes()).toBe(1);
    expect(await sealedOf(browser)).not.toBe(claimed);
    hang?.();
  });

  it('do not bring back a session that ended meanwhile', async () => {
    await start();
    const browser = await signedIn();
    registry.advance(confirmMilliseconds);
    const record = (await recordOf(browser))!;
    idp.intercept = (request) => {
      if (request.url === '/token') void registry.parts.store.endSession(record.hash);
      return false;
    };
    expect(await continues(idOf(browser))).toBe(false);
    expect(await recordOf(browser)).toBeUndefined();
  });
});

describe('signing out', () => {
  it('ends the session at once, and offers to sign out at the provider', async () => {
    await start();
    const browser = await signedIn();
    const { cookie } = browser;
    const left = await browser.act('/sign-out');
    expect(left.status).toBe(200);
    const url = /href="([^"]*session\/end[^"]*)"/.exec(await left.text())?.[1]?.replaceAll('&amp;', '&');
    expect(url?.startsWith(idp.issuer)).toBe(true);
    expect(new URL(url!).searchParams.get('id_token_hint')).toMatch(/^eyJ/);
    browser.cookie = cookie;
    expect(await status(browser)).toBe(303);
  });

  it('works while the provider is away', async () => {
    await start();
    const browser = await signedIn();
    idp.isAway = true;
    expect((await browser.act('/sign-out')).status).toBe(200);
    registry.advance(86_400_000);
    expect(browser.cookie).toBe('');
  });
});

it('a suspended user is signed out at once, in all browsers', async () => {
  await start();
  const browsers = [await signedIn(), await signedIn()];
  const act = { at: new Date().toISOString(), by: 'admin' };
  await registry.parts.store.suspendUser((await userOf()).id, true, act);
  for (const browser of browsers) expect(await status(browser)).toBe(303);
});
