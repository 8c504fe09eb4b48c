import { tmpdir } from 'node:os';
import type { KrmhubError } from '@krmhub/schema';
import { SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { signInSettings, TestProvider, type TestProviderOptions } from '../testing/test-provider.js';
import { type Confirmation, IdentityProvider } from './identity-provider.js';
import { providerFetch } from './provider-http.js';
import type { ProviderSettings } from './provider-settings.js';
import { beginFlow } from './sign-in-flow.js';

const REDIRECT = 'https://krm.example.com/sign-in/callback';

let idp: TestProvider;
let now: number;
beforeEach(() => {
  now = Date.now();
});
afterEach(() => idp.close());

const start = async (options: Partial<TestProviderOptions> = {}) => {
  idp = await TestProvider.start({ redirectUri: REDIRECT, ...options });
};

function ours(settings: Partial<ProviderSettings> = {}): IdentityProvider {
  return new IdentityProvider(
    { ...signInSettings(idp), ...settings },
    {
      fetch: providerFetch(idp.issuer, { temporaryFolder: tmpdir() }),
      redirectUri: REDIRECT,
      clock: () => new Date(now),
    },
  );
}

const begin = () => beginFlow({ provider: 'test', from: '/operate', now });

/** Signs in; `change` edits what the browser brings back. */
async function signIn(
  provider: IdentityProvider,
  change: (query: URLSearchParams) => void = () => undefined,
): Promise<Confirmation> {
  const flow = begin();
  const back = await idp.signIn((await provider.authorizationUrl(flow)).href);
  expect(back.origin + back.pathname).toBe(REDIRECT);
  change(back.searchParams);
  return provider.finish(back.searchParams, flow);
}

async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (caught: KrmhubError) => caught,
  );
  expect(error?.name).toBe('KrmhubError');
  return `${error?.code}: ${error?.message}. ${error?.hint}`;
}

describe('signing in', () => {
  it.each([true, false])(
    'tells who a user is, with all claims in the ID token: %s',
    async (isIdTokenComplete) => {
      await start({ isIdTokenComplete });
      const { user, tokens } = await signIn(ours());
      expect(user).toEqual({
        issuer: idp.issuer,
        subject: 'alice',
        name: 'Alice Example',
        email: 'alice@example.com',
        groups: ['platform'],
      });
      expect(tokens).toEqual({ refreshToken: expect.any(String), idToken: expect.any(String) });
    },
  );

  it('sends what makes a code useless to others', async () => {
    await start();
    const flow = begin();
    const sent = (await ours().authorizationUrl(flow)).searchParams;
    expect(Object.fromEntries(sent)).toEqual({
      client_id: 'krmhub',
      response_type: 'code',
      redirect_uri: REDIRECT,
      scope: 'openid profile email offline_access',
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: flow.state,
      nonce: flow.nonce,
    });
    expect([...sent.values()]).not.toContain(flow.verifier);
    const secrets = [flow.state, flow.nonce, flow.verifier, begin().state];
    expect(new Set(secrets).size).toBe(4);
  });

  it('asks for the configured scopes', async () => {
    await start();
    const url = await ours({ scopes: ['openid', 'groups'] }).authorizationUrl(begin());
    expect(url.searchParams.get('scope')).toBe('openid groups');
  });

  it('uses the configured claims', async () => {
    await start({ isIdTokenComplete: true });
    idp.editClaims = (claims) => ({ ...claims, oid: 'object-1', roles: 'admins' });
    const { user } = await signIn(ours({ groupsClaim: 'roles', subjectClaim: 'oid' }));
    expect(user).toMatchObject({ subject: 'object-1', groups: ['admins'] });
  });

  it.each(['client_secret_post', 'client_secret_basic'])('authenticates by %s', async (method) => {
    await start({ client: { token_endpoint_auth_method: method } });
    const provider = ours();
    expect((await signIn(provider)).user.subject).toBe('alice');
    expect((await signIn(provider)).user.subject).toBe('alice');
  });

  it('does not need refresh tokens', async () => {
    await start({ refreshes: false });
    expect((await signIn(ours())).tokens.refreshToken).toBeUndefined();
  });
});

