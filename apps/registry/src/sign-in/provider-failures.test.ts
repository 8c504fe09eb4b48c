import { tmpdir } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import { ProviderClient, refusal } from '../testing/provider-client.js';
import { providerFetch } from './provider-http.js';

let client: ProviderClient;
afterEach(() => client.idp.close());

const start = async (...options: Parameters<typeof ProviderClient.start>) => {
  client = await ProviderClient.start(...options);
};

describe('a provider that is away', () => {
  it('is said to be so, and works again without a restart', async () => {
    await start();
    const provider = client.provider();
    client.idp.isAway = true;
    expect(await refusal(provider.authorizationUrl(client.begin()))).toMatch(
      /^unavailable: cannot use Test: cannot reach 127/,
    );
    client.idp.isAway = false;
    client.now += 60_000;
    expect((await client.signIn(provider)).user.subject).toBe('alice');
  });

  it.each(['/token', '/jwks', '/me'])('at %s refuses nobody for good', async (path) => {
    await start();
    const provider = client.provider();
    client.idp.intercept = (request) => {
      if (request.url !== path) return false;
      request.socket.destroy();
      return true;
    };
    expect(await refusal(client.signIn(provider))).toMatch(/^unavailable: /);
    client.idp.intercept = (request, response) => {
      if (request.url !== path) return false;
      response.writeHead(503, { 'Content-Type': 'text/html' }).end('<h1>Sorry</h1>');
      return true;
    };
    expect(await refusal(client.signIn(provider))).toMatch(/^unavailable: /);
    client.idp.intercept = () => false;
    expect((await client.signIn(provider)).user.subject).toBe('alice');
  });

  it.each(['/token', '/jwks', '/me'])('leads nowhere by a redirect at %s', async (path) => {
    await start();
    const provider = client.provider();
    const asked: (string | undefined)[] = [];
    client.idp.intercept = (request, response) => {
      asked.push(request.url);
      if (request.url !== path) return false;
      response.writeHead(307, { Location: `${client.idp.issuer}/internal` }).end();
      return true;
    };
    expect(await refusal(client.signIn(provider))).toMatch(/^unavailable: .*status 307/);
    expect(asked).not.toContain('/internal');
  });

  it('refreshes nobody, but signs out nobody', async () => {
    await start();
    const provider = client.provider();
    const { refreshToken } = (await client.signIn(provider)).tokens;
    client.idp.isAway = true;
    expect(await refusal(provider.refresh(refreshToken!, 'alice'))).toMatch(/^unavailable: /);
    // Its configuration is known.
    client.now += 3_600_000;
    expect((await provider.authorizationUrl(client.begin())).origin).toBe(client.idp.issuer);
  });

  it('is asked for its configuration once in ten seconds', async () => {
    await start();
    const provider = client.provider();
    let asked = 0;
    client.idp.intercept = (request, response) => {
      asked += 1;
      response.writeHead(500).end(request.url);
      return true;
    };
    const all = await Promise.all(
      Array.from({ length: 5 }, () => refusal(provider.authorizationUrl(client.begin()))),
    );
    expect(all).toHaveLength(5);
    expect(await refusal(provider.authorizationUrl(client.begin()))).toMatch(/status 500/);
    expect(asked).toBe(1);
  });
});

it('a secret that the provider does not accept is named, also if it says so in a header', async () => {
  await start();
  const provider = client.provider({ clientSecret: 'another' });
  for (const header of [undefined, 'Basic realm="x"', 'Basic realm="x", error="invalid_client"']) {
    client.idp.intercept = ({ url }, response) => {
      if (url !== '/token' || header === undefined) return false;
      response.writeHead(401, { 'WWW-Authenticate': header }).end();
      return true;
    };
    expect(await refusal(client.signIn(provider))).toMatch(
      /^unavailable: .*it does not accept the client ID and the secret.*KRMHUB_OIDC_CLIENT_SECRET/s,
    );
  }
  client.idp.intercept = ({ url }, response) => {
    if (url !== '/me') return false;
    response.writeHead(401, { 'WWW-Authenticate': 'Bearer error="invalid_token"' }).end();
    return true;
  };
  expect(await refusal(client.signIn(client.provider()))).toContain(
    'it answered with an error (invalid_token)',
  );
});

describe('a configuration', () => {
  const serve = (change: (found: Record<string, unknown>) => unknown) => {
    client.idp.intercept = (request, response) => {
      if (request.url?.includes('/.well-known/') !== true) return false;
      const { issuer } = client.idp;
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
    ['without a token endpoint', ({ token_endpoint: _, ...found }) => found, 'has no valid token_endpoint'],
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
    const said = await refusal(client.provider().authorizationUrl(client.begin()));
    expect(said).toMatch(/^unavailable: /);
    expect(said).toContain(message);
  });

  it.each(['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', 'not a URL'])(
    'leads no browser to %s',
    async (address) => {
      await start();
      for (const name of ['authorization_endpoint', 'end_session_endpoint', 'userinfo_endpoint']) {
        serve((found) => ({ ...found, [name]: address }));
        const said = await refusal(client.provider().authorizationUrl(client.begin()));
        expect(said).toContain(`unavailable: cannot use Test: its configuration has no valid ${name}`);
      }
    },
  );

  it('may leave out what is usual', async () => {
    await start({ isIdTokenComplete: true });
    serve((found) => found);
    const provider = client.provider();
    expect((await provider.authorizationUrl(client.begin())).searchParams.get('scope')).toBe(
      'openid profile email',
    );
    const signedIn = await client.signIn(provider);
    expect(signedIn.user.groups).toEqual(['platform']);
    expect(await provider.endSessionUrl(signedIn.tokens.idToken)).toBeUndefined();
  });

  it('names where to sign out', async () => {
    await start();
    const provider = client.provider();
    const { idToken } = (await client.signIn(provider)).tokens;
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
  await expect(request(client.idp.issuer, post)).rejects.toThrow('not on the public Internet');
  expect(client.idp.grants).toEqual([]);
});
