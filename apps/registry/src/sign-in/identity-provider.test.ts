import { SignJWT } from 'jose';
import { afterEach, describe, expect, it } from 'vitest';
import { ProviderClient, REDIRECT, refusal } from '../testing/provider-client.js';

let client: ProviderClient;
afterEach(() => client.idp.close());

const start = async (...options: Parameters<typeof ProviderClient.start>) => {
  client = await ProviderClient.start(...options);
};

describe('signing in', () => {
  it.each([true, false])(
    'tells who a user is, with all claims in the ID token: %s',
    async (isIdTokenComplete) => {
      await start({ isIdTokenComplete });
      const { user, tokens } = await client.signIn(client.provider());
      expect(user).toEqual({
        issuer: client.idp.issuer,
        subject: 'alice',
        name: 'Alice Example',
        email: 'alice@example.com',
        groups: ['platform'],
      });
      const text = expect.any(String);
      expect(tokens).toEqual({ refreshToken: text, idToken: text, isOffline: false });
    },
  );

  it('sends what makes a code useless to others', async () => {
    await start();
    const flow = client.begin();
    const sent = (await client.provider().authorizationUrl(flow)).searchParams;
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
    const secrets = [flow.state, flow.nonce, flow.verifier, client.begin().state];
    expect(new Set(secrets).size).toBe(4);
  });

  it('asks for the configured scopes', async () => {
    await start();
    const url = await client.provider({ scopes: ['openid', 'groups'] }).authorizationUrl(client.begin());
    expect(url.searchParams.get('scope')).toBe('openid groups');
  });

  it.each<[string, string | undefined, boolean]>([
    ['names the scope', 'openid offline_access', true],
    ['names others', 'openid', false],
    ['names none', undefined, true],
  ])('knows refresh tokens for offline use, if the response %s', async (_, scope, isOffline) => {
    await start();
    client.idp.editTokens = ({ scope: __, ...body }) => (scope === undefined ? body : { ...body, scope });
    expect((await client.signIn(client.provider())).tokens.isOffline).toBe(isOffline);
    const usual = client.provider({ scopes: ['openid'] });
    expect((await client.signIn(usual)).tokens.isOffline).toBe(scope === undefined ? false : isOffline);
  });

  it('uses the configured claims', async () => {
    await start({ isIdTokenComplete: true });
    client.idp.editClaims = (claims) => ({ ...claims, oid: 'object-1', roles: 'admins' });
    const { user } = await client.signIn(client.provider({ groupsClaim: 'roles', subjectClaim: 'oid' }));
    expect(user).toMatchObject({ subject: 'object-1', groups: ['admins'] });
  });

  it.each(['client_secret_post', 'client_secret_basic'])('authenticates by %s', async (method) => {
    await start({ client: { token_endpoint_auth_method: method } });
    const provider = client.provider();
    expect((await client.signIn(provider)).user.subject).toBe('alice');
    expect((await client.signIn(provider)).user.subject).toBe('alice');
  });

  it.each(['Basic realm="x"', 'Basic realm="x", error="invalid_client"'])(
    'authenticates in the other way after the challenge %s',
    async (header) => {
      await start({ client: { token_endpoint_auth_method: 'client_secret_post' } });
      client.idp.intercept = ({ url, headers }, response) => {
        if (url !== '/token' || headers.authorization === undefined) return false;
        response.writeHead(401, { 'WWW-Authenticate': header }).end();
        return true;
      };
      expect((await client.signIn(client.provider())).user.subject).toBe('alice');
    },
  );

  it('does not need refresh tokens', async () => {
    await start({ refreshes: false });
    expect((await client.signIn(client.provider())).tokens.refreshToken).toBeUndefined();
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
    expect(await refusal(client.signIn(client.provider(), change))).toContain(message);
  });

  it('a second time', async () => {
    await start();
    const provider = client.provider();
    const flow = client.begin();
    const searchParams = await client.leave(provider, flow);
    await provider.finish(searchParams, flow);
    expect(await refusal(provider.finish(searchParams, flow))).toMatch(/^unauthorized: .*was used before/);
  });

  it('to another browser, whose flow has the same state', async () => {
    await start();
    const provider = client.provider();
    const flow = client.begin();
    const searchParams = await client.leave(provider, flow);
    const other = { ...client.begin(), state: flow.state };
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
    const said = await refusal(client.signIn(client.provider(), change));
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
    client.idp.editClaims = (claims) => ({ ...claims, ...change });
    const said = await refusal(client.signIn(client.provider()));
    expect(said).toMatch(/^unauthorized: /);
    expect(said).toContain(message);
  });

  it('from a clock that is 5 minutes behind, if it lives for less; one that lives for an hour is taken', async () => {
    await start({ isIdTokenComplete: true });
    client.idp.editClaims = (claims) => ({ ...claims, iat: at() - 300, exp: at() - 300 + 240 });
    expect(await refusal(client.signIn(client.provider()))).toContain('compares the clocks');
    client.idp.editClaims = (claims) => ({ ...claims, iat: at() - 300, exp: at() - 300 + 3_600 });
    expect((await client.signIn(client.provider())).user.subject).toBe('alice');
  });

  it('without a signature, or with one that the secret makes', async () => {
    await start();
    const parts = (token: unknown) => String(token).split('.');
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    client.idp.editTokens = (body) => ({
      ...body,
      id_token: `${encode({ alg: 'none' })}.${parts(body.id_token)[1]}.`,
    });
    expect(await refusal(client.signIn(client.provider()))).toContain('"alg"');
    client.idp.editTokens = async (body) => {
      const claims = JSON.parse(Buffer.from(parts(body.id_token)[1]!, 'base64url').toString());
      const key = Buffer.from(client.idp.client.client_secret.padEnd(32, 'x'));
      return { ...body, id_token: await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(key) };
    };
    expect(await refusal(client.signIn(client.provider()))).toContain('"alg"');
  });

  it('with a changed claim, or a key that the provider does not have', async () => {
    await start();
    client.idp.editTokens = (body) => {
      const [header, payload, signature] = String(body.id_token).split('.');
      const claims = JSON.parse(Buffer.from(payload!, 'base64url').toString());
      const changed = Buffer.from(JSON.stringify({ ...claims, groups: ['admins'] })).toString('base64url');
      return { ...body, id_token: `${header}.${changed}.${signature}` };
    };
    expect(await refusal(client.signIn(client.provider()))).toMatch(/^unauthorized: .*signature/);
    client.idp.editTokens = (body) => body;
    client.idp.signer.served = { keys: [] };
    expect(await refusal(client.signIn(client.provider()))).toContain('no key for the signature');
  });

  it('if there is none', async () => {
    await start();
    client.idp.editTokens = ({ id_token: _, ...body }) => body;
    expect(await refusal(client.signIn(client.provider()))).toMatch(/^unauthorized: .*id_token/);
  });
});