describe('what a browser brings back is refused', () => {
  it.each<[string, (query: URLSearchParams) => void, string]>([
    ['with another state', (query) => query.set('state', 'x'.repeat(43)), 'unexpected "state"'],
    ['without a state', (query) => query.delete('state'), '"state" missing'],
    [
      'with two states',
      (query) => query.append('state', 'x'),
      '"state" parameter must be provided only once',
    ],
    ['from another issuer', (query) => query.set('iss', 'https://evil.example'), 'unexpected "iss"'],
    ['without an issuer', (query) => query.delete('iss'), '"iss" (issuer) missing'],
    ['with another code', (query) => query.set('code', 'x'.repeat(43)), 'was used before'],
    ['without a code', (query) => query.delete('code'), 'code'],
    ['with a token', (query) => query.set('id_token', 'x'), 'implicit and hybrid flows are not supported'],
  ])('%s', async (_, change, message) => {
    await start();
    expect(await refusal(signIn(ours(), change))).toContain(message);
  });

  it('a second time', async () => {
    await start();
    const provider = ours();
    const flow = begin();
    const { searchParams } = await idp.signIn((await provider.authorizationUrl(flow)).href);
    await provider.finish(searchParams, flow);
    expect(await refusal(provider.finish(searchParams, flow))).toMatch(/^unauthorized: .*was used before/);
  });

  it('to another browser, whose flow has the same state', async () => {
    await start();
    const provider = ours();
    const flow = begin();
    const { searchParams } = await idp.signIn((await provider.authorizationUrl(flow)).href);
    const other = { ...begin(), state: flow.state };
    expect(await refusal(provider.finish(searchParams, other))).toContain('invalid_grant');
  });

  it.each([
    ['access_denied', 'unauthorized', 'it did not let you in (access_denied: no access?)'],
    ['login_required', 'unauthorized', 'it wants you to sign in there first'],
    ['invalid_scope', 'unavailable', 'KRMHUB_OIDC_SCOPES'],
    ['temporarily_unavailable', 'unavailable', 'it is overloaded'],
    ['new_error', 'unauthorized', 'it answered with an error (new_error: no access?)'],
  ])('because of %s', async (error, code, message) => {
    await start();
    const change = (query: URLSearchParams) => {
      query.delete('code');
      query.set('error', error);
      query.set('error_description', 'no access\u202e');
    };
    const said = await refusal(signIn(ours(), change));
    expect(said).toMatch(new RegExp(`^${code}: `));
    expect(said).toContain(message);
  });
});

describe('an ID token is refused', () => {
  const at = () => Math.floor(Date.now() / 1000);

  it.each<[string, Record<string, unknown>, string]>([
    ['with another nonce', { nonce: 'x' }, 'not for this sign-in'],
    ['without a nonce', { nonce: undefined }, 'nonce'],
    ['of another issuer', { iss: 'https://evil.example' }, 'names another issuer'],
    ['for another client', { aud: 'other' }, 'for another client'],
    ['for several clients', { aud: ['krmhub', 'other'] }, 'for another client'],
    ['that another client got', { aud: ['krmhub', 'other'], azp: 'other' }, 'for another client'],
    ['that another client got for this one', { azp: 'other' }, 'for another client'],
    ['that has expired', { exp: at() - 40 }, 'has expired'],
    ['that is not valid yet', { nbf: at() + 300 }, 'not valid yet'],
    ['from a clock that is 5 minutes ahead', { iat: at() + 300 }, 'compares the clocks'],
    ['without an expiry', { exp: undefined }, '"exp"'],
    ['without a subject', { sub: undefined }, '"sub"'],
    ['with a number as a subject', { sub: 7 }, '"sub"'],
  ])('%s', async (_, change, message) => {
    await start({ isIdTokenComplete: true });
    idp.editClaims = (claims) => ({ ...claims, ...change });
    const said = await refusal(signIn(ours()));
    expect(said).toMatch(/^unauthorized: /);
    expect(said).toContain(message);
  });

  it('from a clock that is 5 minutes behind, if it lives for less; one that lives for an hour is taken', async () => {
    await start({ isIdTokenComplete: true });
    idp.editClaims = (claims) => ({ ...claims, iat: at() - 300, exp: at() - 300 + 240 });
    expect(await refusal(signIn(ours()))).toContain('compares the clocks');
    idp.editClaims = (claims) => ({ ...claims, iat: at() - 300, exp: at() - 300 + 3_600 });
    expect((await signIn(ours())).user.subject).toBe('alice');
  });

  it('without a signature, or with one that the secret makes', async () => {
    await start();
    const parts = (token: unknown) => String(token).split('.');
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    idp.editTokens = (body) => ({
      ...body,
      id_token: `${encode({ alg: 'none' })}.${parts(body.id_token)[1]}.`,
    });
    expect(await refusal(signIn(ours()))).toContain('"alg"');
    idp.editTokens = async (body) => {
      const claims = JSON.parse(Buffer.from(parts(body.id_token)[1]!, 'base64url').toString());
      const key = Buffer.from(idp.client.client_secret.padEnd(32, 'x'));
      return { ...body, id_token: await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(key) };
    };
    expect(await refusal(signIn(ours()))).toContain('"alg"');
  });

  it('with a changed claim, or a key that the provider does not have', async () => {
    await start();
    idp.editTokens = (body) => {
      const [header, payload, signature] = String(body.id_token).split('.');
      const claims = JSON.parse(Buffer.from(payload!, 'base64url').toString());
      const changed = Buffer.from(JSON.stringify({ ...claims, groups: ['admins'] })).toString('base64url');
      return { ...body, id_token: `${header}.${changed}.${signature}` };
    };
    expect(await refusal(signIn(ours()))).toMatch(/^unauthorized: .*signature/);
    idp.editTokens = (body) => body;
    idp.signer.served = { keys: [] };
    expect(await refusal(signIn(ours()))).toContain('no key for the signature');
  });

  it('if there is none', async () => {
    await start();
    idp.editTokens = ({ id_token: _, ...body }) => body;
    expect(await refusal(signIn(ours()))).toMatch(/^unauthorized: .*id_token/);
  });
});

