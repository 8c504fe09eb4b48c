import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TestBrowser } from '../../testing/operator-session.js';
import { signInSettings, TestProvider } from '../../testing/test-provider.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

const URL_OF_REGISTRY = 'https://krm.example.com';

/** Two providers, of which the second one is hostile (RFC 9700, section 4.4). */
let honest: TestProvider;
let hostile: TestProvider;
let registry: TestRegistry;
beforeEach(async () => {
  honest = await TestProvider.start({ redirectUri: `${URL_OF_REGISTRY}/sign-in/callback` });
  hostile = await TestProvider.start({ redirectUri: `${URL_OF_REGISTRY}/sign-in/guests/callback` });
  const signIn = [
    { ...signInSettings(honest), id: 'staff', name: 'Staff' },
    { ...signInSettings(hostile), id: 'guests', name: 'Guests' },
  ];
  registry = await openTestRegistry({ config: { publicUrl: URL_OF_REGISTRY, signIn } });
});
afterEach(async () => {
  await registry.close();
  await hostile.close();
  await honest.close();
});

const newBrowser = () => new TestBrowser(registry, URL_OF_REGISTRY);

async function leave(browser: TestBrowser, provider: string): Promise<URL> {
  const left = await browser.get(`/sign-in/${provider}/start`);
  return new URL(left.headers.get('location')!);
}

describe('two providers', () => {
  it('do not get the codes of each other, also if none names itself in its answer', async () => {
    const stolen: string[] = [];
    hostile.intercept = (request, response) => {
      if (request.url?.startsWith('/.well-known/') === true) {
        const endpoints = {
          authorization_endpoint: `${hostile.issuer}/auth`,
          token_endpoint: `${hostile.issuer}/token`,
          jwks_uri: `${hostile.issuer}/jwks`,
        };
        response.end(JSON.stringify({ issuer: hostile.issuer, ...endpoints }));
        return true;
      }
      if (request.url !== '/token') return false;
      request.on('data', (part) => stolen.push(String(part)));
      request.on('end', () => response.writeHead(400).end());
      return true;
    };
    const mallory = newBrowser();
    const wanted = await leave(mallory, 'staff');
    const alice = newBrowser();
    const { searchParams } = await leave(alice, 'guests');
    // The hostile provider sends Alice on to the other one, with what Mallory began.
    const sent = new URL(wanted);
    sent.searchParams.set('state', searchParams.get('state')!);
    const back = await honest.signIn(sent.href, 'alice');
    back.searchParams.delete('iss');
    const refused = await alice.get(back.pathname + back.search);
    expect(stolen).toEqual([]);
    expect(refused.status).toBe(403);
    expect(await refused.text()).toContain('This browser did not begin this sign-in');
  });

  it('have redirect URIs of their own, and each signs in its users', async () => {
    for (const [id, provider] of [
      ['staff', honest],
      ['guests', hostile],
    ] as const) {
      const browser = newBrowser();
      const back = await provider.signIn((await leave(browser, id)).href, 'alice');
      const other = id === 'staff' ? '/sign-in/guests/callback' : '/sign-in/callback';
      expect((await newBrowser().get(`${other}${back.search}`)).status).toBe(403);
      expect((await browser.get(`/sign-in/other/callback${back.search}`)).status).toBe(403);
      expect((await browser.get(back.pathname + back.search)).status).toBe(200);
    }
    const issuers = (await registry.parts.store.users({ limit: 10 })).map(({ issuer }) => issuer);
    expect(issuers.sort()).toEqual([honest.issuer, hostile.issuer].sort());
  });
});