it('follows a provider that changes its keys', async () => {
  await start();
  const provider = client.provider();
  await client.signIn(provider);
  await client.idp.signer.addKey();
  // The library asks for keys again after a minute at the earliest; a new configuration has new ones.
  client.now += 600_000;
  expect((await client.signIn(provider)).user.subject).toBe('alice');
});

describe('a user whom the userinfo endpoint tells of', () => {
  it('is the one of the ID token', async () => {
    await start();
    client.idp.intercept = (request, response) => {
      if (request.url !== '/me') return false;
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ sub: 'mallory', groups: ['admins'] }));
      return true;
    };
    expect(await refusal(client.signIn(client.provider()))).toContain('another user than its ID token');
  });

  it('has no other claims than those of the ID token, where that has them', async () => {
    await start();
    client.idp.editClaims = (claims) => ({ ...claims, groups: ['platform'], name: 'Alice' });
    client.idp.intercept = (request, response) => {
      if (request.url !== '/me') return false;
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ sub: 'alice', groups: ['admins'], email: 'a@example.com' }));
      return true;
    };
    const { user } = await client.signIn(client.provider());
    expect(user).toMatchObject({ groups: ['platform'], name: 'Alice', email: 'a@example.com' });
  });
});

describe('refreshing', () => {
  it('tells of changed groups, and gives the token that replaces the one that was used', async () => {
    await start();
    const provider = client.provider();
    const first = (await client.signIn(provider)).tokens.refreshToken!;
    client.idp.users.set('alice', { name: 'Alice', groups: ['other'] });
    const { user, tokens } = await provider.refresh(first, 'alice');
    expect(user).toMatchObject({ name: 'Alice', groups: ['other'] });
    expect(tokens.refreshToken).not.toBe(first);
    expect((await provider.refresh(tokens.refreshToken!, 'alice')).user.subject).toBe('alice');
    expect(await refusal(provider.refresh(first, 'alice'))).toMatch(/^unauthorized: .*invalid_grant/);
  });

  it('keeps the token of a provider that does not replace it', async () => {
    await start({ configuration: { rotateRefreshToken: false } });
    const provider = client.provider();
    const { refreshToken } = (await client.signIn(provider)).tokens;
    expect((await provider.refresh(refreshToken!, 'alice')).tokens.refreshToken).toBe(refreshToken);
  });

  it('is refused for a user whom the provider knows no more', async () => {
    await start();
    const provider = client.provider();
    const { refreshToken } = (await client.signIn(provider)).tokens;
    client.idp.users.delete('alice');
    expect(await refusal(provider.refresh(refreshToken!, 'alice'))).toMatch(/^unauthorized: /);
  });

  it('never tells of another user', async () => {
    await start();
    const provider = client.provider();
    const { refreshToken } = (await client.signIn(provider)).tokens;
    expect(await refusal(provider.refresh(refreshToken!, 'bob'))).toMatch(/^unauthorized: .*another user/);
  });

  it('works without an ID token, by userinfo', async () => {
    await start();
    const provider = client.provider();
    const { refreshToken } = (await client.signIn(provider)).tokens;
    client.idp.editTokens = ({ id_token: _, ...body }) => body;
    expect((await provider.refresh(refreshToken!, 'alice')).user.groups).toEqual(['platform']);
  });
});