it('follows a provider that changes its keys', async () => {
  await start();
  const provider = ours();
  await signIn(provider);
  await idp.signer.addKey();
  // The library asks for keys again after a minute at the earliest; a new configuration has new ones.
  now += 600_000;
  expect((await signIn(provider)).user.subject).toBe('alice');
});

describe('a user whom the userinfo endpoint tells of', () => {
  it('is the one of the ID token', async () => {
    await start();
    idp.intercept = (request, response) => {
      if (request.url !== '/me') return false;
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ sub: 'mallory', groups: ['admins'] }));
      return true;
    };
    expect(await refusal(signIn(ours()))).toContain('another user than its ID token');
  });

  it('has no other claims than those of the ID token, where that has them', async () => {
    await start();
    idp.editClaims = (claims) => ({ ...claims, groups: ['platform'], name: 'Alice' });
    idp.intercept = (request, response) => {
      if (request.url !== '/me') return false;
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ sub: 'alice', groups: ['admins'], email: 'a@example.com' }));
      return true;
    };
    const { user } = await signIn(ours());
    expect(user).toMatchObject({ groups: ['platform'], name: 'Alice', email: 'a@example.com' });
  });
});

describe('refreshing', () => {
  it('tells of changed groups, and gives the token that replaces the one that was used', async () => {
    await start();
    const provider = ours();
    const first = (await signIn(provider)).tokens.refreshToken!;
    idp.users.set('alice', { name: 'Alice', groups: ['other'] });
    const { user, tokens } = await provider.refresh(first, 'alice');
    expect(user).toMatchObject({ name: 'Alice', groups: ['other'] });
    expect(tokens.refreshToken).not.toBe(first);
    expect((await provider.refresh(tokens.refreshToken!, 'alice')).user.subject).toBe('alice');
    expect(await refusal(provider.refresh(first, 'alice'))).toMatch(/^unauthorized: .*invalid_grant/);
  });

  it('keeps the token of a provider that does not replace it', async () => {
    await start({ configuration: { rotateRefreshToken: false } });
    const provider = ours();
    const { refreshToken } = (await signIn(provider)).tokens;
    expect((await provider.refresh(refreshToken!, 'alice')).tokens.refreshToken).toBe(refreshToken);
  });

  it('is refused for a user whom the provider knows no more', async () => {
    await start();
    const provider = ours();
    const { refreshToken } = (await signIn(provider)).tokens;
    idp.users.delete('alice');
    expect(await refusal(provider.refresh(refreshToken!, 'alice'))).toMatch(/^unauthorized: /);
  });

  it('never tells of another user', async () => {
    await start();
    const provider = ours();
    const { refreshToken } = (await signIn(provider)).tokens;
    expect(await refusal(provider.refresh(refreshToken!, 'bob'))).toMatch(/^unauthorized: .*another user/);
  });

  it('works without an ID token, by userinfo', async () => {
    await start();
    const provider = ours();
    const { refreshToken } = (await signIn(provider)).tokens;
    idp.editTokens = ({ id_token: _, ...body }) => body;
    expect((await provider.refresh(refreshToken!, 'alice')).user.groups).toEqual(['platform']);
  });
});

describe('a provider that is away', () => {
  it('is said to be so, and works again without a restart', async () => {
    await start();
    const provider = ours();
    idp.isAway = true;
    expect(await refusal(provider.authorizationUrl(begin()))).toMatch(
      /^unavailable: cannot use Test: cannot reach 127/,
    );
    idp.isAway = false;
    now += 60_000;
    expect((await signIn(provider)).user.subject).toBe('alice');
  });

  it.each(['/token', '/jwks', '/me'])('at %s refuses nobody for good', async (path) => {
    await start();
    const provider = ours();
    idp.intercept = (request) => {
      if (request.url !== path) return false;
      request.socket.destroy();
      return true;
    };
    expect(await refusal(signIn(provider))).toMatch(/^unavailable: /);
    idp.intercept = (request, response) => {
      if (request.url !== path) return false;
      response.writeHead(503, { 'Content-Type': 'text/html' }).end('<h1>Sorry</h1>');
      return true;
    };
    expect(await refusal(signIn(provider))).toMatch(/^unavailable: /);
    idp.intercept = () => false;
    expect((await signIn(provider)).user.subject).toBe('alice');
  });

  it('refreshes nobody, but signs out nobody', async () => {
    await start();
    const provider = ours();
    const { refreshToken } = (await signIn(provider)).tokens;
    idp.isAway = true;
    expect(await refusal(provider.refresh(refreshToken!, 'alice'))).toMatch(/^unavailable: /);
    // Its configuration is known.
    now += 3_600_000;
    expect((await provider.authorizationUrl(begin())).origin).toBe(idp.issuer);
  });

  it('is asked for its configuration once in ten seconds', async () => {
    await start();
    const provider = ours();
    let asked = 0;
    idp.intercept = (request, response) => {
      asked += 1;
      response.writeHead(500).end(request.url);
      return true;
    };
    const all = await Promise.all(
      Array.from({ length: 5 }, () => refusal(provider.authorizationUrl(begin()))),
    );
    expect(all).toHaveLength(5);
    expect(await refusal(provider.authorizationUrl(begin()))).toMatch(/status 500/);
    expect(asked).toBe(1);
  });
});

describe('a configuration', () => {
  const serve = (change: (found: Record<string, unknown>) => unknown) => {
    idp.intercept = (request, response) => {
      if (request.url?.includes('/.well-known/') !== true) return false;
      const { issuer } = idp;
      const found = {
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
      };
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify(change(found)));
      return true;
    };
  };

  it.each<[string, (found: Record<string, unknown>) => unknown, string]>([
    [
      'of another issuer',
      (found) => ({ ...found, issuer: 'https://evil.example' }),
      'names the issuer "https://evil',
    ],
    ['with another spelling', (found) => ({ ...found, issuer: `${found.issuer}/` }), 'names the issuer'],
    ['without a token endpoint', ({ token_endpoint: _, ...found }) => found, 'has no token_endpoint'],
    [
      'that signs with the secret',
      (found) => ({ ...found, id_token_signing_alg_values_supported: ['HS256'] }),
      'none of',
    ],
    [
      'with another way to authenticate',
      (found) => ({ ...found, token_endpoint_auth_methods_supported: ['tls_client_auth'] }),
      'lists neither',
    ],
    ['that is a list', () => [], 'not a JSON object'],
    ['that is too large', (found) => ({ ...found, more: 'x'.repeat(300_000) }), 'larger than'],
  ])('%s is not used', async (_, change, message) => {
    await start();
    serve(change);
    const said = await refusal(ours().authorizationUrl(begin()));
    expect(said).toMatch(/^unavailable: /);
    expect(said).toContain(message);
  });

  it('may leave out what is usual', async () => {
    await start({ isIdTokenComplete: true });
    serve((found) => found);
    const provider = ours();
    expect((await provider.authorizationUrl(begin())).searchParams.get('scope')).toBe('openid profile email');
    const signedIn = await signIn(provider);
    expect(signedIn.user.groups).toEqual(['platform']);
    expect(await provider.endSessionUrl(signedIn.tokens.idToken)).toBeUndefined();
  });

  it('names where to sign out', async () => {
    await start();
    const provider = ours();
    const { idToken } = (await signIn(provider)).tokens;
    const url = await provider.endSessionUrl(idToken);
    expect(url?.pathname).toBe('/session/end');
    expect(url?.searchParams.get('id_token_hint')).toBe(idToken);
  });
});

it('of a public provider leads to no private address', async () => {
  await start();
  const issuer = 'https://sso.example.com';
  const resolve = async (host: string) => [
    { address: host === 'sso.example.com' ? '93.184.216.34' : '127.0.0.1', family: 4 },
  ];
  const { request } = providerFetch(issuer, { temporaryFolder: tmpdir(), network: { resolve } });
  const post = { method: 'POST', headers: {}, body: 'code=x', redirect: 'manual' } as const;
  for (const url of ['https://inside.example.com/token', 'https://169.254.169.254/', 'https://[::1]/']) {
    await expect(request(url, post)).rejects.toThrow('is not on the public Internet');
  }
  await expect(request(idp.issuer, post)).rejects.toThrow('not on the public Internet');
  expect(idp.grants).toEqual([]);
});
